# Everything bough builds on, found in one place. A missing one ends the configuration with the package to install.

macro(bough_find package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "bough needs ${package}; on Debian and Ubuntu: apt-get install ${debian} (tools/setup does it)")
  endif()
endmacro()

# What the libraries use. Programs that link them statically need the same, so the installed package looks for them too.
set(BOUGH_LIBRARY_DEPENDENCIES "")
macro(bough_find_for_libraries package debian)
  bough_find(${package} ${debian})
  list(APPEND BOUGH_LIBRARY_DEPENDENCIES ${package})
endmacro()

bough_find_for_libraries(Threads g++)
bough_find_for_libraries(TBB libtbb-dev)
bough_find_for_libraries(hwy libhwy-dev)
bough_find_for_libraries(fmt libfmt-dev)
bough_find_for_libraries(ZLIB zlib1g-dev)
bough_find_for_libraries(nlohmann_json nlohmann-json3-dev)
bough_find(ICU libicu-dev COMPONENTS uc)
list(APPEND BOUGH_LIBRARY_DEPENDENCIES ICU=uc)
# Optional: tokens that are pieces of words.
if(BOUGH_SENTENCEPIECE STREQUAL ON)
  bough_find_for_libraries(SentencePiece libsentencepiece-dev)
elseif(BOUGH_SENTENCEPIECE)
  find_package(SentencePiece QUIET)
  if(SentencePiece_FOUND)
    list(APPEND BOUGH_LIBRARY_DEPENDENCIES SentencePiece)
  else()
    message(STATUS "bough: no SentencePiece, so no tokens that are pieces of words (libsentencepiece-dev)")
  endif()
endif()
bough_find(CLI11 libcli11-dev)
bough_find(Boost libboost-dev CONFIG) # headers of Boost.Math, for the tests of significance in reports
# The web server of bough watch, which a build may lack; Debian's package has a file for pkg-config only.
# In a build for another machine pkg-config would find that of this one.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT CMAKE_CROSSCOMPILING)
  pkg_check_modules(BOUGH_HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
endif()
if(NOT BOUGH_HTTPLIB_FOUND)
  message(STATUS "bough watch is left out: no cpp-httplib; on Debian and Ubuntu: apt-get install libcpp-httplib-dev pkg-config")
endif()
if(BOUGH_BUILD_TESTS)
  bough_find(GTest "libgtest-dev libgmock-dev")
  include(GoogleTest)
endif()

# Highway compiles each vectorised file once per instruction set and picks the best at run time. On x86 these are
# the portable one (any machine), AVX2 and AVX-512; the ones between them would only lengthen the build.
add_library(bough_simd INTERFACE)
set_target_properties(bough_simd PROPERTIES EXPORT_NAME simd)
target_link_libraries(bough_simd INTERFACE hwy::hwy)
set(disabled_targets HWY_SSSE3 HWY_SSE4 HWY_AVX3_DL)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # NEON is what all of these machines have; vectors of SVE have no size, so they cannot stand in structures and arrays.
  list(APPEND disabled_targets HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
endif()
if(BOUGH_SANITIZE)
  list(APPEND disabled_targets HWY_AVX3) # one code for all: two of them show its mistakes, a third costs many minutes
endif()
list(JOIN disabled_targets "|" disabled_targets)
target_compile_definitions(bough_simd INTERFACE "HWY_DISABLED_TARGETS=(${disabled_targets})")
if(BOUGH_NATIVE)
  target_compile_definitions(bough_simd INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
