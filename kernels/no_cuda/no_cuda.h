#pragma once

#include <string_view>

#include "bough/core/errors.h"

namespace bough {

/// DeviceError of an operation on a GPU in a build without CUDA.
[[noreturn]] inline void no_cuda(std::string_view operation) {
  throw DeviceError(operation,
                    "has no kernel for cuda: this build of bough has no CUDA backend; use Device::cpu(), or "
                    "--device cpu");
}

}  // namespace bough
