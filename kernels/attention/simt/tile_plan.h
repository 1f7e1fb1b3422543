#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/simt/tile_view.h"

namespace bough::simt {

/// Entries of a collection (columns, or relations of steps) grouped by the row of a gradient that they belong to, batch
/// by batch. Items are positions in `order`.
struct PartLists {
  std::vector<std::int32_t> order;
  std::vector<RowItems> batches;
};

/// What TileView and TileBatchView point to.
struct AttentionTilePlan {
  std::vector<TileHeader> tiles;
  std::vector<std::int32_t> lane_rows, lane_partials;
  std::vector<TileStep> steps;
  std::vector<TileColumn> columns;
  std::vector<std::int32_t> relations;
  std::vector<RelationPlaces> relation_places;
  std::vector<TileBatch> batches;
  PartLists columns_by_source, columns_by_relation, relations_by_relation;  ///< the latter two only with relations
};

/// Batches have about so many columns times heads: 64 MB of gradients of keys and values of width 64.
inline constexpr std::int64_t columns_and_heads_held = std::int64_t{1} << 17;

/// The tiles of a plan, in their order. Batches have up to batch_columns columns, or one tile. O(columns log columns).
AttentionTilePlan make_attention_tile_plan(const AttentionPlan& plan, std::int64_t batch_columns);

}  // namespace bough::simt
