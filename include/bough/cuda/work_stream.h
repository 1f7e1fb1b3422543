#pragma once

#include <cuda_runtime_api.h>

namespace bough::cuda {

/// Where the calling thread's kernels for a device go: its default stream, or one that is being recorded.
cudaStream_t work_stream(int device) noexcept;

}  // namespace bough::cuda
