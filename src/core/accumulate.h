#pragma once

#include <cstdint>

#include "bough/core/bfloat16.h"

namespace bough {

/// target[i] += scale * source[i]; vectorised and parallel. float, double and, rounded once, bfloat16.
template <typename T>
void accumulate_elements(const T* source, AccumType<T> scale, T* target, std::int64_t count);

}  // namespace bough
