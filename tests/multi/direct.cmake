# SPDX-License-Identifier: Apache-2.0
# PEs that shoalrun did not start.
add_executable(direct_pe direct_pe.c)
target_link_libraries(direct_pe PRIVATE shoal shoal_flags)
set(with_pmix 0)
if(PMIX_INCLUDE_DIR AND NOT SHOAL_WITH_PMIX STREQUAL OFF AND NOT SHOAL_SANITIZE) # a sanitizer would judge MPI
  set(with_pmix 1)
endif()
add_test(NAME multi.direct COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/direct_test.py)
set_tests_properties(multi.direct PROPERTIES LABELS multi TIMEOUT 300 RESOURCE_LOCK rendezvous ENVIRONMENT
  "SHOALRUN=$<TARGET_FILE:shoalrun>;DIRECT_PE=$<TARGET_FILE:direct_pe>;WITH_PMIX=${with_pmix};CFLAGS_SHOAL=-I${PROJECT_SOURCE_DIR}/include;LIBS_SHOAL=$<TARGET_FILE:shoal> -Wl,-rpath,$<TARGET_FILE_DIR:shoal>")
add_test(NAME multi.certificates COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/certificates_test.py)
set_tests_properties(multi.certificates PROPERTIES LABELS multi TIMEOUT 120 RESOURCE_LOCK rendezvous ENVIRONMENT
  "SHOALRUN=$<TARGET_FILE:shoalrun>;LAUNCHER_PE=$<TARGET_FILE:launcher_pe>;DIRECT_PE=$<TARGET_FILE:direct_pe>")
# A Slurm of its own; with SHOAL_TEST_FULL=1, where it is installed.
add_test(NAME multi.slurm COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/slurm_test.py)
set_tests_properties(multi.slurm PROPERTIES LABELS multi TIMEOUT 300 RESOURCE_LOCK rendezvous ENVIRONMENT "DIRECT_PE=$<TARGET_FILE:direct_pe>")
