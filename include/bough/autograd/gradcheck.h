#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// How gradcheck moves elements and what it lets pass.
struct GradcheckOptions {
  double step = 1e-6;       ///< each element is moved by step * max(1, |x|) to both sides
  double tolerance = 1e-6;  ///< allowed |analytic - numeric| / max(1, |numeric|)
  std::uint64_t seed = 1;   ///< of the weights that contract the output to one number
};

/// What gradcheck found; true if all gradients are right.
struct GradcheckResult {
  double largest_error = 0;  ///< |analytic - numeric| / max(1, |numeric|)
  std::string report;        ///< empty if all is well, else which element of which input differs and by how much
  explicit operator bool() const { return report.empty(); }  ///< all is well
};

/// Compares the gradients of a function with central differences. f must be deterministic. The inputs of type float64
/// are checked, one element at a time (two evaluations each); the others are passed through as they are.
GradcheckResult gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

}  // namespace bough
