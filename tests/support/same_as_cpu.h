#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::test {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// f gives a tensor from some inputs: the result and all gradients on the GPU against those on the CPU. Inputs that are
/// not of floating type have none.
void expect_same_as_cpu(const std::vector<Tensor>& inputs, const Function& f,
                        std::source_location where = std::source_location::current());

}  // namespace bough::test
