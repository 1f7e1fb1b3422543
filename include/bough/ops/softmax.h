#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// exp(x) divided by its sum along an axis, for float32 and float64; the entries along the axis sum to 1.
///
/// Exact to rounding for scores of any size, since the largest is subtracted first. -inf gives 0; where all are -inf
/// (everything masked) the result is 0 everywhere, and so is the gradient. NaN or +inf make NaN along their axis only.
/// Bitwise equal for any number of threads. Rows that fit in the cache are read and written once. Keeps its result.
Tensor softmax(const Tensor& x, int axis = -1);

/// log(softmax(x)), without leaving the logarithm: x - log(sum(exp(x))). Where all are -inf the result is -inf and the
/// gradient 0. Otherwise as softmax.
Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace bough
