#pragma once

#include "bough/core/dtype.h"
#include "kernels/backend.h"
#include "kernels/broadcast.h"
#include "kernels/cuda/strided_copy.h"
#include "kernels/functors/compare.h"

/// Pointers are into the memory of the GPU. Every element type: float, double, int32_t, int64_t, bool.
namespace bough {

void compare(Cuda, Comparison comparison, const BroadcastLayout<2>& layout, DType type, const void* a, const void* b,
             bool* result);
/// Elements of `size` bytes: 1, 2, 4 or 8.
void select(Cuda, const BroadcastLayout<3>& layout, std::size_t size, const bool* mask, const void* a, const void* b,
            void* result);

// With the arguments of the CPU; see kernels/cpu/select.h.

template <typename T>
void compare(Cuda gpu, Comparison comparison, const BroadcastLayout<2>& layout, const T* a, const T* b, bool* result) {
  compare(gpu, comparison, layout, dtype_of<T>(), a, b, result);
}
template <typename T>
void select(Cuda gpu, const BroadcastLayout<3>& layout, const bool* mask, const T* a, const T* b, T* result) {
  select(gpu, layout, sizeof(T), mask, a, b, result);
}
template <typename T>
void repeat(Cuda gpu, const BroadcastLayout<1>& layout, const T* x, T* result) {
  StridedMove move;
  std::int64_t stride = layout.elements;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (layout.extents[axis] > 0) stride /= layout.extents[axis];
    move.add_axis(layout.extents[axis], layout.strides[0][axis], stride);
  }
  strided_copy(gpu, move, x, result);
}

}  // namespace bough
