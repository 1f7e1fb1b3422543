#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// Element-wise functions of one float32 or float64 tensor; TypeError for other types.
///
/// The result has the shape of x. Errors are a few units in the last place in both types; zeros, infinities, NaN and
/// denormals behave as in `cmath`. Bitwise equal for any number of threads; O(elements), vectorised.

Tensor exp(const Tensor& x);      ///< keeps the result for backward
Tensor log(const Tensor& x);      ///< -inf at 0, NaN below; keeps x
Tensor tanh(const Tensor& x);     ///< keeps the result
Tensor sigmoid(const Tensor& x);  ///< 1 / (1 + e^-x); keeps the result
Tensor silu(const Tensor& x);     ///< x sigmoid(x); keeps x
Tensor relu(const Tensor& x);     ///< max(x, 0), gradient 0 at 0; keeps the result

/// log(1 + e^x) without overflow; keeps the result.
Tensor softplus(const Tensor& x);

/// Options of leaky_relu.
struct LeakyReluOptions {
  double slope = 0.01;  ///< of the negative side; >= 0
};
/// x where x > 0, else slope * x; keeps the result.
Tensor leaky_relu(const Tensor& x, const LeakyReluOptions& options = {});

/// Options of elu.
struct EluOptions {
  double alpha = 1;  ///< -alpha is the limit at -inf; >= 0
};
/// x where x > 0, else alpha * (e^x - 1); keeps the result.
Tensor elu(const Tensor& x, const EluOptions& options = {});

/// Options of gelu.
struct GeluOptions {
  /// Use 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) instead, up to 5e-4 off: for models that were trained with it;
  /// it is hardly faster.
  bool tanh_approximation = false;
};
/// x times the cumulative normal distribution at x, 0.5 x (1 + erf(x / sqrt 2)), accurate also where it is tiny; 0 at
/// -inf. Keeps x.
Tensor gelu(const Tensor& x, const GeluOptions& options = {});

}  // namespace bough
