#pragma once

#include <vector>

#include "bough/core/random.h"

namespace bough::reference {

/// Each element kept, and divided by 1 - p, if its random number is at least p.
inline std::vector<double> dropout(const std::vector<double>& x, double p, RandomStream stream) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(uniform_float(stream(i)) >= p ? x[i] / (1 - p) : 0);
  return y;
}

}  // namespace bough::reference
