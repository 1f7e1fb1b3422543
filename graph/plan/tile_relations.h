#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan/tile_draft.h"

namespace bough {

/// How the relations of a tile's edges can be added without looking at single edges.
struct TileRelations {
  /// Columns of consecutive sources. Folded: all edges of a column have one relation, which is added to its key.
  /// Mixed: going through the columns, the relations of each lane are a word, or a part of one.
  struct Segment {
    std::int32_t column_begin = 0, column_end = 0;
    bool mixed = false;
    std::int32_t lanes = 0;  ///< of a mixed one: where its 16 lanes begin in `lanes`
    /// Of a mixed one: in each column, all edges of the first eight lanes have one relation, and all of the others;
    /// where these begin in half_relations. -1 if there is no such.
    std::int32_t halves = -1;
  };
  struct Lane {
    std::int32_t word = -1;  ///< -1: no edges in this segment
    std::int32_t shift = 0;  ///< relation of column c = words[word][c - column_begin + shift] where there is an edge
  };
  std::vector<Segment> segments;
  std::vector<std::int32_t> column_relations;  ///< of folded columns; -1 elsewhere
  std::vector<Lane> lanes;
  std::vector<std::int32_t> half_relations;  ///< two for each column
  std::vector<std::vector<std::int32_t>> words;
  std::int32_t num_mixed_words = 0;  ///< the first words, which segments without halves have; the others are in halves
};

/// The sources of a tile and the lanes that have an edge from each.
struct TileColumns {
  std::vector<std::int32_t> sources;  ///< ascending
  std::vector<std::uint16_t> masks;
};

/// `lanes_of` has an element for each source, all zero before and after.
TileColumns tile_columns(const CscView& edges, const DraftTile& tile, std::vector<std::uint16_t>& lanes_of);

TileRelations tile_relations(const CscView& edges, std::span<const std::int32_t> edge_types, const DraftTile& tile,
                             const TileColumns& columns);

/// What a tile costs with its relations: words that are in no halves are multiplied with each query, the others folded.
double tile_cost(const TileCosts& costs, const DraftTile& tile, const TileColumns& columns,
                 const TileRelations& relations);

}  // namespace bough
