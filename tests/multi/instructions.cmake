# SPDX-License-Identifier: Apache-2.0
# Counts of instructions say something of optimised code only.
find_program(PYTHON3 python3 REQUIRED)
if(TARGET bench_hot_paths AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT SHOAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.instructions COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/instructions_test.py)
  set_tests_properties(multi.instructions PROPERTIES LABELS multi TIMEOUT 600
                       ENVIRONMENT "HOT_PATHS=$<TARGET_FILE:bench_hot_paths>")
endif()
