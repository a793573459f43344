# SPDX-License-Identifier: Apache-2.0
find_program(PYTHON3 python3 REQUIRED)
add_executable(runtime_pe runtime_pe.c)
target_link_libraries(runtime_pe PRIVATE shoal shoal_flags Threads::Threads ${CMAKE_DL_LIBS})
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.runtime COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/runtime_test.py)
  set_tests_properties(multi.runtime PROPERTIES LABELS multi TIMEOUT 300
                       ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;RUNTIME_PE=$<TARGET_FILE:runtime_pe>;LIBRARY=$<TARGET_FILE:shoal>")
endif()
