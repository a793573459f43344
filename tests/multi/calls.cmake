# SPDX-License-Identifier: Apache-2.0
# A PE that is killed, stopped or out of memory in each kind of call.
find_program(PYTHON3 python3 REQUIRED)
add_executable(calls_target calls_target.c)
target_link_libraries(calls_target PRIVATE shoal shoal_flags)
if(NOT CMAKE_CROSSCOMPILING)
  foreach(nodes 1 3:cyclic)
    string(REGEX REPLACE ":.*" "" count ${nodes})
    add_test(NAME multi.calls.${count} COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/calls_test.py)
    set_tests_properties(multi.calls.${count} PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2 RESOURCE_LOCK rendezvous ENVIRONMENT
      "SHOALRUN=$<TARGET_FILE:shoalrun>;SHOAL_TOP=$<TARGET_FILE:shoal-top>;CALLS_TARGET=$<TARGET_FILE:calls_target>;CALLS_NODES=${nodes}")
  endforeach()
endif()

# Libraries of two versions in one job.
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.versions COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/versions_test.py)
  set_tests_properties(multi.versions PROPERTIES LABELS multi TIMEOUT 120 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;PROGRAM=$<TARGET_FILE:trace_pe>;LIBRARY=$<TARGET_FILE:shoal>")
endif()
