#pragma once

#include <thrust/system/cuda/execution_policy.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <string>

#include "kernels/cuda/queue.h"

/// For files that nvcc compiles; costs half a minute for each architecture, so there should be only one.
namespace bough::cuda {

/// See kernels/thrust/primitives.h.
class CubPrimitives {
 public:
  explicit CubPrimitives(Queue& queue) : queue_(queue) {}

  auto policy() const { return thrust::cuda::par_nosync.on(queue_.stream()); }

  template <typename T>
  Scratch<T> scratch(std::int64_t count) {
    return queue_.scratch<T>(count);
  }

  void sort_pairs(const std::int64_t* keys, std::int64_t* sorted_keys, const std::int32_t* values,
                  std::int32_t* sorted_values, std::int64_t count, int bits) {
    run("cub::DeviceRadixSort::SortPairs", count, [&](void* memory, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted_keys, values, sorted_values, count, 0, bits,
                                             queue_.stream());
    });
  }

  void exclusive_sum(const std::int64_t* values, std::int64_t* sums, std::int64_t count) {
    run("cub::DeviceScan::ExclusiveSum", count, [&](void* memory, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(memory, bytes, values, sums, count, queue_.stream());
    });
  }

 private:
  /// Functions of CUB first say how much memory they need, then use it.
  template <typename Call>
  void run(const char* name, std::int64_t count, const Call& call) {
    if (count == 0) return;
    std::size_t bytes = 0;
    check(call(nullptr, bytes), name, count);
    const auto memory = scratch<std::byte>(static_cast<std::int64_t>(bytes) + 1);
    check(call(memory.data(), bytes), name, count);
  }

  static void check(cudaError_t status, const char* name, std::int64_t count) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // an error that is reported here must not surface again in a later call
    throw DeviceError(
        "cuda", std::string(name) + " of " + std::to_string(count) + " entries failed: " + cudaGetErrorString(status));
  }

  Queue& queue_;
};

}  // namespace bough::cuda
