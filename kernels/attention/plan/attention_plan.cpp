#include "kernels/attention/plan/attention_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

constexpr std::int64_t tiles_per_task = 64;

/// Columns and relations of all tiles. Tiles whose relations make them dearer than the row kernel lose their lanes.
std::vector<PlannedTile> plan_tiles(const Graph& graph, const CscView& edges, bool with_relations,
                                    std::vector<DraftTile> drafts, const TileCosts& costs,
                                    const AttentionPlanOptions& options) {
  std::vector<PlannedTile> tiles(drafts.size());
  const std::int64_t chunk = std::max(tiles_per_task, graph.num_src() / 64);
  parallel_chunks(static_cast<std::int64_t>(drafts.size()), chunk, [&](std::int64_t first, std::int64_t last) {
    std::vector<LaneMask> lanes_of(as_size(graph.num_src()), 0);
    for (std::int64_t t = first; t < last; ++t) {
      PlannedTile& tile = tiles[as_size(t)];
      tile.draft = drafts[as_size(t)];
      tile.columns = tile_columns(edges, tile.draft, lanes_of);
      if (!with_relations || tile.draft.segment) continue;
      tile.relations = tile_relations(edges, graph.edge_types(), tile.draft, tile.columns, options);
      const double by_rows = costs.of_rows(tile.draft.num_lanes, tile.draft.num_edges());
      if (tile_cost(costs, tile.draft, tile.columns, tile.relations, options) > by_rows) tile.draft.num_lanes = 0;
    }
  });
  std::erase_if(tiles, [](const PlannedTile& tile) { return tile.draft.num_lanes == 0; });
  return tiles;
}

/// Rows that no tile has, as ranges.
std::vector<RowRange> rows_without_tile(std::span<const std::uint8_t> tiled) {
  std::vector<RowRange> ranges;
  const auto count = static_cast<std::int32_t>(tiled.size());
  for (std::int32_t row = 0; row < count; ++row) {
    if (tiled[as_size(row)] != 0) continue;
    if (!ranges.empty() && ranges.back().end == row) {
      ++ranges.back().end;
    } else {
      ranges.push_back({row, row + 1});
    }
  }
  return ranges;
}

/// The edges of rows without tiles, grouped by source.
void list_row_edges(const Graph& graph, std::span<const std::uint8_t> tiled, const RowScheduleOptions& schedule,
                    AttentionPlan& plan) {
  const CsrView by_source = graph.csr();
  plan.row_edge_offsets.push_back(0);
  for (std::int64_t source = 0; source < by_source.num_rows(); ++source) {
    for (std::int64_t e = by_source.offsets[as_size(source)]; e < by_source.offsets[as_size(source) + 1]; ++e) {
      if (tiled[as_size(by_source.indices[as_size(e)])] != 0) continue;
      plan.row_edge_destinations.push_back(by_source.indices[as_size(e)]);
      plan.row_edge_ids.push_back(by_source.edge_ids[as_size(e)]);
    }
    plan.row_edge_offsets.push_back(static_cast<std::int64_t>(plan.row_edge_ids.size()));
  }
  plan.row_sources = make_row_schedule(plan.row_edges_by_source(), schedule);
}

template <typename T>
std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(T));
}

}  // namespace

CompressedView AttentionPlan::row_edges_by_source() const {
  return {row_edge_offsets, row_edge_destinations, row_edge_ids};
}

std::int64_t AttentionPlan::memory_bytes() const {
  return bytes_of(tiles) + bytes_of(work_items) + bytes_of(staged_blocks) + bytes_of(staged_sources) +
         bytes_of(scatter_adds) + bytes_of(column_blocks) + bytes_of(column_rows) + bytes_of(column_masks) +
         bytes_of(column_relations) + bytes_of(quad_columns) + bytes_of(mixed_columns) + bytes_of(dictionary_places) +
         bytes_of(dictionary_relations) + bytes_of(dictionary_blocks) + bytes_of(partitions) +
         bytes_of(shared_sources) + bytes_of(untouched_sources) + bytes_of(split_rows) + bytes_of(row_edge_offsets) +
         bytes_of(row_edge_destinations) + bytes_of(row_edge_ids) + rows.memory_bytes() + row_sources.memory_bytes();
}

AttentionPlan make_attention_plan(const Graph& graph, bool with_relations, const AttentionPlanOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const CscView edges = graph.csc();
  const TileCosts costs;
  const RowFacts facts = row_facts(edges, with_relations ? graph.edge_types() : std::span<const std::int32_t>());
  std::vector<std::uint8_t> tiled(as_size(graph.num_dst()), 0);
  const auto mark = [&](const auto& tiles, const auto& draft_of) {
    std::ranges::fill(tiled, std::uint8_t{0});
    for (const auto& tile : tiles) {
      const DraftTile& draft = draft_of(tile);
      for (std::size_t lane = 0; lane < as_size(draft.num_lanes); ++lane) tiled[as_size(draft.rows[lane])] = 1;
    }
  };
  const TileRows rows = tile_rows(edges, graph.num_src(), facts);
  std::vector<DraftTile> drafts;
  if (options.tiles) drafts = draft_row_tiles(edges, graph.num_src(), rows, costs);
  if (with_relations && options.row_offset) {
    const TileRowOffset offset = find_row_offset(edges, graph.num_src(), graph.edge_types(), drafts, costs, options);
    if (offset.saving > 0) drafts = draft_row_tiles(edges, graph.num_src(), rows, costs, offset);
  }
  mark(drafts, [](const DraftTile& tile) -> const DraftTile& { return tile; });
  if (options.tiles && options.segment_tiles) {
    for (DraftTile& tile : draft_segment_tiles(edges, facts, tiled, costs)) drafts.push_back(tile);
  }
  std::ranges::stable_sort(drafts, {}, &DraftTile::key);
  const std::vector<PlannedTile> tiles = plan_tiles(graph, edges, with_relations, std::move(drafts), costs, options);
  mark(tiles, [](const PlannedTile& tile) -> const DraftTile& { return tile.draft; });

  AttentionPlan plan;
  plan.with_relations = with_relations;
  plan.prefetch_blocks = options.prefetch_blocks;
  arrange_work_items(tiles, graph.num_src(), graph.num_dst(), options, plan);
  RowScheduleOptions schedule;
  if (!options.split_rows) schedule.split_edges = std::numeric_limits<std::int64_t>::max();
  plan.rows = make_row_schedule(edges, rows_without_tile(tiled), schedule);
  if (plan.has_tiles() && plan.has_rows()) list_row_edges(graph, tiled, schedule, plan);

  AttentionPlanSummary& summary = plan.summary;
  summary.tiles = static_cast<std::int64_t>(tiles.size());
  for (const PlannedTile& tile : tiles) {
    summary.segment_tiles += tile.draft.segment;
    summary.tile_edges += tile.draft.num_edges();
  }
  summary.columns = static_cast<std::int64_t>(plan.column_masks.size());
  summary.places = summary.columns * tile_lanes;
  summary.row_edges = graph.num_edges() - summary.tile_edges;
  for (std::int64_t row = 0; row < graph.num_dst(); ++row) {
    summary.rows_left += tiled[as_size(row)] == 0 && edges.degree(row) > 0;
  }
  summary.split_rows = static_cast<std::int64_t>(plan.split_rows.size() + plan.rows.split_rows.size());
  summary.staged_blocks = static_cast<std::int64_t>(plan.staged_blocks.size());
  summary.staged_sources = static_cast<std::int64_t>(plan.staged_sources.size());
  summary.dictionary_relations = static_cast<std::int64_t>(plan.dictionary_relations.size());
  summary.partitions = static_cast<std::int64_t>(plan.partitions.size());
  summary.bytes = plan.memory_bytes();
  summary.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

std::shared_ptr<const AttentionPlan> attention_plan(const Graph& graph, bool with_relations,
                                                    const AttentionPlanOptions& options) {
  return graph.cached<AttentionPlan>([&] { return make_attention_plan(graph, with_relations, options); },
                                     with_relations ? 1 : 0);
}

AttentionPlanSummary attention_plan_summary(const Graph& graph, bool with_relations) {
  if (with_relations && graph.num_edges() > 0 && graph.edge_types().empty()) {
    throw GraphError("attention_plan_summary", "relations were asked for, but the graph has no edge types");
  }
  return attention_plan(graph, with_relations)->summary;
}

std::string to_string(const AttentionPlanSummary& s) {
  return fmt::format(
      "tiles            {} ({} of parts of rows)\n"
      "columns          {} ({:.1f} a tile)\n"
      "fill             {:.2f}\n"
      "edges in tiles   {} ({:.1f}%)\n"
      "left to rows     {} rows, {} edges\n"
      "options          tiles take relation keys and dropout; a call with any other runs by rows\n"
      "split rows       {}\n"
      "staged blocks    {} ({} sources)\n"
      "dictionary       {} relations\n"
      "partitions       {}\n"
      "bytes            {}\n"
      "milliseconds     {:.2f}\n",
      s.tiles, s.segment_tiles, s.columns,
      s.tiles == 0 ? 0.0 : static_cast<double>(s.columns) / static_cast<double>(s.tiles), s.fill(), s.tile_edges,
      100 * s.tiled_share(), s.rows_left, s.row_edges, s.split_rows, s.staged_blocks, s.staged_sources,
      s.dictionary_relations, s.partitions, s.bytes, s.milliseconds);
}

}  // namespace bough
