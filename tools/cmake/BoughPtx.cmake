# The kernels as PTX, text that drivers translate for cards which are not there yet, in files beside the binaries: one
# for each CUDA source, of the newest virtual architecture among CMAKE_CUDA_ARCHITECTURES. The binaries hold the same
# inside. Making them takes half a minute that short builds can do without, so AUTO is for builds of several
# architectures.

set(BOUGH_PTX AUTO CACHE STRING "Install PTX files: AUTO (where there are several architectures), ON or OFF")
set_property(CACHE BOUGH_PTX PROPERTY STRINGS AUTO ON OFF)
if(NOT BOUGH_PTX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "BOUGH_PTX must be AUTO, ON or OFF, not '${BOUGH_PTX}'")
endif()

# newest_virtual_architecture(out 75-real 90-virtual 120): 120; empty if all are real.
function(newest_virtual_architecture output)
  set(newest "")
  foreach(architecture IN LISTS ARGN)
    if(architecture MATCHES "^([0-9]+)(-virtual)?$" AND (newest STREQUAL "" OR CMAKE_MATCH_1 GREATER newest))
      set(newest ${CMAKE_MATCH_1})
    elseif(architecture MATCHES "^all(-major)?$" AND CMAKE_CUDA_ARCHITECTURES_ALL) # the newest is virtual too
      list(GET CMAKE_CUDA_ARCHITECTURES_ALL -1 newest)
    endif()
  endforeach()
  set(${output} "${newest}" PARENT_SCOPE)
endfunction()

set(BOUGH_PTX_ARCHITECTURE "")
if(BOUGH_CUDA_FOLDER STREQUAL cuda)
  newest_virtual_architecture(BOUGH_PTX_ARCHITECTURE ${CMAKE_CUDA_ARCHITECTURES})
endif()
list(LENGTH CMAKE_CUDA_ARCHITECTURES num_architectures)
if(BOUGH_PTX_ARCHITECTURE STREQUAL "")
  if(BOUGH_PTX STREQUAL ON)
    message(FATAL_ERROR "BOUGH_PTX is ON, but none of the CUDA architectures '${CMAKE_CUDA_ARCHITECTURES}' is virtual; "
                        "name one without -real")
  endif()
  set(BOUGH_INSTALL_PTX FALSE)
elseif(BOUGH_PTX STREQUAL AUTO AND num_architectures LESS 2)
  set(BOUGH_INSTALL_PTX FALSE)
else()
  string(COMPARE NOTEQUAL ${BOUGH_PTX} OFF BOUGH_INSTALL_PTX)
endif()

# bough_ptx(kernels): target bough_kernels_ptx, the CUDA sources of bough_kernels as PTX. Installed, where that is wanted,
# as lib/bough/ptx/kernels/elementwise.ptx and so on.
function(bough_ptx name)
  if(BOUGH_PTX_ARCHITECTURE STREQUAL "")
    return()
  endif()
  get_target_property(sources bough_${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  add_library(bough_${name}_ptx OBJECT EXCLUDE_FROM_ALL ${sources})
  set_target_properties(bough_${name}_ptx PROPERTIES CUDA_PTX_COMPILATION ON
                        CUDA_ARCHITECTURES ${BOUGH_PTX_ARCHITECTURE}-virtual)
  target_compile_features(bough_${name}_ptx PRIVATE cxx_std_20)
  target_compile_options(bough_${name}_ptx PRIVATE --expt-relaxed-constexpr)
  target_include_directories(bough_${name}_ptx PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(bough_${name}_ptx PRIVATE bough_cuda nlohmann_json::nlohmann_json)
  if(BOUGH_INSTALL_PTX)
    set_target_properties(bough_${name}_ptx PROPERTIES EXCLUDE_FROM_ALL FALSE)
    install(FILES $<TARGET_OBJECTS:bough_${name}_ptx> DESTINATION ${CMAKE_INSTALL_LIBDIR}/bough/ptx/${name} COMPONENT ptx)
  endif()
endfunction()
