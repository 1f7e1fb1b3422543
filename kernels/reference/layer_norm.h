#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace bough::reference {

/// (x - mean) / sqrt(variance + epsilon) * weight + bias for rows as wide as weight.
inline std::vector<double> layer_norm(const std::vector<double>& x, const std::vector<double>& weight,
                                      const std::vector<double>& bias, double epsilon) {
  const std::size_t width = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row + width <= x.size() && width > 0; row += width) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) {
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    }
    for (std::size_t i = 0; i < width; ++i) {
      y[row + i] = (x[row + i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
    }
  }
  return y;
}

}  // namespace bough::reference
