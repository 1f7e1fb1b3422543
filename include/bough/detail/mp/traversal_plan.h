#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/features.h"
#include "bough/detail/mp/split_rows.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough::mp {

/// The rows of one direction of a graph, cut into work items of about equal cost. Made once for each graph and
/// direction.
///
/// Every reduction adds up a row in splits of `split_edges` edges and then the splits in order, on any
/// thread. That bounds the rounding error of a sum of n terms by (split_edges + n / split_edges) * epsilon * sum of
/// their absolute values, and makes a row's result independent of the strategy.
struct TraversalPlan {
  static constexpr std::int64_t split_edges = split_rows::reduction_edges;
  /// Edges plus rows of one chunk.
  static constexpr std::int64_t chunk_cost = 512;

  /// A row with more than one split.
  struct SplitRow {
    std::int64_t row = 0;
    std::int64_t first_split = 0;
    std::int64_t num_splits = 0;
  };

  std::vector<std::int64_t> chunk_begin;  ///< first row of each chunk, and the number of rows
  std::vector<SplitRow> split_rows;
  std::vector<std::int32_t> split_row_of;  ///< for each split its row's place in split_rows
  std::int64_t rows = 0;
  std::int64_t edges = 0;
  std::int64_t split_row_edges = 0;
  std::int64_t largest_row = 0;

  std::int64_t chunks() const { return static_cast<std::int64_t>(chunk_begin.size()) - 1; }
  std::int64_t num_splits() const { return static_cast<std::int64_t>(split_row_of.size()); }
  std::int64_t bytes() const;
};

/// O(rows). offsets has one entry more than there are rows.
TraversalPlan make_traversal_plan(std::span<const std::int64_t> offsets);

/// The graph's plan for one direction, from its cache.
std::shared_ptr<const TraversalPlan> traversal_plan(const Graph& graph, Direction direction);

/// A plan applied to features of a given width.
struct TraversalSchedule {
  Strategy strategy = Strategy::serial;
  std::vector<FeatureBlock> blocks;
  std::int64_t items_per_task = 1;
  bool split = false;  ///< whether split rows are done split by split
};

/// Picks the strategy unless one is asked for. `result` is the layout's operand that is written.
TraversalSchedule make_traversal_schedule(const TraversalPlan& plan, const FeatureLayout& layout,
                                          const FeatureLayout::Operand& result,
                                          Strategy requested = Strategy::automatic);

/// What a reduction does with the work items of a plan.
struct WorkItemFunctions {
  /// Rows begin..end-1; split rows among them only if the schedule does not split them.
  FunctionRef<void(std::int64_t begin, std::int64_t end, const FeatureBlock& block)> rows;
  /// One split, counted over all split rows, of a split row.
  FunctionRef<void(const TraversalPlan::SplitRow& split_row, std::int64_t split, const FeatureBlock& block)> split;
  /// After all splits of the split row are done.
  FunctionRef<void(const TraversalPlan::SplitRow& split_row, const FeatureBlock& block)> merge;
};

void traverse(const TraversalPlan& plan, const TraversalSchedule& schedule, const WorkItemFunctions& functions);

}  // namespace bough::mp
