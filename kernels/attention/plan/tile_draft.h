#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bough/graph/graph.h"

/// First half of planning: which rows form tiles. The second half (attention_plan.cpp) lays them out.
namespace bough {

/// Lanes with their edges, as positions in the CSC view; columns are not known yet.
struct DraftTile {
  static constexpr std::int32_t most_lanes = 16;
  std::array<std::int32_t, most_lanes> rows;
  std::array<std::int64_t, most_lanes> edge_begin, edge_end;
  std::int32_t num_lanes = 0;
  bool segment = false;  ///< parts of rows; else whole neighbouring rows
  std::int64_t key = 0;  ///< tiles with near keys read near sources

  void add(std::int32_t row, std::int64_t begin, std::int64_t end);
  std::int64_t num_edges() const;
};

/// What planning needs to know of each row.
struct RowFacts {
  std::vector<std::uint8_t> parallel_edges;  ///< two edges from the same source
  std::vector<std::uint8_t> one_relation;    ///< all edges have the same type; empty without relations
};
RowFacts row_facts(const CscView& edges, std::span<const std::int32_t> edge_types);

/// Costs in cycles of one head of width 64, measured; only their ratios matter.
struct TileCosts {
  double tile = 1200;         ///< packing queries, writing results
  double column = 60;         ///< a column of 16 lanes: scores and exponentials
  double tile_edge = 2.5;     ///< weighted sum
  double relation = 34;       ///< a relation of a mixed tile, times 16 queries
  double half_relation = 12;  ///< a relation that is folded into keys for one half of the lanes
  double segment_row = 90;    ///< a part of a row: its state is written and merged
  double row = 500;           ///< row kernel
  double row_edge = 36;
  double left_row = 150;  ///< row that is not in a row tile: something between a segment tile and the row kernel
  double left_edge = 14;

  double of_tile(std::int64_t columns, std::int64_t edges) const {
    return tile + column * static_cast<double>(columns) + tile_edge * static_cast<double>(edges);
  }
  double of_relations(std::int64_t mixed, std::int64_t in_halves) const {
    return relation * static_cast<double>(mixed) + half_relation * static_cast<double>(in_halves);
  }
  double of_rows(std::int64_t rows, std::int64_t edges) const {
    return row * static_cast<double>(rows) + row_edge * static_cast<double>(edges);
  }
  double of_left_rows(std::int64_t rows, std::int64_t edges) const {
    return left_row * static_cast<double>(rows) + left_edge * static_cast<double>(edges);
  }
};

/// Rows that can be in row tiles: those that have edges, but no parallel ones.
struct TileRows {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> fresh;              ///< sources of each that the row before it in the list does not have
  std::vector<std::uint8_t> several_relations;  ///< whether it has them
};
TileRows tile_rows(const CscView& edges, std::int64_t num_src, const RowFacts& facts);

/// Full tiles of rows with several relations cost that much less than they seem if their first row is `phase`
/// modulo 16.
struct TilePhase {
  std::int32_t phase = 0;
  double saving = 0;
};

/// Cuts the rows, in order, into tiles of neighbours wherever that is cheaper than the row kernel: the cheapest way of
/// all. O(E + 16 rows).
std::vector<DraftTile> draft_row_tiles(const CscView& edges, std::int64_t num_src, const TileRows& rows,
                                       const TileCosts& costs, const TilePhase& phase = {});

/// Collects rows that are not in `tiled`, block of sources by block, and adds tiles of their parts where that is
/// cheaper. A row is taken with all its edges or not at all. With relations only rows of one relation: a constant in
/// the scores of a row does not change its weights, so such tiles need no relations.
std::vector<DraftTile> draft_segment_tiles(const CscView& edges, const RowFacts& facts,
                                           std::span<const std::uint8_t> tiled, const TileCosts& costs);

}  // namespace bough
