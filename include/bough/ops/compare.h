#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// Comparisons element by element; the result is bool and has no gradient.
///
/// Two tensors of one type (any) and device; shapes broadcast as in NumPy. A number takes the type of the tensor beside
/// it. NaN differs from everything. O(elements of the result).
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

/// The same with a number in place of a tensor.
Tensor equal(const Tensor& a, double b);
Tensor not_equal(const Tensor& a, double b);
Tensor less(const Tensor& a, double b);
Tensor less_equal(const Tensor& a, double b);
Tensor greater(const Tensor& a, double b);
Tensor greater_equal(const Tensor& a, double b);

/// a where the mask is true, b elsewhere: whatever stands in the other place, NaN too, has no influence.
///
/// mask bool; a and b of one type (any); all three broadcast. Gradient: to the side that was taken. Keeps the mask.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& mask, const Tensor& a, double b);
Tensor where(const Tensor& mask, double a, const Tensor& b);

}  // namespace bough
