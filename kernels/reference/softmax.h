#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::reference {

/// log(softmax) along the middle axis of [outer, length, inner]; -inf where all are -inf.
inline std::vector<double> log_softmax(const std::vector<double>& x, std::int64_t outer, std::int64_t length,
                                       std::int64_t inner) {
  std::vector<double> result(x.size());
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t k = 0; k < inner; ++k) {
      const auto at = [&](std::int64_t j) { return (i * length + j) * inner + k; };
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t j = 0; j < length; ++j) max = std::max(max, x[at(j)]);
      for (std::int64_t j = 0; j < length; ++j) sum += std::isinf(max) ? 0 : std::exp(x[at(j)] - max);
      for (std::int64_t j = 0; j < length; ++j) result[at(j)] = std::isinf(max) ? max : x[at(j)] - max - std::log(sum);
    }
  }
  return result;
}

inline std::vector<double> softmax(const std::vector<double>& x, std::int64_t outer, std::int64_t length,
                                   std::int64_t inner) {
  std::vector<double> result = log_softmax(x, outer, length, inner);
  for (double& value : result) value = std::exp(value);
  return result;
}

}  // namespace bough::reference
