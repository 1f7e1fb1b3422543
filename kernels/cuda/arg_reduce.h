#pragma once

#include "kernels/backend.h"
#include "kernels/simt/arg_reduce.h"

/// See kernels/simt/arg_reduce.h; pointers are into the memory of the GPU.
namespace bough {

/// T: float, double, int32_t, int64_t.
template <typename T>
void arg_reduce(Cuda, const simt::ArgReduce<T>& lines);

/// T: float, double.
template <typename T>
void arg_reduce_backward(Cuda, const simt::ArgReduceBackward<T>& lines);

}  // namespace bough
