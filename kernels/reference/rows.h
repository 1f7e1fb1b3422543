#pragma once

#include <cstdint>
#include <vector>

namespace bough::reference {

/// result[i] = x[index[i]] for rows of `width` numbers.
inline std::vector<double> gather_rows(const std::vector<double>& x, std::int64_t width,
                                       const std::vector<std::int64_t>& index) {
  std::vector<double> result;
  for (std::int64_t row : index) {
    for (std::int64_t column = 0; column < width; ++column) result.push_back(x[row * width + column]);
  }
  return result;
}

/// result[index[i]] += values[i] for rows of `width` numbers, starting from zeros.
inline std::vector<double> scatter_add_rows(const std::vector<double>& values, std::int64_t width,
                                            const std::vector<std::int64_t>& index, std::int64_t num_rows) {
  std::vector<double> result(static_cast<std::size_t>(num_rows * width), 0.0);
  for (std::size_t i = 0; i < index.size(); ++i) {
    for (std::int64_t column = 0; column < width; ++column) {
      result[index[i] * width + column] += values[static_cast<std::int64_t>(i) * width + column];
    }
  }
  return result;
}

}  // namespace bough::reference
