#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bough/graph/graph.h"
#include "bough/ops/attention_plan.h"
#include "kernels/attention/plan/row_schedule.h"

/// How attention walks over a graph.
///
/// Neighbouring destinations of an attention graph share most of their sources. A tile is up to 16 destinations (lanes)
/// and the union of their sources (columns), with a mask of lanes for each column; a kernel computes all lanes of a
/// column at once. Rows that share little stay with the row kernel.
///
/// Sources that only the first eight lanes have are paired with sources that only the others have: a column has a
/// source, and a relation, for each half of the lanes, which are mostly the same.
///
/// Row tiles hold neighbouring rows with all their edges. Segment tiles hold rows that share sources with rows far away
/// (the spans above a block of tokens, say): all edges of these rows from one block of sources; their results are parts
/// that are merged in the order of the blocks.
///
/// Consecutive tiles form a range, which copies the rows of its sources once into a window that stays in the cache;
/// ranges whose sources do not fit have several windows. Ranges are grouped into strands, which run one after the other
/// inside, so that gradients of sources can be added up without conflicts.
namespace bough {

/// The refinements of a plan. All are on; a measurement (`bough bench attention_ablation`) switches one off at a time.
/// Results do not depend on them beyond rounding.
struct AttentionPlanOptions {
  bool tiles = true;                ///< off: every row is left to the row kernel
  bool segment_tiles = true;        ///< off: rows that share sources with rows far away are left to the row kernel
  bool row_offset = true;           ///< off: tiles begin where their sources say, whatever the relations
  bool pair_lane_groups = true;     ///< off: a column has one source for all lanes
  bool fold_relations = true;       ///< off: every relation is looked up in the dictionary, none is added to keys
  bool relation_runs = true;        ///< off: tiles with relations that cannot be folded are left to the row kernel
  bool relation_dictionary = true;  ///< off: every tile of a work item lists its relation runs for itself
  bool stage_blocks = true;         ///< off: every tile copies its keys and values for itself
  bool prefetch_blocks = true;      ///< off: the next block of keys and values is not asked for ahead of time
  bool split_rows = true;           ///< off: the row kernel takes every row whole, however many edges it has
};

/// The refinements by name, for measurements and tests that go through them.
struct AttentionRefinement {
  const char* name;
  bool AttentionPlanOptions::*option;
  bool of_relations = false;  ///< changes nothing in plans without relations
};
inline constexpr AttentionRefinement attention_refinements[] = {
    {"tiles", &AttentionPlanOptions::tiles},
    {"segment_tiles", &AttentionPlanOptions::segment_tiles},
    {"row_offset", &AttentionPlanOptions::row_offset, true},
    {"pair_lane_groups", &AttentionPlanOptions::pair_lane_groups},
    {"fold_relations", &AttentionPlanOptions::fold_relations, true},
    {"relation_runs", &AttentionPlanOptions::relation_runs, true},
    {"relation_dictionary", &AttentionPlanOptions::relation_dictionary, true},
    {"stage_blocks", &AttentionPlanOptions::stage_blocks},
    {"prefetch_blocks", &AttentionPlanOptions::prefetch_blocks},
    {"split_rows", &AttentionPlanOptions::split_rows},
};

struct AttentionPlan {
  static constexpr std::int32_t lanes = 16;
  static constexpr std::int32_t halves = 2, half_lanes = lanes / halves;
  static constexpr std::array<std::uint16_t, halves> lanes_of_half = {0x00ff, 0xff00};
  /// Lanes whose weighted sums are computed together, each group over the columns that it uses.
  static constexpr std::int32_t group_lanes = 4;
  static constexpr std::int32_t groups = lanes / group_lanes;
  /// Relations of a book that are computed together.
  static constexpr std::int32_t block_relations = 16;
  /// Columns whose scores are held at once, at most.
  static constexpr std::int32_t piece_columns = 128;
  /// Columns whose relations are looked up in the book together, at most.
  static constexpr std::int32_t segment_columns = 8;

  /// Unused lanes come last and have row -1. A partial of -1 means that the tile has all edges of the row.
  struct Tile {
    std::array<std::int32_t, lanes> rows;
    std::array<std::int32_t, lanes> partials;
    std::int32_t num_lanes = 0;
    /// The tile's part of its range's book: blocks book_blocks[block_begin] .. book_blocks[block_end - 1].
    std::int32_t block_begin = 0, block_end = 0;
    bool whole = false;  ///< one piece has all edges of all its rows
  };

  /// A few columns whose halves may have several relations: that of (column c, lane i), where there is an edge, stands
  /// at bases[base_begin + i] + c - column_begin of the tile's part of the book. Where a lane has no edge this may be
  /// up to segment_columns places before or after that part.
  struct Segment {
    std::int32_t column_begin = 0, column_end = 0;  ///< inside the piece
    std::int32_t base_begin = 0;
  };

  /// Columns of one tile in one window. First those with one source whose relations are in segments, or none; then
  /// those with two sources of this kind; then columns with one relation for each half; last those with one source and
  /// one relation.
  struct Piece {
    std::int32_t tile = 0;
    bool first = false, last = false;  ///< of the tile
    std::int64_t column_begin = 0;
    std::int32_t num_columns = 0;
    /// Columns between these have two sources or two relations.
    std::int32_t halves_begin = 0, halves_end = 0;
    /// Columns from here on have relations in column_relations, which can be added to their keys.
    std::int32_t fold_begin = 0;
    /// The columns (inside the piece) that each group of lanes uses: entries group_begin[g] .. group_begin[g+1]-1.
    std::array<std::int64_t, groups + 1> group_begin{};
    std::int32_t segment_begin = 0, segment_end = 0;
  };

  struct Window {
    std::int64_t source_begin = 0;
    std::int32_t num_sources = 0;
    std::int32_t piece_begin = 0, piece_end = 0;
  };

  struct Range {
    std::int32_t tile_begin = 0, tile_end = 0;
    std::int32_t window_begin = 0, window_end = 0;
    std::int64_t book_begin = 0, book_end = 0;  ///< in book_relations; a multiple of block_relations
  };

  /// Where a strand adds the gradient of a source of a window.
  struct Flush {
    std::int32_t target = 0;  ///< a source if only this strand has it, else the number of a shared slot
    bool shared = false;
    bool first = false;  ///< nothing has been added there yet
  };

  struct Strand {
    std::int32_t range_begin = 0, range_end = 0;
  };

  /// A source that several strands have: the sum of its slots is its gradient.
  struct SharedSource {
    std::int32_t source = 0;
    std::int32_t slot_begin = 0, slot_end = 0;
  };

  bool with_relations = false;
  bool prefetch_blocks = true;  ///< whether kernels ask for the next block of keys and values ahead of time
  std::vector<Tile> tiles;
  std::vector<Range> ranges;
  std::vector<Window> windows;
  std::vector<std::int32_t> window_sources;  ///< ascending in each window
  std::vector<Flush> flushes;                ///< for each of window_sources
  std::vector<Piece> pieces;
  std::vector<std::uint16_t> column_rows;      ///< [column, half]: place of the source in the window
  std::vector<std::uint16_t> column_masks;     ///< lanes that have the edge
  std::vector<std::int32_t> column_relations;  ///< [column, half], only with relations; -1 before fold_begin
  std::vector<std::uint16_t> group_columns;
  std::vector<Segment> segments;  ///< only with relations
  std::vector<std::int32_t> bases;
  std::vector<std::int32_t> book_relations;  ///< relations in the orders in which mixed segments need them
  std::vector<std::int32_t> book_blocks;     ///< numbers of blocks in the range's book
  std::vector<Strand> strands;
  std::vector<SharedSource> shared_sources;
  std::int32_t num_slots = 0;
  std::vector<std::int32_t> untouched_sources;  ///< sources that no tile has

  std::vector<SplitRow> split_rows;  ///< rows of segment tiles, and where their parts are
  std::int32_t num_partials = 0;

  /// What is left to the row kernel: rows by destination, and their edges by source.
  RowSchedule rows;
  std::vector<std::int64_t> row_edge_offsets;  ///< by source; empty if every row is left, or none
  std::vector<std::int32_t> row_edge_destinations, row_edge_ids;
  RowSchedule row_sources;
  CompressedView row_edges_by_source() const;
  bool has_tiles() const { return !tiles.empty(); }
  bool has_rows() const { return !rows.pieces.empty(); }

  AttentionPlanSummary summary;

  std::int64_t memory_bytes() const;
};

/// Looks at the edges only. With relations, tiles whose relations follow no pattern are left to the row kernel.
/// O(E), in parallel; the same plan for any number of threads.
AttentionPlan make_attention_plan(const Graph& graph, bool with_relations, const AttentionPlanOptions& options = {});

/// The plan of a graph, made on first use and kept by it. The options count only then: who wants to measure another
/// plan asks for it with a graph that has none yet.
std::shared_ptr<const AttentionPlan> attention_plan(const Graph& graph, bool with_relations,
                                                    const AttentionPlanOptions& options = {});

}  // namespace bough
