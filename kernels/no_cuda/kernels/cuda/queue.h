#pragma once

#include <string_view>

#include "kernels/backend.h"
#include "kernels/no_cuda/no_cuda.h"

/// Found before the queue of CUDA when the sources of kernels/cuda are compiled without it: every operation throws, and
/// no launch is compiled.
namespace bough::cuda {

template <typename F>
[[noreturn]] void on_gpu(std::string_view operation, Cuda, const F&) {
  no_cuda(operation);
}

}  // namespace bough::cuda
