#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "bough/ops/matmul.h"

namespace bough::reference {

/// c [m, n] = a b. An operand given transposed is [k, m] or [n, k].
inline std::vector<double> matmul(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                  std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t p = 0; p < k; ++p) {
        const double left = a[static_cast<std::size_t>(transpose_a ? p * m + i : i * k + p)];
        const double right = b[static_cast<std::size_t>(transpose_b ? j * k + p : p * n + j)];
        c[static_cast<std::size_t>(i * n + j)] += left * right;
      }
    }
  }
  return c;
}

inline double activate(double z, Activation activation) {
  if (activation == Activation::relu) return z > 0 ? z : 0;
  if (activation == Activation::gelu) return 0.5 * z * std::erfc(-z / std::sqrt(2.0));
  return z;
}

/// activation(x w^T + bias) for x [rows, in], w [out, in] and bias [out] or empty.
inline std::vector<double> linear(const std::vector<double>& x, const std::vector<double>& weight,
                                  const std::vector<double>& bias, std::int64_t rows, std::int64_t in, std::int64_t out,
                                  Activation activation) {
  std::vector<double> y = matmul(x, weight, rows, out, in, false, true);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = activate(y[i] + (bias.empty() ? 0.0 : bias[i % static_cast<std::size_t>(out)]), activation);
  }
  return y;
}

}  // namespace bough::reference
