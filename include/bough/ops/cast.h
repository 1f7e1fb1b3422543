#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// The elements converted to another type; the same tensor if it has that type already.
///
/// To integers: towards zero, values beyond the range become its end, NaN 0. To bool: not zero (NaN is true).
/// Gradient: cast back, between float32 and float64; none otherwise. Keeps nothing. O(elements).
Tensor cast(const Tensor& x, DType dtype);

}  // namespace bough
