# SPDX-License-Identifier: Apache-2.0
# The examples: PageRank against exact answers and bad input, and each small example at several numbers of PEs.
if(NOT TARGET pagerank)
  return() # SHOAL_EXAMPLES=OFF
endif()
if(NOT CMAKE_CROSSCOMPILING) # Python starts the launcher, and knows no emulator
  find_package(GTest REQUIRED)
  find_program(PYTHON3 python3 REQUIRED)
  add_test(NAME multi.pagerank
           COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/pagerank_test.py $<TARGET_FILE:shoalrun> $<TARGET_FILE:pagerank>)
  set_tests_properties(multi.pagerank PROPERTIES LABELS multi TIMEOUT 600 PROCESSORS 2)
endif()

set(example_folder ${PROJECT_SOURCE_DIR}/examples/pagerank)
add_executable(multi_pagerank_parts pagerank_parts_test.cpp ${example_folder}/graph.cpp ${example_folder}/line_reader.cpp
  ${example_folder}/partition.cpp ${example_folder}/relations.cpp ${example_folder}/serial.cpp)
target_include_directories(multi_pagerank_parts PRIVATE ${example_folder})
target_link_libraries(multi_pagerank_parts PRIVATE shoal_flags GTest::gtest_main)
add_test(NAME multi.pagerank_parts COMMAND multi_pagerank_parts)
set_tests_properties(multi.pagerank_parts PROPERTIES LABELS multi TIMEOUT 60)

foreach(name IN LISTS SHOAL_SMALL_EXAMPLES)
  foreach(pes 1 2 3 4 5 8 17)
    add_test(NAME multi.example_${name}.${pes}
             COMMAND shoalrun -n ${pes} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:example_${name}>)
    set_tests_properties(multi.example_${name}.${pes} PROPERTIES LABELS multi TIMEOUT 120 PROCESSORS 2)
  endforeach()
endforeach()
