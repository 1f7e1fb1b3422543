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

/// How many heads a task computes together: as many as keep their windows in the cache, fewer if there would not be
/// enough tasks for the threads. Results do not depend on it.
/// A task has one of `parts` parts of the plan; bytes_per_source are those of one head.
std::int64_t heads_per_task(const AttentionPlan& plan, std::int64_t parts, std::int64_t heads,
                            std::int64_t bytes_per_source);

/// True if results of so many bytes a row are too large to find them in the cache afterwards.
bool streams_results(const AttentionPlan& plan, std::int64_t bytes_per_row);

/// Consecutive heads that one task computes: their rows lie side by side in memory.
struct HeadBlock {
  std::int64_t first = 0, count = 0;
};
/// Some heads of one range, which may be one past the last.
struct TileTask {
  std::int64_t range = 0;
  HeadBlock heads;
};

/// The loops over tiles, as compiled for one instruction set.
template <typename T>
struct TileFunctions {
  /// `next`: what this thread is likely to do afterwards.
  void (*attend_range)(const AttentionPlan&, const AttentionInputs<T>&, const TileTask&, const TileTask& next,
                       T* partials, const AttentionOutputs<T>&);
  void (*merge_parts)(const SplitRow&, const AttentionInputs<T>&, std::int64_t head, const T* partials,
                      const AttentionOutputs<T>&);
};

/// Where backward collects parts of gradients that are added up at the end; [number, heads, width] each.
template <typename T>
struct TileCollections {
  T* partials;  ///< of queries, by part of a split row
  T* key_slots;
  T* value_slots;
};
template <typename T>
struct TileGradientFunctions {
  /// Adds gradients of relation keys to relation_tables [num_heads, relations, width], unless that is null.
  void (*backward_of_range)(const AttentionPlan&, const AttentionInputs<T>&, const TileTask&,
                            const AttentionGradients<T>&, const TileCollections<T>&, T* relation_tables);
  void (*add_parts)(std::int64_t width, const T* parts, std::int64_t stride, std::int64_t count, T* sum);
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
