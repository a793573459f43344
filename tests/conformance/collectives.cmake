# SPDX-License-Identifier: Apache-2.0
# Teams, collectives, active sets, legacy and generic names. Random programs of collectives run again with each barrier algorithm
# and with the library's internal counters starting just below their wrap at 32 and at 64 bits.
shoal_conformance(teams SOURCES teams.c)
shoal_conformance(sync SOURCES sync.c)
shoal_conformance(collectives SOURCES collectives.cpp)
shoal_conformance(reductions SOURCES reductions.cpp)
shoal_conformance(scans SOURCES scans.cpp)
shoal_conformance(active_sets SOURCES active_sets.cpp)
shoal_conformance(collective_programs SOURCES collective_programs.cpp)
shoal_conformance(legacy SOURCES legacy.c)
shoal_conformance(generic SOURCES generic_test.c)
shoal_conformance(overloads SOURCES overloads_test.cpp)

# shoal_conformance_again(name variant PES 2 5 ENV A=B...): the program of `name` with another environment.
function(shoal_conformance_again name variant)
  cmake_parse_arguments(arg "" "" "PES;ENV" ${ARGN})
  foreach(pes IN LISTS arg_PES)
    add_test(NAME conformance.${name}.${variant}.${pes}
             COMMAND shoalrun -n ${pes} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:conformance_${name}>)
    set_tests_properties(conformance.${name}.${variant}.${pes} PROPERTIES LABELS "conformance" TIMEOUT 120 PROCESSORS 2
                         ENVIRONMENT "${arg_ENV}")
  endforeach()
endfunction()

foreach(name teams sync collective_programs active_sets)
  shoal_conformance_again(${name} wrap64 PES 2 5 8 ENV SHOAL_COUNTER_START=-3)
  shoal_conformance_again(${name} wrap32 PES 2 5 8 ENV SHOAL_COUNTER_START=4294967293)
endforeach()
foreach(algorithm dissemination central)
  foreach(name sync collective_programs)
    shoal_conformance_again(${name} ${algorithm} PES 1 2 3 8 16 ENV SHOAL_BARRIER=${algorithm})
  endforeach()
  shoal_conformance_again(sync ${algorithm}_wrap64 PES 3 8 ENV SHOAL_BARRIER=${algorithm} SHOAL_COUNTER_START=-3)
  shoal_conformance_again(sync ${algorithm}_wrap32 PES 3 8 ENV SHOAL_BARRIER=${algorithm} SHOAL_COUNTER_START=4294967293)
endforeach()
