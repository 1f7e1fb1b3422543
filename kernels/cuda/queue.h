#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "bough/detail/cuda/launch_body.h"
#include "kernels/backend.h"
#include "kernels/scratch.h"
#include "src/core/captured_graph.h"

/// For files that nvcc compiles.
namespace bough::cuda {

/// The first architecture whose tensor cores take bfloat16; see kernels/cuda/matrix_unit.h.
inline constexpr int first_with_matrix_unit = 80;

/// The stream of one device on which all its work happens in order.
class Queue {
 public:
  explicit Queue(int device) : device_(device), stream_(work_stream(device)) {
    check(cudaSetDevice(device), "cudaSetDevice");
  }

  cudaStream_t stream() const { return stream_; }

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    launch_body(device_, launch, body);
  }

  /// Whether the code of the body that this GPU runs was compiled with a MatrixUnit. Older code also runs on newer
  /// GPUs.
  template <typename Body>
  bool has_matrix_unit() const {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, run_body<Body>), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= first_with_matrix_unit;
  }

  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return Scratch<T>(count, Device::cuda(device_));
  }

  /// What random streams are shifted by; see CapturedGraph.
  const std::uint64_t* random_shift() const { return CapturedGraph::random_shift(Device::cuda(device_)); }

  /// The values may go as soon as this returns.
  template <typename T>
  Scratch<T> upload(std::span<const T> values) {
    Scratch<T> buffer = scratch<T>(static_cast<std::int64_t>(values.size()));
    if (values.empty()) return buffer;
    if (CapturedGraph::capturing(Device::cuda(device_))) {
      copy_from_host(device_, buffer.data(), values.data(), values.size_bytes());
      return buffer;
    }
    check(cudaMemcpyAsync(buffer.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync", values.size_bytes());
    return buffer;
  }

 private:
  int device_;
  cudaStream_t stream_;
};

/// Calls f(queue) with the queue of a GPU: the one way from an operation to its launches in kernels/simt. f is generic,
/// because the sources of kernels/cuda are compiled three times: by nvcc with this queue, for tests with that of the
/// emulated GPU (tests/emulator/device), and in builds without CUDA with the on_gpu of kernels/no_cuda, which throws
/// and names the operation.
template <typename F>
void on_gpu(std::string_view, Cuda gpu, const F& f) {
  Queue queue(gpu.device);
  f(queue);
}

}  // namespace bough::cuda
