#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "bough/autograd/gradcheck.h"

namespace bough::test {

/// Fails unless the gradients of f with respect to its float64 inputs match central differences.
void expect_gradient(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                     const GradcheckOptions& options = {},
                     std::source_location where = std::source_location::current());

}  // namespace bough::test
