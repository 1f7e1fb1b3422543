# Install and export, so that find_package(bough) gives bough::bough.

include(CMakePackageConfigHelpers)

add_library(bough_all INTERFACE)
add_library(bough::bough ALIAS bough_all)
set_target_properties(bough_all PROPERTIES EXPORT_NAME bough)
get_property(libraries GLOBAL PROPERTY BOUGH_LIBRARIES)
target_link_libraries(bough_all INTERFACE ${libraries})

install(TARGETS bough_all ${libraries} EXPORT boughTargets)
install(DIRECTORY include/bough DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT boughTargets NAMESPACE bough:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bough)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/boughConfig.cmake.in ${PROJECT_BINARY_DIR}/boughConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bough)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/boughConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/boughConfig.cmake ${PROJECT_BINARY_DIR}/boughConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bough)
