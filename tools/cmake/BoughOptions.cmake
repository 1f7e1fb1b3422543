# Compiler settings shared by every target, and the two functions that folders use to declare theirs.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")

find_program(BOUGH_CCACHE ccache)
if(BOUGH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BOUGH_CCACHE})
endif()

add_library(bough_options INTERFACE)
# nvcc checks kernels in its own way; see BoughCuda.cmake.
target_compile_options(bough_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wnon-virtual-dtor
                       # Names at the top of joined sources shadow nothing in a build of single ones.
                       -Wshadow$<$<BOOL:${BOUGH_UNITY}>:=local>
                       # GCC 12 sees overlaps in std::string that are not there (its bug 105329).
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<BOOL:${BOUGH_WERROR}>:-Werror>>)
if(BOUGH_NATIVE) # no contraction to FMA: scalar code gives the same bits as in a release
  target_compile_options(bough_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native -ffp-contract=off>)
endif()
if(BOUGH_SANITIZE)
  target_compile_options(bough_options INTERFACE -fsanitize=${BOUGH_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(bough_options INTERFACE -fsanitize=${BOUGH_SANITIZE})
endif()

# bough_join_sources(target): with BOUGH_UNITY the compiler takes several sources of the target at a time, so that it reads
# the headers they share once: a cold build takes half as long, a build after a change somewhat longer. Left alone are
# sources that Highway includes once for each instruction set.
function(bough_join_sources target)
  if(NOT BOUGH_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${BOUGH_UNITY_SOURCES})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(file ${source} ABSOLUTE)
    if(source MATCHES "[.]cpp$" AND EXISTS ${file})
      file(STRINGS ${file} per_instruction_set REGEX "foreach_target" LIMIT_COUNT 1)
      if(per_instruction_set)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# Programs stay binary compatible within a major version and, before the first, within a minor one; the configuration
# files of CMake promise the same. The number is part of the libraries' names and of the name of their package.
set(BOUGH_SOVERSION ${PROJECT_VERSION_MAJOR})
if(BOUGH_SOVERSION EQUAL 0)
  set(BOUGH_SOVERSION 0.${PROJECT_VERSION_MINOR})
endif()

# bough_library(core SOURCES ... PUBLIC ... PRIVATE ...): the library of one folder, exported as bough::core.
# --no-undefined makes an include against the direction of dependencies fail to link.
function(bough_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(target bough_${name})
  add_library(${target} ${ARG_SOURCES})
  add_library(bough::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${BOUGH_SOVERSION}
                        POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL "")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                             PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:bough_options>)
  if(BUILD_SHARED_LIBS)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${ARG_PRIVATE}>")
  else()
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
  endif()
  if(BUILD_SHARED_LIBS AND NOT BOUGH_SANITIZE AND NOT APPLE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  bough_join_sources(${target})
  set_property(GLOBAL APPEND PROPERTY BOUGH_LIBRARIES ${target})
endfunction()

# Code that reads, writes and decides but has no loop that people wait for: with -O1 it compiles a third sooner.
set(bough_light_optimisation $<$<CONFIG:Release>:-O1>)

# bough_test(name SOURCES ... LIBRARIES ... [PREFIX ...] [FILTER ...] [ENVIRONMENT ...]): one GoogleTest program, each of
# its cases, or of those whose names match the filter, a ctest test.
function(bough_test name)
  cmake_parse_arguments(ARG "" "PREFIX;FILTER;ENVIRONMENT" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} bough_options GTest::gtest_main GTest::gmock)
  set(properties TIMEOUT 600)
  if(ARG_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${ARG_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_FILTER}" DISCOVERY_TIMEOUT 60
                       PROPERTIES ${properties})
endfunction()
