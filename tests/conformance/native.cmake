# SPDX-License-Identifier: Apache-2.0
# The native C++ interface, and the example of its documentation, which is built from the page itself.
shoal_conformance(native SOURCES native_test.cpp PES 1 2 3 4 8)

set(native_page ${PROJECT_SOURCE_DIR}/docs/cpp-api.md)
set(native_example ${CMAKE_CURRENT_BINARY_DIR}/native_example.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${native_page})
file(READ ${native_page} native_text)
string(REGEX MATCH "```cpp\n([^`]*)```" native_block "${native_text}")
if(NOT native_block)
  message(FATAL_ERROR "${native_page} has no example")
endif()
file(CONFIGURE OUTPUT ${native_example} CONTENT "${CMAKE_MATCH_1}" @ONLY)
shoal_conformance(native_example SOURCES ${native_example} PES 1 2 4)

# Each header compiles alone, and all of them may be in several files of one program.
file(GLOB native_headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/shoal/*.hpp)
set(native_units)
foreach(header IN LISTS native_headers)
  string(MAKE_C_IDENTIFIER ${header} unit)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${unit}.cpp CONTENT "#include <${header}>\n" @ONLY)
  list(APPEND native_units ${CMAKE_CURRENT_BINARY_DIR}/${unit}.cpp)
endforeach()
add_executable(conformance_native_failure native_failure.cpp ${native_units})
target_link_libraries(conformance_native_failure PRIVATE shoal shoal_flags Threads::Threads)

# What one PE's exception does to the others: native_failure.sh compares the status and the line.
foreach(kind run job unwinding)
  add_test(NAME conformance.native_failure.${kind}
           COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/native_failure.sh ${kind} $<TARGET_FILE:shoalrun>
                   ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:conformance_native_failure>)
  set_tests_properties(conformance.native_failure.${kind} PROPERTIES LABELS "conformance" TIMEOUT 60 PROCESSORS 2)
endforeach()
