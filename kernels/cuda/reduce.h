#pragma once

#include "kernels/backend.h"
#include "kernels/simt/reduce.h"

namespace bough {

/// Function: add, mul, maximum or minimum; pointers are into the memory of the GPU. float is reduced in double. T:
/// float, double, int32_t, int64_t.
template <typename T>
void reduce(Cuda, BinaryFunction function, const simt::ReduceExtents& extents, const T* x, T* result);

}  // namespace bough
