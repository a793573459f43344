# SPDX-License-Identifier: Apache-2.0
# Random operations against a model; init and finalize many times.
foreach(name soak repeat_init)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE shoal shoal_flags)
endforeach()
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.soak COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/soak_test.py)
  set_tests_properties(multi.soak PROPERTIES LABELS "multi" TIMEOUT 7200 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;SOAK=$<TARGET_FILE:soak>;REPEAT_INIT=$<TARGET_FILE:repeat_init>")
endif()
