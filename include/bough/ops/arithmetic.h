#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// Element-wise arithmetic.
///
/// Two tensors of one type and device; shapes broadcast as in NumPy, over any rank. A number takes the type of the
/// tensor beside it. ShapeError, TypeError and DeviceError name both operands. No elements in, no elements out.
/// Bitwise equal for any number of threads; O(elements of the result), vectorised, at the speed of memory.
/// float32 and float64; add, sub, mul, maximum, minimum and negation also int32 and int64, which wrap around.
///
/// Gradients are summed over the axes along which an operand was broadcast, in a fixed order.

Tensor add(const Tensor& a, const Tensor& b);  ///< keeps nothing for backward
Tensor sub(const Tensor& a, const Tensor& b);  ///< keeps nothing for backward
Tensor mul(const Tensor& a, const Tensor& b);  ///< keeps each operand whose partner wants a gradient
Tensor div(const Tensor& a, const Tensor& b);  ///< keeps b, and the quotient if b wants a gradient

/// The same with a number in place of a tensor.
Tensor add(const Tensor& a, double b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);
Tensor mul(const Tensor& a, double b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

/// The same as operators.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }

/// The larger or smaller of two; NaN if either is NaN. Where they are equal the gradient goes to a.
/// Keeps one byte an element for backward.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);
Tensor minimum(const Tensor& a, double b);

/// Each element with the other sign; keeps nothing for backward.
Tensor neg(const Tensor& x);
inline Tensor operator-(const Tensor& x) { return neg(x); }

/// Functions of one tensor: float32 and float64. Special values as in `cmath`.
Tensor abs(const Tensor& x);         ///< gradient 0 at 0; keeps x
Tensor square(const Tensor& x);      ///< keeps x
Tensor sqrt(const Tensor& x);        ///< NaN below 0; keeps the result
Tensor reciprocal(const Tensor& x);  ///< 1 / x; keeps the result
Tensor rsqrt(const Tensor& x);       ///< 1 / sqrt(x); keeps the result
/// x to a fixed, finite power, as std::pow; keeps x. Powers 2, 0.5, -1 and -0.5 run as the functions above. Other
/// powers of float64 are not vectorised.
Tensor pow(const Tensor& x, double exponent);

/// x limited to [low, high]; NaN stays NaN. The gradient passes where low <= x <= high. Keeps x.
/// ConfigError unless low <= high. float32 and float64.
Tensor clamp(const Tensor& x, double low, double high);

}  // namespace bough
