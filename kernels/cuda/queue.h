#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <string>

#include "bough/core/errors.h"
#include "kernels/cuda/context.h"
#include "kernels/scratch.h"

/// For files that nvcc compiles.
namespace bough::cuda {

/// One block on a multiprocessor is enough for the compiler: it shall not save registers by going to memory.
template <typename Body>
__global__ void __launch_bounds__(Body::block_size, 1) run_body(const __grid_constant__ Body body) {
  Context context;
  body(context);
}

/// The stream of one device on which all its work happens in order, and the only place that launches kernels.
class Queue {
 public:
  explicit Queue(int device, cudaStream_t stream = nullptr) : device_(device), stream_(stream) {
    check(cudaSetDevice(device), "cudaSetDevice", {});
  }

  cudaStream_t stream() const { return stream_; }

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    if (launch.num_blocks == 0) return;
    check(launch.num_blocks <= 0x7FFFFFFF ? cudaSuccess : cudaErrorInvalidConfiguration, launch.name, launch);
    run_body<Body><<<static_cast<unsigned>(launch.num_blocks), static_cast<unsigned>(launch.block_size),
                     launch.shared_bytes, stream_>>>(body);
    check(cudaGetLastError(), launch.name, launch);
  }

  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return Scratch<T>(count, Device::cuda(device_));
  }

  /// The values may go as soon as this returns.
  template <typename T>
  Scratch<T> upload(std::span<const T> values) {
    Scratch<T> buffer = scratch<T>(static_cast<std::int64_t>(values.size()));
    if (values.empty()) return buffer;
    check(cudaMemcpyAsync(buffer.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync", {});
    return buffer;
  }

 private:
  static void check(cudaError_t status, const char* what, const simt::Launch& launch) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // an error that is reported here must not surface again in a later call
    throw DeviceError("cuda", std::string(what) + " failed: " + cudaGetErrorString(status) + " (" +
                                  std::to_string(launch.num_blocks) + " blocks of " +
                                  std::to_string(launch.block_size) + " threads with " +
                                  std::to_string(launch.shared_bytes) + " bytes of shared memory each)");
  }

  int device_;
  cudaStream_t stream_;
};

}  // namespace bough::cuda
