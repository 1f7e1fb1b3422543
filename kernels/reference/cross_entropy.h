#pragma once

#include <cstdint>
#include <vector>

#include "kernels/reference/softmax.h"

namespace bough::reference {

/// The loss of every row of logits [targets.size(), classes]; 0 for ignored rows.
inline std::vector<double> cross_entropy(const std::vector<double>& logits, std::int64_t classes,
                                         const std::vector<std::int64_t>& targets, std::int64_t ignored,
                                         double smoothing) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  const std::vector<double> log_p = log_softmax(logits, rows, classes, 1);
  std::vector<double> losses(targets.size(), 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (targets[row] == ignored) continue;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double q = (c == targets[row] ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      if (q > 0) losses[row] -= q * log_p[row * classes + c];
    }
  }
  return losses;
}

}  // namespace bough::reference
