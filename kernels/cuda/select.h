#pragma once

#include "bough/core/dtype.h"
#include "kernels/backend.h"
#include "kernels/broadcast.h"
#include "kernels/cuda/strided_copy.h"
#include "kernels/functors/compare.h"

/// Pointers are into the memory of the GPU. Every element type: float, double, int32_t, int64_t, bool.
namespace bough {

void compare(Cuda, Comparison comparison, const BroadcastPlan<2>& plan, DType type, const void* a, const void* b,
             bool* result);
/// Elements of `size` bytes: 1, 2, 4 or 8.
void select(Cuda, const BroadcastPlan<3>& plan, std::size_t size, const bool* mask, const void* a, const void* b,
            void* result);

// With the arguments of the CPU; see kernels/cpu/select.h.

template <typename T>
void compare(Cuda gpu, Comparison comparison, const BroadcastPlan<2>& plan, const T* a, const T* b, bool* result) {
  compare(gpu, comparison, plan, dtype_of<T>(), a, b, result);
}
template <typename T>
void select(Cuda gpu, const BroadcastPlan<3>& plan, const bool* mask, const T* a, const T* b, T* result) {
  select(gpu, plan, sizeof(T), mask, a, b, result);
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
