# SPDX-License-Identifier: Apache-2.0
# What reads input from outside, as tests/fuzz and unit.fuzz_test feed it: the targets, and parsers that are not the library's.
set(fuzz_folder ${PROJECT_SOURCE_DIR}/tests/fuzz)
set(fuzz_targets options address node_map command_line launchers_channel rendezvous unique_id frames greeting profile race_log state_report
  status_page secret_file edge_list package_list trace_piece)
set(fuzz_sources ${fuzz_folder}/targets.cpp ${fuzz_folder}/environment.cpp ${fuzz_folder}/files.cpp ${fuzz_folder}/records.cpp
  ${fuzz_folder}/wire.cpp ${PROJECT_SOURCE_DIR}/tools/run/command_line.cpp)
foreach(name edge_list graph line_reader package_list relations)
  list(APPEND fuzz_sources ${PROJECT_SOURCE_DIR}/examples/pagerank/${name}.cpp)
endforeach()
set(fuzz_includes ${fuzz_folder} ${PROJECT_SOURCE_DIR}/tools ${PROJECT_SOURCE_DIR}/examples/pagerank)
