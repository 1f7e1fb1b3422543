#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <string>

#include "kernels/cuda/grouping.h"
#include "kernels/cuda/queue.h"
#include "kernels/thrust/grouping.h"
#include "kernels/thrust/row_items.h"
#include "src/core/cuda_device.h"

namespace bough {
namespace cuda {

/// What kernels/thrust/primitives.h asks for. CUB costs half a minute for each architecture, so this is the only file
/// that includes it.
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

}  // namespace cuda
namespace {

/// Calls f(primitives of the GPU). What fails inside Thrust gets the family of exceptions that it belongs to.
template <typename F>
void on_gpu(const char* name, Cuda gpu, std::int64_t count, const F& f) {
  cuda::Queue queue(gpu.device);
  cuda::CubPrimitives primitives(queue);
  try {
    f(primitives);
  } catch (const thrust::system_error& error) {
    throw DeviceError("cuda", std::string(name) + " of " + std::to_string(count) + " entries failed: " + error.what());
  }
}

}  // namespace

void compress_edges(Cuda gpu, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
                    std::int64_t num_rows, std::int64_t num_neighbours, std::int64_t* offsets, std::int32_t* indices,
                    std::int32_t* edge_ids) {
  on_gpu("compress_edges", gpu, edges, [&](cuda::CubPrimitives& place) {
    parallel::compress(place, rows, neighbours, edges, num_rows, num_neighbours, {offsets, indices, edge_ids});
  });
}

template <typename Index>
void group_rows(Cuda gpu, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets) {
  on_gpu("group_rows", gpu, count,
         [&](cuda::CubPrimitives& place) { parallel::group_rows(place, index, count, num_rows, order, offsets); });
}

RowItemCounts count_row_items(Cuda gpu, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                              std::int64_t* partials_before, std::int64_t* split_rows_before) {
  on_gpu("count_row_items", gpu, num_rows, [&](cuda::CubPrimitives& place) {
    parallel::count_row_items(place, {offsets, num_rows, split_edges}, partials_before, split_rows_before);
  });
  RowItemCounts counts;
  const auto read = [&](const std::int64_t* value, std::int64_t& result) {
    cuda_copy(gpu.device, &result, value, sizeof(result), CopyDirection::device_to_host);
  };
  read(partials_before + num_rows, counts.partials);
  read(split_rows_before + num_rows, counts.split_rows);
  return counts;
}

void fill_row_items(Cuda gpu, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                    const std::int64_t* partials_before, const std::int64_t* split_rows_before,
                    const RowItemCounts& counts, simt::RowItem* items, simt::SplitRowItem* split_rows) {
  on_gpu("fill_row_items", gpu, num_rows, [&](cuda::CubPrimitives& place) {
    parallel::fill_row_items(place, {offsets, num_rows, split_edges}, partials_before, split_rows_before,
                             counts.partials, items, split_rows);
  });
}

template void group_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);
template void group_rows(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);

}  // namespace bough
