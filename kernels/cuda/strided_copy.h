#pragma once

#include <cstddef>

#include "kernels/backend.h"
#include "kernels/strided_move.h"

namespace bough {

/// Moves elements of `size` bytes (1, 2, 4 or 8) between places of the GPU's memory.
void strided_copy(Cuda, const StridedMove& move, std::size_t size, const void* source, void* target);

template <typename T>
void strided_copy(Cuda gpu, const StridedMove& move, const T* source, T* target) {
  strided_copy(gpu, move, sizeof(T), source, target);
}

}  // namespace bough
