#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bough/graph/graph.h"
#include "bough/ops/attention_plan.h"
#include "kernels/attention/plan/row_schedule.h"
#include "kernels/attention/tile_size.h"

/// How attention walks over a graph. kernels/attention/README.md explains it with a picture.
///
/// Neighbouring destinations of an attention graph share most of their sources. A tile is up to 16 destinations (lanes)
/// and the union of their sources (columns), with a mask of lanes for each column; a kernel computes all lanes of a
/// column at once. Rows that share little stay with the row kernel.
///
/// Sources that only the low lane group has are paired with sources that only the high lane group has: a column has a
/// source, and a relation, for each lane group, which are mostly the same.
///
/// Row tiles hold neighbouring rows with all their edges. Segment tiles hold rows that share sources with rows far away
/// (the spans above a block of tokens, say): all edges of these rows from one block of sources. A row of segment tiles
/// is a split row: its partial results are merged in the order of the blocks.
///
/// Consecutive tiles form a work item, which copies keys and values of its sources once into a staged block that stays
/// in the cache; a work item whose sources do not fit has several staged blocks. Work items are grouped into
/// partitions, which run one after the other inside, so that gradients of sources can be added up without conflicts.
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
  bool prefetch_blocks = true;      ///< off: the next staged block is not asked for ahead of time
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
  /// Relations of a dictionary that are multiplied with queries together: one for each lane of a packed block.
  static constexpr std::int32_t dictionary_block = tile_lanes;
  /// Number of columns whose scores are held at once.
  static constexpr std::int32_t most_block_columns = 128;
  static_assert(most_block_columns % column_multiple == 0);
  /// Number of mixed columns whose relations are looked up together.
  static constexpr std::int32_t most_mixed_columns = lane_group_size;

  /// Unused lanes come last and have row -1. A partial of -1 means that the tile has all edges of the row.
  struct Tile {
    std::array<std::int32_t, tile_lanes> rows;
    std::array<std::int32_t, tile_lanes> partials;
    std::int32_t num_lanes = 0;
    /// The blocks of the work item's dictionary that the tile uses: dictionary_blocks[dictionary_block_begin] ..
    /// dictionary_blocks[dictionary_block_end - 1].
    std::int32_t dictionary_block_begin = 0, dictionary_block_end = 0;
    bool whole = false;  ///< one column block has all edges of all its rows
  };

  /// A few columns in which a lane group may have several relations: that of (column c, lane i), where there is an
  /// edge, stands at dictionary_places[place_begin + i] + c - column_begin of the tile's blocks of the dictionary.
  /// Where a lane has no edge this may be up to most_mixed_columns places before or after these blocks.
  struct MixedColumns {
    std::int32_t column_begin = 0, column_end = 0;  ///< inside the column block
    std::int32_t place_begin = 0;
  };

  /// Columns of one tile in one staged block. First those with one source that are mixed or have no relation; then
  /// those with two sources of this kind; then folded columns with a source or a relation for each lane group; last
  /// folded columns with one source and one relation.
  struct ColumnBlock {
    std::int32_t tile = 0;
    bool first = false, last = false;  ///< of the tile
    std::int64_t column_begin = 0;
    std::int32_t num_columns = 0;
    /// Columns between these have two sources or two relations.
    std::int32_t paired_begin = 0, paired_end = 0;
    /// Columns from here on are folded: they have relations in column_relations, which can be added to their keys.
    std::int32_t fold_begin = 0;
    /// The columns (inside the block) that each quad uses: quad_columns[quad_begin[q]] .. [quad_begin[q + 1] - 1].
    std::array<std::int64_t, quads + 1> quad_begin{};
    std::int32_t mixed_begin = 0, mixed_end = 0;
  };

  /// Sources whose keys and values are copied into the cache together, and the column blocks that read them.
  struct StagedBlock {
    std::int64_t source_begin = 0;
    std::int32_t num_sources = 0;
    std::int32_t column_block_begin = 0, column_block_end = 0;
  };

  struct WorkItem {
    std::int32_t tile_begin = 0, tile_end = 0;
    std::int32_t staged_begin = 0, staged_end = 0;          ///< its staged blocks
    std::int64_t dictionary_begin = 0, dictionary_end = 0;  ///< in dictionary_relations; whole dictionary blocks
  };

  /// Where a partition adds the gradient of a source of a staged block.
  struct ScatterAdd {
    std::int32_t target = 0;  ///< a source if only this partition has it, else the number of a partial buffer
    bool shared = false;      ///< whether the target is a partial buffer
    bool first = false;       ///< nothing has been added there yet
  };

  struct Partition {
    std::int32_t work_item_begin = 0, work_item_end = 0;
  };

  /// A source that several partitions have: the sum of its partial buffers is its gradient.
  struct SharedSource {
    std::int32_t source = 0;
    std::int32_t buffer_begin = 0, buffer_end = 0;
  };

  bool with_relations = false;
  bool prefetch_blocks = true;  ///< whether kernels ask for the next staged block ahead of time
  std::vector<Tile> tiles;
  std::vector<WorkItem> work_items;
  std::vector<StagedBlock> staged_blocks;
  std::vector<std::int32_t> staged_sources;  ///< each once and ascending in every staged block
  std::vector<ScatterAdd> scatter_adds;      ///< for each of staged_sources
  std::vector<ColumnBlock> column_blocks;
  std::vector<std::uint16_t> column_rows;      ///< [column, lane group]: the source's row in the staged block
  std::vector<LaneMask> column_masks;          ///< lanes that have the edge
  std::vector<std::int32_t> column_relations;  ///< [column, lane group], only with relations; -1 before fold_begin
  std::vector<std::uint16_t> quad_columns;
  std::vector<MixedColumns> mixed_columns;  ///< only with relations
  std::vector<std::int32_t> dictionary_places;
  std::vector<std::int32_t> dictionary_relations;  ///< relation runs, each once in a work item
  std::vector<std::int32_t> dictionary_blocks;     ///< numbers of dictionary blocks in the work item's dictionary
  std::vector<Partition> partitions;
  std::vector<SharedSource> shared_sources;
  std::int32_t num_partial_buffers = 0;
  std::vector<std::int32_t> untouched_sources;  ///< sources that no tile has

  std::vector<SplitAttentionRow> split_rows;  ///< rows of segment tiles, and where their partial results are
  std::int32_t num_partials = 0;

  /// What is left to the row kernel: rows by destination, and their edges by source.
  RowSchedule rows;
  std::vector<std::int64_t> row_edge_offsets;  ///< by source; empty if every row is left, or none
  std::vector<std::int32_t> row_edge_destinations, row_edge_ids;
  RowSchedule row_sources;
  CompressedView row_edges_by_source() const;
  bool has_tiles() const { return !tiles.empty(); }
  bool has_rows() const { return !rows.items.empty(); }

  AttentionPlanSummary summary;

  std::int64_t memory_bytes() const;
};

/// Depends on the edges only. With relations, tiles whose relations follow no pattern are left to the row kernel.
/// O(E), in parallel; the same plan for any number of threads.
AttentionPlan make_attention_plan(const Graph& graph, bool with_relations, const AttentionPlanOptions& options = {});

/// The plan of a graph, made on first use and kept by it. The options count only then: a measurement of another plan
/// asks for it with a graph that has none yet.
std::shared_ptr<const AttentionPlan> attention_plan(const Graph& graph, bool with_relations,
                                                    const AttentionPlanOptions& options = {});

}  // namespace bough
