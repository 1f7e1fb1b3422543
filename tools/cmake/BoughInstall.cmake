# Install and export, so that find_package(bough) gives bough::bough and pkg-config knows bough. There are three
# components, which are also the packages of BoughPackages.cmake: what programs need to run (runtime), what it takes to
# compile them (development), and the command line (program).

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
install(TARGETS ${installed} EXPORT boughTargets
        LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE COMPONENT development)
install(DIRECTORY include/bough DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT boughTargets NAMESPACE bough:: DESTINATION ${package_folder} COMPONENT development)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/boughConfig.cmake.in ${PROJECT_BINARY_DIR}/boughConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/boughConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/boughConfig.cmake ${PROJECT_BINARY_DIR}/boughConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)
if("SentencePiece" IN_LIST package_dependencies)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindSentencePiece.cmake DESTINATION ${package_folder} COMPONENT development)
endif()
install(DIRECTORY tools/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development
        FILES_MATCHING PATTERN "*.cpp" PATTERN "*.cu" PATTERN "plugin/*")
foreach(component runtime development program)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()

# The same for pkg-config. Folders are relative to the file, so that an installed copy may be moved; libraries stand
# before those they use, as static ones must.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up ${up})
set(pc_libraries ${libraries})
list(REVERSE pc_libraries)
list(TRANSFORM pc_libraries PREPEND "-l")
list(JOIN pc_libraries " " pc_libraries)
set(pc_requires_private "")
set(pc_libraries_private "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_requires_private "fmt, icu-uc, libhwy, tbb, zlib")
  if(TARGET SentencePiece::SentencePiece)
    string(APPEND pc_requires_private ", sentencepiece")
  endif()
  set(pc_libraries_private "-ldl -lpthread")
  if(BOUGH_CUDA_FOLDER STREQUAL cuda)
    string(PREPEND pc_libraries_private "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt ")
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/bough.pc.in ${PROJECT_BINARY_DIR}/bough.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bough.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
