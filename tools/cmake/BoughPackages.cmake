# Debian packages, one for each component of BoughInstall.cmake: cpack in a build folder writes them into its packages/.
# The preset "package" puts libraries where Debian has those of an architecture.

set(BOUGH_PACKAGE_CONTACT "bough contributors <contributors@bough.example>" CACHE STRING
    "Name and address of who makes the packages")

set(library_package libbough${BOUGH_SOVERSION})
set(package_release 0bough1) # before any revision that Debian itself would have
set(same_version "(= ${PROJECT_VERSION}-${package_release})")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bough)
set(CPACK_PACKAGE_CONTACT ${BOUGH_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime development program)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_triggers.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${package_release})
set(CPACK_DEBIAN_PACKAGE_SOURCE bough)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)

set(about "bough passes messages along the edges of graphs, with gradients. Attention
is one such message passing and an attention pattern is a graph, so that
transformers with sparse attention are made of small generators of graphs.
")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "message passing on graphs: shared libraries
${about}
This package has the libraries that programs need to run.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbough-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} ${same_version}, nlohmann-json3-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "message passing on graphs: headers
${about}
This package has what it takes to compile programs: headers, files for CMake
and pkg-config, and examples.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME bough)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${library_package} ${same_version}")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "comparison of attention patterns for transformers
${about}
This package has the command line. It builds and draws attention graphs,
trains models from a description in JSON, and reports how quality, speed and
memory change with the number of nodes a token attends to.")

include(CPack)
