#pragma once

#include <span>
#include <string_view>

#include "bough/detail/cuda/launch_body.h"
#include "kernels/backend.h"
#include "kernels/scratch.h"
#include "src/core/captured_graph.h"

/// Found before the queue of CUDA when the sources of kernels/cuda are compiled for the emulated GPU.
namespace bough::cuda {

class Queue {
 public:
  explicit Queue(int device) : device_(device) {}

  void* stream() const { return nullptr; }

  template <typename Body>
  void launch(const simt::Launch& launch, const Body& body) {
    launch_body(device_, launch, body);
  }
  template <typename Body>
  bool has_matrix_unit() const {
    return true;
  }
  const std::uint64_t* random_shift() const { return CapturedGraph::random_shift(Device::cuda(device_)); }
  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return Scratch<T>(count, Device::cuda(device_));
  }
  template <typename T>
  Scratch<T> upload(std::span<const T> values) {
    Scratch<T> buffer = scratch<T>(static_cast<std::int64_t>(values.size()));
    copy_from_host(device_, buffer.data(), values.data(), values.size_bytes());
    return buffer;
  }

 private:
  int device_;
};

template <typename F>
void on_gpu(std::string_view, Cuda gpu, const F& f) {
  Queue queue(gpu.device);
  f(queue);
}

}  // namespace bough::cuda
