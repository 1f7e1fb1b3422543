# Whether there is a CUDA backend. BOUGH_CUDA_FOLDER names the sources that stand for it: real ones, or those that say
# it is not there; BOUGH_CUBLAS_FOLDER does so for cuBLAS. CMake's own switches hold: CMAKE_CUDA_ARCHITECTURES, and CMAKE_CUDA_RUNTIME_LIBRARY, which is Static
# unless told otherwise, so that an installed bough does not need the toolkit.

include(BoughArchitectures)
if(NOT BOUGH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "BOUGH_CUDA must be AUTO, ON or OFF, not '${BOUGH_CUDA}'")
endif()
set(CUDAToolkit_FOUND FALSE)
if(NOT BOUGH_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_NVCC_EXECUTABLE AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  if(NOT CMAKE_CUDA_COMPILER) # libraries and headers alone compile nothing
    set(CUDAToolkit_FOUND FALSE)
  endif()
endif()
if(BOUGH_CUDA STREQUAL ON AND NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "BOUGH_CUDA is ON, but there is no CUDA toolkit here; install it and put its nvcc on the PATH (or "
                      "set CUDAToolkit_ROOT), or configure with BOUGH_CUDA=OFF")
endif()

if(NOT BOUGH_CUBLAS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "BOUGH_CUBLAS must be AUTO, ON or OFF, not '${BOUGH_CUBLAS}'")
endif()
set(BOUGH_CUBLAS_FOLDER no_cublas)

add_library(bough_cuda INTERFACE)
set_target_properties(bough_cuda PROPERTIES EXPORT_NAME cuda)
if(CUDAToolkit_FOUND)
  # The oldest architecture, as machine code and as code that newer drivers translate: short to build, runs everywhere.
  # The preset "cuda" asks for all.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75)
    if(BOUGH_ALL_ARCHITECTURES)
      bough_architectures(${CMAKE_CUDA_COMPILER} CMAKE_CUDA_ARCHITECTURES)
    endif()
  endif()
  if(BOUGH_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${BOUGH_CCACHE})
  endif()
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  # Kernels keep everything in registers: one that spills, or has an array in memory, does not build.
  set(BOUGH_CUDA_OPTIONS --expt-relaxed-constexpr -Xptxas=-warn-spills,-warn-lmem-usage,-Werror)
  set(BOUGH_CUDA_FOLDER cuda)
  list(APPEND BOUGH_LIBRARY_DEPENDENCIES CUDAToolkit)
  string(TOLOWER "${CMAKE_CUDA_RUNTIME_LIBRARY}" runtime)
  target_link_libraries(bough_cuda INTERFACE $<IF:$<STREQUAL:${runtime},shared>,CUDA::cudart,CUDA::cudart_static>)
  # cuBLAS is not linked: kernels/cuda/cublas/library.h says why. Its headers are needed, and where it is.
  find_path(BOUGH_CUBLAS_HEADERS cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(BOUGH_CUBLAS_HEADERS)
  if(NOT BOUGH_CUBLAS STREQUAL OFF AND BOUGH_CUBLAS_HEADERS AND CUDA_cublas_LIBRARY)
    set(BOUGH_CUBLAS_FOLDER cublas)
    set(BOUGH_CUBLAS_VERSION "")
    foreach(part MAJOR MINOR PATCH)
      file(STRINGS ${BOUGH_CUBLAS_HEADERS}/cublas_api.h line REGEX "^#define CUBLAS_VER_${part} +[0-9]+")
      string(REGEX MATCH "[0-9]+" number "${line}")
      list(APPEND BOUGH_CUBLAS_VERSION "${number}")
    endforeach()
    list(JOIN BOUGH_CUBLAS_VERSION . BOUGH_CUBLAS_VERSION)
  endif()
else()
  set(BOUGH_CUDA_FOLDER no_cuda)
endif()
if(BOUGH_CUBLAS STREQUAL ON AND BOUGH_CUBLAS_FOLDER STREQUAL no_cublas)
  message(FATAL_ERROR "BOUGH_CUBLAS is ON, but the CUDA toolkit here has no cuBLAS with headers; install it, or configure "
                      "with BOUGH_CUBLAS=OFF, and bough's own kernels multiply")
endif()
