# Install and export, so that find_package(bough) gives bough::bough.

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/bough)

add_library(bough_all INTERFACE)
add_library(bough::bough ALIAS bough_all)
set_target_properties(bough_all PROPERTIES EXPORT_NAME bough)
get_property(libraries GLOBAL PROPERTY BOUGH_LIBRARIES)
target_link_libraries(bough_all INTERFACE ${libraries})

# A shared library brings what it is made of; a static one leaves that to the program that links it.
set(installed ${libraries} bough_all)
set(package_dependencies nlohmann_json)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND installed bough_simd bough_cuda)
  set(package_dependencies ${BOUGH_LIBRARY_DEPENDENCIES})
endif()
install(TARGETS ${installed} EXPORT boughTargets)
install(DIRECTORY include/bough DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT boughTargets NAMESPACE bough:: DESTINATION ${package_folder})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/boughConfig.cmake.in ${PROJECT_BINARY_DIR}/boughConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/boughConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/boughConfig.cmake ${PROJECT_BINARY_DIR}/boughConfigVersion.cmake
        DESTINATION ${package_folder})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
