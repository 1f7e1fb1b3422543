#pragma once

#include <cstddef>
#include <cstdint>

#include "bough/core/dtype.h"
#include "kernels/backend.h"
#include "kernels/broadcast.h"
#include "kernels/functors/compare.h"
#include "kernels/simt/reduce.h"
#include "kernels/simt/softmax.h"
#include "kernels/strided_move.h"

/// Moving, converting, comparing and reducing elements on a GPU; all views point into its memory. See kernels/simt for
/// what the kernels do.
namespace bough {

/// Elements of `size` bytes: 1, 2, 4 or 8.
void strided_copy(Cuda, const StridedMove& move, std::size_t size, const void* source, void* target);
void select(Cuda, const BroadcastPlan<3>& plan, std::size_t size, const bool* mask, const void* a, const void* b,
            void* result);
/// Rows of `width` elements go to the places that `rows` names, each at most once; zeros without values.
void put_rows(Cuda, const std::int32_t* rows, std::int64_t count, std::int64_t width, std::size_t size,
              const void* values, void* target);

void cast(Cuda, DType from_type, const void* from, DType to_type, void* to, std::int64_t count);
void compare(Cuda, Comparison comparison, const BroadcastPlan<2>& plan, DType type, const void* a, const void* b,
             bool* result);

/// Function: add, mul, maximum or minimum. T: float, double, int32_t, int64_t, and so for arg_reduce.
template <typename T>
void reduce(Cuda, BinaryFunction function, const simt::ReduceExtents& extents, const T* x, T* result);
template <typename T>
void arg_reduce(Cuda, const simt::ArgReduce<T>& lines);

/// float and double, as what follows.
template <typename T>
void arg_reduce_gradient(Cuda, const simt::ArgReduceGradient<T>& lines);
template <typename T>
void axis_softmax(Cuda, const simt::AxisSoftmax<T>& lines);
template <typename T>
void axis_softmax_gradient(Cuda, const simt::AxisSoftmaxGradient<T>& lines);

// With the arguments of the CPU's.

template <typename T>
void strided_copy(Cuda gpu, const StridedMove& move, const T* source, T* target) {
  strided_copy(gpu, move, sizeof(T), source, target);
}
template <typename T>
void select(Cuda gpu, const BroadcastPlan<3>& plan, const bool* mask, const T* a, const T* b, T* result) {
  select(gpu, plan, sizeof(T), mask, a, b, result);
}
template <typename From, typename To>
void cast(Cuda gpu, const From* from, To* to, std::int64_t count) {
  cast(gpu, dtype_of<From>(), from, dtype_of<To>(), to, count);
}
template <typename T>
void compare(Cuda gpu, Comparison comparison, const BroadcastPlan<2>& plan, const T* a, const T* b, bool* result) {
  compare(gpu, comparison, plan, dtype_of<T>(), a, b, result);
}
template <typename T>
void repeat(Cuda gpu, const BroadcastPlan<1>& plan, const T* x, T* result) {
  StridedMove move;
  std::int64_t stride = plan.elements;
  for (int axis = 0; axis < plan.rank; ++axis) {
    if (plan.extents[axis] > 0) stride /= plan.extents[axis];
    move.add_axis(plan.extents[axis], plan.strides[0][axis], stride);
  }
  strided_copy(gpu, move, x, result);
}

}  // namespace bough
