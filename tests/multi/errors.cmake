# SPDX-License-Identifier: Apache-2.0
# Bad input and misuse: each gets a message that says what, where and what to do, a nonzero status, and nobody hangs.
add_executable(errors_bad_calls errors_bad_calls.c)
target_link_libraries(errors_bad_calls PRIVATE shoal shoal_flags)
if(NOT CMAKE_CROSSCOMPILING)
  find_program(PYTHON3 python3 REQUIRED)
  add_test(NAME multi.errors COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/errors_test.py
           $<TARGET_FILE:shoalrun> $<TARGET_FILE:errors_bad_calls>)
  set_tests_properties(multi.errors PROPERTIES LABELS "multi" TIMEOUT 300)
endif()
