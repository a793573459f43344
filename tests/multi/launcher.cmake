# SPDX-License-Identifier: Apache-2.0
# The launcher, with PEs made of the bootstrap alone.
add_executable(launcher_pe launcher_pe.cpp)
target_link_libraries(launcher_pe PRIVATE shoal_core shoal_flags)
find_program(PYTHON3 python3 REQUIRED)
foreach(test launcher launcher_failure nodes)
  add_test(NAME multi.${test} COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/${test}_test.py)
  set_tests_properties(multi.${test} PROPERTIES LABELS multi TIMEOUT 300
    ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;LAUNCHER_PE=$<TARGET_FILE:launcher_pe>;DIRECT_PE=$<TARGET_FILE:direct_pe>")
endforeach()
# Jobs that meet at ports and in network namespaces: one such test at a time on a machine.
set_tests_properties(multi.nodes PROPERTIES RESOURCE_LOCK rendezvous)
