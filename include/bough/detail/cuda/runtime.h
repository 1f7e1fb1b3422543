#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bough/core/errors.h"

namespace bough::cuda {

/// DeviceError naming the call, what it was asked for, and what CUDA says of it, unless it succeeded.
inline void check(cudaError_t status, std::string_view call, std::optional<std::size_t> bytes = {}) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is reported here must not surface again in a later call
  const std::string size = bytes ? " of " + std::to_string(*bytes) + " bytes" : "";
  throw DeviceError("cuda", std::string(call) + size + " failed: " + cudaGetErrorString(status) + " (" +
                                cudaGetErrorName(status) + ")");
}

/// The stream that the calling thread's kernels for a device go to: its default stream, or one that is being captured.
cudaStream_t work_stream(int device) noexcept;

}  // namespace bough::cuda
