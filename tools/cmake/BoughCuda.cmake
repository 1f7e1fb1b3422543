# Whether there is a CUDA backend. BOUGH_CUDA_FOLDER names the sources that stand for it: real ones, or those that say
# it is not there. The runtime is linked from its archive, so an installed bough does not need the toolkit.

if(NOT BOUGH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "BOUGH_CUDA must be AUTO, ON or OFF, not '${BOUGH_CUDA}'")
endif()
if(NOT BOUGH_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
endif()
if(BOUGH_CUDA STREQUAL ON AND NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "BOUGH_CUDA is ON, but there is no CUDA toolkit here; install it and put its nvcc on the PATH (or "
                      "set CUDAToolkit_ROOT), or configure with BOUGH_CUDA=OFF")
endif()

add_library(bough_cuda INTERFACE)
set_target_properties(bough_cuda PROPERTIES EXPORT_NAME cuda)
if(CUDAToolkit_FOUND)
  set(BOUGH_CUDA_FOLDER cuda)
  list(APPEND BOUGH_LIBRARY_DEPENDENCIES CUDAToolkit)
  target_link_libraries(bough_cuda INTERFACE CUDA::cudart_static)
else()
  set(BOUGH_CUDA_FOLDER no_cuda)
endif()
