#include <thrust/system/cuda/execution_policy.h>

#include "kernels/cuda/grouping.h"
#include "kernels/cuda/queue.h"
#include "kernels/thrust/grouping.h"

namespace bough {

void compress_edges(Cuda gpu, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
                    std::int64_t num_rows, std::int64_t* offsets, std::int32_t* indices, std::int32_t* edge_ids) {
  cuda::Queue queue(gpu.device);
  const auto keys = queue.scratch<std::int64_t>(edges);
  parallel::compress(thrust::cuda::par.on(queue.stream()), rows, neighbours, edges, num_rows,
                     {offsets, indices, edge_ids, keys.data()});
}

template <typename Index>
void group_rows(Cuda gpu, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets) {
  cuda::Queue queue(gpu.device);
  const auto keys = queue.scratch<Index>(count);
  parallel::group_rows(thrust::cuda::par.on(queue.stream()), index, count, num_rows, keys.data(), order, offsets);
}

template void group_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);
template void group_rows(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);

}  // namespace bough
