# SPDX-License-Identifier: Apache-2.0
# The launcher, with PEs made of the bootstrap alone.
set(launcher_src ${PROJECT_SOURCE_DIR}/src)
add_executable(launcher_pe launcher_pe.cpp ${launcher_src}/base/error.cpp ${launcher_src}/base/log.cpp ${launcher_src}/base/options.cpp
  ${launcher_src}/base/status_page.cpp ${launcher_src}/bootstrap/find.cpp ${launcher_src}/bootstrap/monitor.cpp ${launcher_src}/bootstrap/protocol.cpp
  ${launcher_src}/bootstrap/single.cpp ${launcher_src}/bootstrap/status_mapping.cpp ${launcher_src}/bootstrap/store.cpp)
target_include_directories(launcher_pe PRIVATE ${launcher_src})
target_link_libraries(launcher_pe PRIVATE shoal_flags Threads::Threads)
find_program(PYTHON3 python3 REQUIRED)
foreach(test launcher launcher_failure)
  add_test(NAME multi.${test} COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/${test}_test.py)
  set_tests_properties(multi.${test} PROPERTIES LABELS multi TIMEOUT 300
    ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;LAUNCHER_PE=$<TARGET_FILE:launcher_pe>")
endforeach()
