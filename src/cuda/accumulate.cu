#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace {

template <typename T>
__global__ void add_scaled(const T* source, T scale, T* target, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    target[i] += scale * source[i];
  }
}

}  // namespace

template <typename T>
void cuda_accumulate(int device, const T* source, T scale, T* target, std::int64_t count) {
  if (count == 0) return;
  constexpr std::int64_t threads = 256, most_blocks = 65536;
  cudaError_t status = cudaSetDevice(device);
  if (status == cudaSuccess) {
    const auto blocks = static_cast<unsigned>(std::min((count + threads - 1) / threads, most_blocks));
    add_scaled<<<blocks, threads>>>(source, scale, target, count);
    status = cudaGetLastError();
  }
  if (status != cudaSuccess) {
    throw DeviceError("cuda",
                      "accumulate of " + std::to_string(count) + " elements failed: " + cudaGetErrorString(status));
  }
}

template void cuda_accumulate(int, const float*, float, float*, std::int64_t);
template void cuda_accumulate(int, const double*, double, double*, std::int64_t);

}  // namespace bough
