# Everything bough builds on, found in one place. A missing one ends the configuration with the package to install.

macro(bough_find package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "bough needs ${package}; on Debian and Ubuntu: apt-get install ${debian} (tools/setup does it)")
  endif()
endmacro()

bough_find(Threads g++)
bough_find(TBB libtbb-dev)
bough_find(hwy libhwy-dev)
bough_find(fmt libfmt-dev)
bough_find(spdlog libspdlog-dev)
bough_find(nlohmann_json nlohmann-json3-dev)
bough_find(CLI11 libcli11-dev)
bough_find(ZLIB zlib1g-dev)
if(BOUGH_BUILD_TESTS)
  bough_find(GTest "libgtest-dev libgmock-dev")
  include(GoogleTest)
endif()

# The serial OpenBLAS is called on tiles from TBB, so the threads are ours and results do not depend on their number.
# It is linked from its archive: the shared one has the same name as the threaded OpenBLAS, and which of them a program
# gets is the machine's choice at run time.
find_library(BOUGH_OPENBLAS NAMES libopenblas.a PATH_SUFFIXES openblas-serial NO_CACHE)
find_path(BOUGH_OPENBLAS_INCLUDE NAMES cblas.h PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial NO_CACHE)
if(NOT BOUGH_OPENBLAS OR NOT BOUGH_OPENBLAS_INCLUDE)
  message(FATAL_ERROR "bough needs the serial OpenBLAS; on Debian and Ubuntu: apt-get install libopenblas-serial-dev "
                      "(tools/setup does it)")
endif()
add_library(bough_openblas INTERFACE)
target_include_directories(bough_openblas SYSTEM INTERFACE ${BOUGH_OPENBLAS_INCLUDE})
target_link_libraries(bough_openblas INTERFACE ${BOUGH_OPENBLAS})
target_link_options(bough_openblas INTERFACE LINKER:--exclude-libs,libopenblas.a)

# Highway compiles each vectorised file once per instruction set and picks the best at run time. On x86 these are
# the portable one (any machine), AVX2 and AVX-512; the ones between them would only lengthen the build.
add_library(bough_simd INTERFACE)
target_link_libraries(bough_simd INTERFACE hwy::hwy)
target_compile_definitions(bough_simd INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")
