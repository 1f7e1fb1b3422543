# What is compiled together of kernels/cuda and kernels/attention/cuda: sources of the operations, by unit. nvcc takes 6 s
# for the smallest file, more than most operations need, and CMake joins CUDA sources by itself only from 3.31 on.
set(bough_gpu_units attention_rows attention_tensor_cores attention_tiles elementwise message_passing reductions training)
set(attention_rows attention/cuda/rows)
set(attention_tensor_cores attention/cuda/tensor_cores)
set(attention_tiles attention/cuda/tiles)
set(elementwise cuda/binary cuda/cast cuda/select cuda/strided_copy cuda/unary)
set(message_passing cuda/edge_softmax cuda/gsddmm cuda/gspmm cuda/gspmm_prod_backward cuda/rows cuda/segment)
set(reductions cuda/arg_reduce cuda/reduce cuda/softmax)
set(training cuda/cross_entropy cuda/dropout cuda/gemm cuda/layer_norm cuda/linear cuda/optimizer_step)

# bough_gpu_units(out cu): writes one file for each unit into the build folder, for nvcc to compile; with cpp the same for
# the compiler of the host, which takes the kernels of tests/emulator/device or kernels/no_cuda by its include path.
# kernels/cuda/grouping.cu is none of them: it needs CUB.
function(bough_gpu_units output extension)
  set(files)
  foreach(unit IN LISTS bough_gpu_units)
    set(text "// Written by kernels/cuda/units.cmake.\n")
    foreach(source IN LISTS ${unit})
      string(APPEND text "#include \"kernels/${source}.cu\"\n")
    endforeach()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/gpu_units/${unit}.${extension})
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND files ${file})
  endforeach()
  set(${output} ${files} PARENT_SCOPE)
endfunction()
