#pragma once

#include <string_view>

#include "bough/core/tensor.h"

namespace bough {

/// Error naming the operation and its operand if the tensor is undefined; if it stands for a missing one, such as a
/// gradient before backward, what that says.
void require_defined(std::string_view where, std::string_view operand, const Tensor& tensor);

}  // namespace bough
