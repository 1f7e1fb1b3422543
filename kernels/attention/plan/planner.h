#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bough/graph/graph.h"
#include "kernels/attention/plan/attention_plan.h"

/// The steps of make_attention_plan, which is in attention_plan.cpp, in the order in which it takes them; each is one
/// file beside this one. Step 2 decides what is a tile.
namespace bough {

/// An index as the standard library's containers take it, unsigned.
inline std::size_t as_size(std::int64_t i) { return static_cast<std::size_t>(i); }

// 1. Rows (row_tiles.cpp): what is known of each row, and which rows can be in row tiles.

struct RowFacts {
  std::vector<std::uint8_t> parallel_edges;  ///< two edges from the same source
  std::vector<std::uint8_t> one_relation;    ///< all edges have the same type; empty without relations
};
/// Sources of a row ascend in the view, so that parallel edges are neighbours. O(E).
RowFacts row_facts(const CscView& edges, std::span<const std::int32_t> edge_types);

/// Rows that can be in row tiles: those that have edges, but no parallel ones.
struct TileRows {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> fresh;              ///< sources of each that the row before it in the list does not have
  std::vector<std::uint8_t> several_relations;  ///< whether it has them
};
TileRows tile_rows(const CscView& edges, std::int64_t num_src, const RowFacts& facts);

// 2. Row tiles (row_tiles.cpp): neighbouring rows with all their edges.

/// Lanes with their edges, as positions in the CSC view; columns are not known yet.
struct DraftTile {
  std::array<std::int32_t, tile_lanes> rows;
  std::array<std::int64_t, tile_lanes> edge_begin, edge_end;
  std::int32_t num_lanes = 0;
  bool segment = false;  ///< parts of rows; else whole neighbouring rows
  std::int64_t key = 0;  ///< tiles with near keys read near sources

  void add(std::int32_t row, std::int64_t begin, std::int64_t end);
  std::int64_t num_edges() const;
};

/// Costs in cycles of one head of width 64, measured with the kernels in kernels/attention/cpu; only ratios matter.
struct TileCosts {
  double tile = 1200;            ///< packing queries, writing results
  double column = 60;            ///< a column of 16 lanes: scores and exponentials
  double tile_edge = 2.5;        ///< weighted sum
  double dictionary_entry = 34;  ///< a relation of the dictionary, times 16 queries
  double folded_relation = 12;   ///< a relation that is added to keys for one lane group
  double segment_row = 90;       ///< a part of a split row: its partial result is written and merged
  double row = 500;              ///< row kernel
  double row_edge = 36;
  double left_row = 150;  ///< row that is not in a row tile: something between a segment tile and the row kernel
  double left_edge = 14;

  double of_tile(std::int64_t columns, std::int64_t edges) const {
    return tile + column * static_cast<double>(columns) + tile_edge * static_cast<double>(edges);
  }
  double of_relations(std::int64_t listed, std::int64_t folded) const {
    return dictionary_entry * static_cast<double>(listed) + folded_relation * static_cast<double>(folded);
  }
  double of_rows(std::int64_t rows, std::int64_t edges) const {
    return row * static_cast<double>(rows) + row_edge * static_cast<double>(edges);
  }
  double of_left_rows(std::int64_t rows, std::int64_t edges) const {
    return left_row * static_cast<double>(rows) + left_edge * static_cast<double>(edges);
  }
};

/// A full tile of rows with several relations costs that much less than it seems if its first row is `row` modulo 16.
struct TileRowOffset {
  std::int32_t row = 0;
  double saving = 0;
};

/// Cuts the rows, in order, into tiles of neighbours wherever that is cheaper than leaving rows out: the cheapest way
/// of all, where a tile is taken to have the fresh sources of its rows as columns. O(E + 16 rows).
std::vector<DraftTile> draft_row_tiles(const CscView& edges, std::int64_t num_src, const TileRows& rows,
                                       const TileCosts& costs, const TileRowOffset& offset = {});

// 3. Row offset (row_offset.cpp): where full tiles should begin.

/// Looks for the rows where full tiles should begin, from a few of the drafted tiles moved by 0 to 15 rows. Rows of a
/// partition graph whose relations differ by the same steps lie between certain rows: a tile of such rows needs half as
/// many products of queries with relations, or fewer, as one that crosses such a row. Costs as much as planning up to
/// 64 tiles; no saving if there are few tiles.
TileRowOffset find_row_offset(const CscView& edges, std::int64_t num_src, std::span<const std::int32_t> edge_types,
                              std::span<const DraftTile> drafts, const TileCosts& costs,
                              const AttentionPlanOptions& options = {});

// 4. Segment tiles (segment_tiles.cpp): parts of rows that share sources with rows far away.

/// Collects rows that are not in `tiled`, block of 32 sources by block, and adds tiles of their parts where that is
/// cheaper than the row kernel. A row is taken with all its edges or not at all. With relations only rows of one
/// relation: a constant in the scores of a row does not change its weights, so such tiles need no relations.
std::vector<DraftTile> draft_segment_tiles(const CscView& edges, const RowFacts& facts,
                                           std::span<const std::uint8_t> tiled, const TileCosts& costs);

// 5. Columns and relations of a tile (tile_relations.cpp).

/// The sources of a tile and the lanes that have an edge from each.
struct TileColumns {
  std::vector<std::int32_t> sources;  ///< ascending
  std::vector<LaneMask> masks;
};
/// `lanes_of` has an element for each source, all zero before and after.
TileColumns tile_columns(const CscView& edges, const DraftTile& tile, std::vector<LaneMask>& lanes_of);

/// How the relations of a tile's edges can be added without looking at single edges.
///
/// Folded columns: all edges of the low lane group have one relation, and all of the high lane group. Mixed columns:
/// going through consecutive ones, the relations of each lane are a relation run, or a part of one.
struct TileRelations {
  /// Mixed columns of consecutive sources.
  struct MixedColumns {
    std::int32_t column_begin = 0, column_end = 0;
    std::int32_t lanes = 0;  ///< where its 16 lanes begin in `lanes`
  };
  struct Lane {
    std::int32_t run = -1;   ///< -1: no edges in these columns
    std::int32_t shift = 0;  ///< relation of column c = runs[run][c - column_begin + shift] where there is an edge
  };
  std::vector<MixedColumns> mixed_columns;
  std::vector<std::array<std::int32_t, lane_groups>> column_relations;  ///< of both lane groups; -1 in mixed columns
  std::vector<Lane> lanes;
  std::vector<std::vector<std::int32_t>> runs;  ///< relation runs; none is a part of another
};
TileRelations tile_relations(const CscView& edges, std::span<const std::int32_t> edge_types, const DraftTile& tile,
                             const TileColumns& columns, const AttentionPlanOptions& options = {});

/// What a tile costs with its relations: runs are multiplied with each query, folded relations added to keys.
double tile_cost(const TileCosts& costs, const DraftTile& tile, const TileColumns& columns,
                 const TileRelations& relations, const AttentionPlanOptions& options = {});

// 6. Pairs of columns (column_pairs.cpp).

/// Columns of a tile in the order and in the pairs in which kernels take them.
struct ColumnPairs {
  /// The tile's column for the low lane group and for the high one; mostly the same.
  std::vector<std::array<std::int32_t, lane_groups>> columns;
  /// As in AttentionPlan::ColumnBlock.
  std::int32_t paired_begin = 0, paired_end = 0, fold_begin = 0;
};
/// Arranges the columns [begin, end) of a tile. Columns that only the low lane group uses are paired with columns that
/// only the high one uses, mixed with mixed and folded with folded ones; of mixed ones first those that stand together
/// in TileRelations::mixed_columns, so that consecutive pairs have consecutive columns.
ColumnPairs pair_columns(const TileColumns& columns, const TileRelations& relations, std::int32_t begin,
                         std::int32_t end, const AttentionPlanOptions& options = {});

// 7. Relation dictionary (relation_dictionary.cpp).

/// Relation runs of several tiles, each written once: a kernel multiplies queries with the dictionary, a block of
/// AttentionPlan::dictionary_block relations at a time, and each tile picks the blocks that hold its runs.
class RelationDictionary {
 public:
  /// Adds runs that are not there yet, neither whole nor as parts of others.
  void add(const std::vector<std::vector<std::int32_t>>& runs);

  /// What was written, filled up to whole blocks.
  std::vector<std::int32_t> relations() const;

  /// The blocks that hold some runs, ascending, and the place of each run when only these blocks are put in a row.
  struct Part {
    std::vector<std::int32_t> blocks;
    std::vector<std::int32_t> places;
  };
  /// The runs have been added.
  Part part(const std::vector<std::vector<std::int32_t>>& runs) const;

 private:
  std::vector<std::int32_t> relations_;
  std::map<std::vector<std::int32_t>, std::int32_t> places_;
};

// 8. Work items (work_items.cpp).

/// A tile with everything that depends on itself only.
struct PlannedTile {
  DraftTile draft;
  TileColumns columns;
  TileRelations relations;  ///< empty without relations
};
/// Arranges tiles, which come in the order of their keys, in work items with staged blocks, column blocks and a
/// relation dictionary each, and work items in partitions; numbers the partial results of split rows.
/// plan.with_relations is set.
void arrange_work_items(std::span<const PlannedTile> tiles, std::int64_t num_src, std::int64_t num_dst,
                        const AttentionPlanOptions& options, AttentionPlan& plan);

}  // namespace bough
