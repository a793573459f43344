# SPDX-License-Identifier: Apache-2.0
# Programs of the conformance suite in jobs over two launchers.
set(joined_programs rma atomics sync)
if(DEFINED ENV{SHOAL_TEST_FULL})
  list(APPEND joined_programs signals locks rma_strided static_data wait ordering contexts memory teams collectives reductions scans extensions extensions_heaps)
endif()
set(joined_paths "")
foreach(name IN LISTS joined_programs)
  string(APPEND joined_paths "$<TARGET_FILE:conformance_${name}>:")
endforeach()
string(REGEX REPLACE ":$" "" joined_paths "${joined_paths}")
if(NOT CMAKE_CROSSCOMPILING AND NOT SHOAL_SANITIZE)
  add_test(NAME multi.joined COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/joined_test.py)
  set_tests_properties(multi.joined PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2 RESOURCE_LOCK rendezvous
    ENVIRONMENT "SHOALRUN=$<TARGET_FILE:shoalrun>;LAUNCHER_PE=$<TARGET_FILE:launcher_pe>;DIRECT_PE=$<TARGET_FILE:direct_pe>;PROGRAMS=${joined_paths};UCX=$CACHE{SHOAL_HAS_UCX}")
endif()
