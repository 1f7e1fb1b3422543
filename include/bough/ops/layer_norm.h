#pragma once

#include "bough/core/tensor.h"

namespace bough {

/// Brings each row along the last axis to mean 0 and variance 1, then scales and shifts it:
/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, with the variance of the row itself (divided by its
/// width).
///
/// x float32 or float64 [..., W]; weight and bias [W] of the same type, or undefined for 1 and 0 -> the shape of x.
/// epsilon is added to the variance; ConfigError unless it is positive. A constant row, and so a row of width 1, gives
/// bias. Width 0 and no rows give nothing, and zero gradients. The variance is summed around the mean, so rows far from
/// 0 keep their precision. Reads x once, writes y once; keeps x, and mean and 1 / deviation of each row. Bitwise equal
/// for any number of threads: gradients of weight and bias are summed in chunks that depend on the shape only.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5);

/// Options of add_layer_norm.
struct AddLayerNormOptions {
  double epsilon = 1e-5;  ///< added to the variance; must be positive
  bool keep_sum = true;   ///< false: only `normalized` is wanted, `sum` stays undefined
};

/// What add_layer_norm gives.
struct SumAndNorm {
  Tensor sum;         ///< x + residual
  Tensor normalized;  ///< layer_norm of the sum
};

/// x + residual and its layer_norm in one pass over memory: the end of a residual block and the start of the next one.
///
/// Shapes of x and residual are equal; all else is as in layer_norm. Keeps the sum instead of x and residual.
/// Without keep_sum the sum is not written to memory at all unless backward needs it.
SumAndNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias,
                          const AddLayerNormOptions& options = {});

}  // namespace bough
