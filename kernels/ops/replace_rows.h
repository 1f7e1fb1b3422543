#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// A copy of base [N, ...] in which row rows[i] is values[i]; rows is int32 [R], each row at most once, in range.
/// Gradient: to the values their rows, to the base all others.
Tensor replace_rows(const Tensor& base, const Tensor& rows, const Tensor& values);

}  // namespace bough
