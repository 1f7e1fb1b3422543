#pragma once

#include <cstdint>

namespace bough {

/// target[i] += scale * source[i]; vectorised and parallel. float and double.
template <typename T>
void accumulate_elements(const T* source, T scale, T* target, std::int64_t count);

}  // namespace bough
