# SPDX-License-Identifier: Apache-2.0
# SHOAL_CHECK=1: mistakes, and what is said of them. With debug information, so that lines can be told.
add_executable(check_programs check_programs.c)
target_compile_options(check_programs PRIVATE -g -O0)
target_link_libraries(check_programs PRIVATE shoal shoal_flags Threads::Threads)
add_executable(crash_programs crash_programs.c)
target_compile_options(crash_programs PRIVATE -g -O0)
target_link_libraries(crash_programs PRIVATE shoal shoal_flags Threads::Threads)
add_executable(loading_programs loading_programs.c)
target_compile_options(loading_programs PRIVATE -g -O0)
target_link_libraries(loading_programs PRIVATE shoal shoal_flags Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(loading_programs PROPERTIES ENABLE_EXPORTS ON)
add_library(loading_plugin MODULE loading_plugin.c)
target_link_libraries(loading_plugin PRIVATE loading_programs)
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME multi.loading COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/loading_test.py)
  set_tests_properties(multi.loading PROPERTIES LABELS "multi" TIMEOUT 300 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;LOADING_PROGRAMS=$<TARGET_FILE:loading_programs>;LOADING_PLUGIN=$<TARGET_FILE:loading_plugin>;LOADING_SOURCE=${CMAKE_CURRENT_LIST_DIR}/loading_programs.c")
  add_test(NAME multi.check COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/check_test.py)
  set_tests_properties(multi.check PROPERTIES LABELS "multi" TIMEOUT 300 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;CHECK_PROGRAMS=$<TARGET_FILE:check_programs>;CHECK_SOURCE=${CMAKE_CURRENT_LIST_DIR}/check_programs.c")
  add_test(NAME multi.crash COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/crash_test.py)
  set_tests_properties(multi.crash PROPERTIES LABELS "multi" TIMEOUT 300 PROCESSORS 2 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;CRASH_PROGRAMS=$<TARGET_FILE:crash_programs>;CRASH_SOURCE=${CMAKE_CURRENT_LIST_DIR}/crash_programs.c")
endif()
if(NOT CMAKE_CROSSCOMPILING AND NOT SHOAL_SANITIZE)
  add_test(NAME multi.lines COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/lines_test.py)
  set_tests_properties(multi.lines PROPERTIES LABELS "multi" TIMEOUT 300 ENVIRONMENT
    "SHOALRUN=$<TARGET_FILE:shoalrun>;LINES_SOURCE=${CMAKE_CURRENT_LIST_DIR}/lines_programs.cpp;INCLUDE=${PROJECT_SOURCE_DIR}/include;LIBRARY=$<TARGET_FILE_DIR:shoal>")
endif()
