#pragma once

#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/views.h"
#include "kernels/on_device.h"

/// Graph attention on the tiles of a plan, one head at a time. Takes relation keys and dropout, no other options; the
/// rows that the plan leaves out are not touched.
namespace bough {

/// True if the tile kernels can do what the options ask for.
template <typename T>
bool tiles_can_take(const AttentionInputs<T>& in) {
  return !in.relation_values && !in.relation_bias && !in.edge_bias && !in.edge_weights;
}

/// How many heads a task computes together: as many as keep their staged blocks in the cache, fewer if there would not
/// be enough tasks for the threads. Results do not depend on it.
/// A task has one of `parts` parts of the plan; bytes_per_source are those of one head.
std::int64_t heads_per_task(const AttentionPlan& plan, std::int64_t parts, std::int64_t heads,
                            std::int64_t bytes_per_source);

/// True if results of so many bytes a row are too large to find them in the cache afterwards.
bool streams_results(const AttentionPlan& plan, std::int64_t bytes_per_row);

/// Consecutive heads that one task computes: their rows lie side by side in memory.
struct HeadBlock {
  std::int64_t first = 0, count = 0;
};
/// Some heads of one work item, whose number may be one past the last.
struct TileTask {
  std::int64_t work_item = 0;
  HeadBlock heads;
};

/// One call of attend_tiles.
template <typename T>
struct TileForward {
  const AttentionPlan& plan;
  const AttentionInputs<T>& in;
  const AttentionOutputs<T>& result;
  T* partials;  ///< of split rows, [partial, heads, 2 + value_width]: row_max, row_sum, weighted sum

  T* partial(std::int64_t number, std::int64_t head) const {
    return partials + (number * in.heads + head) * (2 + in.value_width);
  }
};
/// The loops over tiles, as compiled for one instruction set.
template <typename T>
struct TileFunctions {
  /// `next`: what this thread is likely to do afterwards.
  void (*attend_work_item)(const TileForward<T>&, const TileTask&, const TileTask& next);
  void (*merge_partials)(const TileForward<T>&, const SplitAttentionRow&, std::int64_t head);
};

/// One call of attend_tiles_backward; parts of gradients that are added up at the end are [number, heads, width] each.
template <typename T>
struct TileBackward {
  const AttentionPlan& plan;
  const AttentionInputs<T>& in;
  const AttentionGradients<T>& gradients;
  T* query_partials;  ///< by partial of a split row
  T* key_buffers;     ///< by partial buffer of a shared source
  T* value_buffers;
};
template <typename T>
struct TileBackwardFunctions {
  /// Adds gradients of relation keys to relation_tables [heads of the task, relations, width], unless that is null.
  void (*attend_work_item_backward)(const TileBackward<T>&, const TileTask&, T* relation_tables);
  void (*add_partials)(std::int64_t width, const T* partials, std::int64_t stride, std::int64_t count, T* sum);
};

/// Writes the rows of the plan's tiles.
template <typename T>
void attend_tiles(Cpu, const AttentionPlan& plan, const AttentionInputs<T>& in, const AttentionOutputs<T>& result);

/// Gradients of q for the rows of the plan's tiles; of k and v for all sources, zero where no tile has one; gradients
/// of relation keys are added to what is there.
template <typename T>
void attend_tiles_backward(Cpu, const AttentionPlan& plan, const AttentionInputs<T>& in,
                           const AttentionGradients<T>& gradients);

}  // namespace bough
