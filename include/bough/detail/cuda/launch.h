#pragma once

#include <cuda_runtime.h>

#include <string>

#include "bough/detail/cuda/runtime.h"
#include "bough/detail/launch_observer.h"

/// For files that nvcc compiles: how kernels are started. All of it is in the header, because kernels are known only to
/// the library that they are linked into.
namespace bough::cuda {

/// What a trace asks of a launch on a GPU.
class LaunchProbe {
 public:
  LaunchProbe(const void* kernel, const KernelLaunch& launch, cudaStream_t stream)
      : kernel_(kernel), launch_(launch), stream_(stream) {}

  std::optional<KernelResources> resources() const {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel_), std::string("cudaFuncGetAttributes of ") + launch_.kernel);
    int blocks = 0, threads = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, launch_.block_size, launch_.shared_bytes),
          std::string("cudaOccupancyMaxActiveBlocksPerMultiprocessor of ") + launch_.kernel);
    check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, launch_.device.index),
          "cudaDeviceGetAttribute");
    return KernelResources{.registers = attributes.numRegs,
                           .local_bytes = attributes.localSizeBytes,
                           .blocks_per_multiprocessor = blocks,
                           .occupancy = static_cast<double>(blocks) * launch_.block_size / threads};
  }

  /// Nothing while the stream is captured: the kernel does not run then.
  template <typename Start>
  std::optional<double> milliseconds(const Start& start) const {
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_, &captured), "cudaStreamIsCapturing");
    if (captured != cudaStreamCaptureStatusNone) {
      start();
      return {};
    }
    const Event before, after;
    check(cudaEventRecord(before.handle, stream_), "cudaEventRecord");
    start();
    check(cudaEventRecord(after.handle, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(after.handle), to_string(launch_));
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, before.handle, after.handle), "cudaEventElapsedTime");
    return elapsed;
  }

 private:
  struct Event {
    Event() { check(cudaEventCreate(&handle), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(handle); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t handle = nullptr;
  };

  const void* kernel_;
  const KernelLaunch& launch_;
  cudaStream_t stream_;
};

/// The only place that starts kernels. The device of the launch must be the current one.
template <typename... Parameters, typename... Arguments>
void launch_kernel(void (*kernel)(Parameters...), const KernelLaunch& launch, cudaStream_t stream,
                   const Arguments&... arguments) {
  constexpr std::int64_t most_blocks = 0x7FFFFFFF;
  if (launch.blocks == 0) return;
  if (launch.blocks > most_blocks) check(cudaErrorInvalidConfiguration, to_string(launch));
  observed_launch(launch, LaunchProbe(reinterpret_cast<const void*>(kernel), launch, stream), [&] {
    kernel<<<static_cast<unsigned>(launch.blocks), static_cast<unsigned>(launch.block_size), launch.shared_bytes,
             stream>>>(arguments...);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) check(status, to_string(launch));
  });
}

}  // namespace bough::cuda
