#pragma once

#include <limits>

#include "bough/detail/simt/context.h"

namespace bough::simt {

/// What scores are relative to, given the largest one; finite also where all of them are -infinity.
template <typename T>
BOUGH_DEVICE T score_base(T top) {
  const T lowest = std::numeric_limits<T>::lowest();
  return top < lowest ? lowest : top;
}

}  // namespace bough::simt
