# SPDX-License-Identifier: Apache-2.0
# The measuring tool as its user meets it. Nothing is asserted about how long anything takes.
if(NOT CMAKE_CROSSCOMPILING AND TARGET shoal-perf) # Python starts the tool, and knows no emulator
  find_program(PYTHON3 python3 REQUIRED)
  add_test(NAME multi.perf COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/perf_test.py $<TARGET_FILE:shoal-perf> $<TARGET_FILE:shoalrun>)
  set_tests_properties(multi.perf PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2)
endif()
