#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/plan/tile_draft.h"

namespace bough {

/// How the relations of a tile's edges can be added without looking at single edges.
///
/// Folded columns: all edges of the first eight lanes have one relation, and all of the others. Mixed columns: going
/// through consecutive ones, the relations of each lane are a word, or a part of one.
struct TileRelations {
  /// Mixed columns of consecutive sources.
  struct Segment {
    std::int32_t column_begin = 0, column_end = 0;
    std::int32_t lanes = 0;  ///< where its 16 lanes begin in `lanes`
  };
  struct Lane {
    std::int32_t word = -1;  ///< -1: no edges in this segment
    std::int32_t shift = 0;  ///< relation of column c = words[word][c - column_begin + shift] where there is an edge
  };
  std::vector<Segment> segments;
  std::vector<std::array<std::int32_t, 2>> column_relations;  ///< of both halves of the lanes; -1 in mixed columns
  std::vector<Lane> lanes;
  std::vector<std::vector<std::int32_t>> words;
};

/// The sources of a tile and the lanes that have an edge from each.
struct TileColumns {
  std::vector<std::int32_t> sources;  ///< ascending
  std::vector<std::uint16_t> masks;
};

/// `lanes_of` has an element for each source, all zero before and after.
TileColumns tile_columns(const CscView& edges, const DraftTile& tile, std::vector<std::uint16_t>& lanes_of);

TileRelations tile_relations(const CscView& edges, std::span<const std::int32_t> edge_types, const DraftTile& tile,
                             const TileColumns& columns, const AttentionPlanOptions& options = {});

/// What a tile costs with its relations: words are multiplied with each query, relations of columns added to keys.
double tile_cost(const TileCosts& costs, const DraftTile& tile, const TileColumns& columns,
                 const TileRelations& relations, const AttentionPlanOptions& options = {});

}  // namespace bough
