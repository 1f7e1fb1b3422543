#pragma once

#include <cstdint>

#include "bough/core/dtype.h"
#include "kernels/backend.h"

namespace bough {

/// to[i] = from[i] converted; pointers are into the memory of the GPU. Every element type.
void cast(Cuda, DType from_type, const void* from, DType to_type, void* to, std::int64_t count);

template <typename From, typename To>
void cast(Cuda gpu, const From* from, To* to, std::int64_t count) {
  cast(gpu, dtype_of<From>(), from, dtype_of<To>(), to, count);
}

}  // namespace bough
