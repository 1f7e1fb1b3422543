#pragma once

#include <algorithm>
#include <cstdint>

/// Split rows: rows with so many edges that one thread, or one warp, would still work on them after all others are
/// done. They are computed in splits of consecutive edges, whose partial results are merged in their order. Where a
/// row is split depends on its edges only, never on the number of threads, so that results are always the same.
///
/// Rows with more edges than these are computed in splits of so many edges. The numbers differ because a partial
/// result does: they stand here together so that one is not changed without a look at the others.
///
/// Where partial results are merged:
/// - reductions: `merge` in bough/detail/mp/row_reduction.h, merge_splits in kernels/cpu/gspmm_copies.cpp; on a GPU
///   MergeSplits in bough/detail/simt/reduce_messages.h;
/// - edge softmax: merge_states in kernels/cpu/edge_softmax.cpp; on a GPU MergeRowStates in
/// kernels/simt/edge_softmax.h;
/// - attention: merge_partials in kernels/attention/cpu/tiles.cpp and rows.cpp; on a GPU MergeAttention in
///   kernels/attention/simt/rows.h;
/// - its gradients: add_partials in kernels/attention/cpu/tiles_backward.cpp, merge_partials in rows_backward.cpp; on a
///   GPU SumSplits in kernels/attention/simt/rows_backward.h.
namespace bough::split_rows {

/// Reductions on the CPU. Every row is added up in such splits, also with one thread: the length bounds the rounding
/// error.
inline constexpr std::int64_t reduction_edges = 1024;
/// Attention on the CPU: twice as long, because a partial result has row_max and row_sum besides the weighted sum, and
/// merging rescales all of them.
inline constexpr std::int64_t attention_edges = 2048;
/// Everything on a GPU: enough splits for many warps, few enough edges to keep the tail of a launch short.
inline constexpr std::int64_t gpu_edges = 256;

/// Calls f(begin, end) for each split of the row with the edges begin .. end-1, in their order.
template <typename F>
void for_each_split(std::int64_t begin, std::int64_t end, std::int64_t split_edges, const F& f) {
  for (std::int64_t first = begin; first < end; first += split_edges) f(first, std::min(end, first + split_edges));
}

}  // namespace bough::split_rows
