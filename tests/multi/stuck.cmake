# SPDX-License-Identifier: Apache-2.0
# Programs that hang are told apart by what the launcher and shoal-top say about them.
add_executable(stuck_programs stuck_programs.c)
target_link_libraries(stuck_programs PRIVATE shoal shoal_flags Threads::Threads)
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.stuck COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/stuck_test.py)
  set_tests_properties(multi.stuck PROPERTIES LABELS "multi" TIMEOUT 300 RESOURCE_LOCK rendezvous ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;SHOAL_TOP=$<TARGET_FILE:shoal-top>;STUCK_PROGRAMS=$<TARGET_FILE:stuck_programs>")
endif()
