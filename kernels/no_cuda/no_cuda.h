#pragma once

#include <string_view>

#include "bough/core/errors.h"

namespace bough {

/// What every kernel of a GPU says in a build without CUDA.
[[noreturn]] inline void no_cuda(std::string_view where) {
  throw DeviceError(where,
                    "has no kernel for cuda: this build of bough has no CUDA backend; use Device::cpu(), or "
                    "--device cpu");
}

}  // namespace bough
