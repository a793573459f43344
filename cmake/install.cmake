# SPDX-License-Identifier: Apache-2.0
# What an installation holds besides what the folders install themselves. All of it works from wherever it is moved to.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Shoal)

if(SHOAL_SANITIZE) # a sanitized library loads only into a sanitized program
  target_compile_options(shoal INTERFACE -fsanitize=${SHOAL_SANITIZE})
  target_link_options(shoal INTERFACE -fsanitize=${SHOAL_SANITIZE})
endif()
install(TARGETS shoal EXPORT ShoalTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(tools "")
foreach(tool shoalrun shoal-top shoal-info shoal-perf)
  if(TARGET ${tool})
    list(APPEND tools ${tool})
    install(TARGETS ${tool} EXPORT ShoalTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/shoal)

install(EXPORT ShoalTargets NAMESPACE Shoal:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ShoalConfig.cmake.in ${PROJECT_BINARY_DIR}/ShoalConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShoalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShoalConfig.cmake ${PROJECT_BINARY_DIR}/ShoalConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
set(pc_sanitize "")
if(SHOAL_SANITIZE)
  set(pc_sanitize " -fsanitize=${SHOAL_SANITIZE}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/shoal.pc.in ${PROJECT_BINARY_DIR}/shoal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(${CMAKE_CURRENT_LIST_DIR}/set_env.sh.in ${PROJECT_BINARY_DIR}/set_env.sh @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/set_env.sh DESTINATION .)

# What `cmake --install` copies, and no tests: scripts/build.sh builds this.
add_custom_target(shoal_product DEPENDS shoal ${tools})
foreach(part shoal_race shoal_python)
  if(TARGET ${part})
    add_dependencies(shoal_product ${part})
  endif()
endforeach()
