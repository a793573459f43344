# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments. SHOAL_TEST_KILLS in the environment says how often.
find_program(PYTHON3 python3 REQUIRED)
add_executable(kill_target kill_target.c)
target_link_libraries(kill_target PRIVATE shoal shoal_flags)
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.kill COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/kill_test.py)
  set_tests_properties(multi.kill PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2
                       ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;KILL_TARGET=$<TARGET_FILE:kill_target>")
  # The same where PEs die in the middle of what they exchange over connections.
  add_test(NAME multi.kill_nodes COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/kill_test.py)
  set_tests_properties(multi.kill_nodes PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2 RESOURCE_LOCK rendezvous
                       ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;KILL_TARGET=$<TARGET_FILE:kill_target>;SHOAL_FAKE_NODES=2:cyclic;SHOAL_TEST_KILLS=10")
endif()
