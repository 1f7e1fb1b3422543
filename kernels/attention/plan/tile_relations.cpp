#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

constexpr std::int32_t absent = -1;
/// Folded columns between mixed ones are treated as mixed if they are fewer: the mixed columns that they would
/// cut in two cost more.
constexpr std::int32_t least_folded_columns = 4;

/// relations[column * 16 + lane], absent where there is no edge.
std::vector<std::int32_t> relation_matrix(const CscView& edges, std::span<const std::int32_t> edge_types,
                                          const DraftTile& tile, std::span<const std::int32_t> sources) {
  std::vector<std::int32_t> relations(sources.size() * tile_lanes, absent);
  for (std::size_t lane = 0; lane < as_size(tile.num_lanes); ++lane) {
    std::size_t column = 0;
    for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
      while (sources[column] != edges.indices[as_size(e)]) ++column;
      relations[column * tile_lanes + lane] = edge_types[as_size(edges.edge_ids[as_size(e)])];
    }
  }
  return relations;
}

constexpr std::int32_t several = -2;

/// The one relation of some lanes of a column; absent if these have no edge, `several` if there are several.
std::int32_t only_relation(std::span<const std::int32_t> column) {
  std::int32_t found = absent;
  for (const std::int32_t relation : column) {
    if (relation == absent || relation == found) continue;
    if (found != absent) return several;
    found = relation;
  }
  return found;
}

/// The relations of both lane groups in some columns; nothing if a lane group has several in a column.
std::vector<std::array<std::int32_t, lane_groups>> group_relations(std::int32_t begin, std::int32_t end,
                                                                   std::span<const std::int32_t> matrix) {
  std::vector<std::array<std::int32_t, lane_groups>> relations;
  for (std::int32_t c = begin; c < end; ++c) {
    const auto column = matrix.subspan(as_size(c) * tile_lanes, tile_lanes);
    const std::int32_t low = only_relation(column.first(lane_group_size)),
                       high = only_relation(column.last(lane_group_size));
    if (low == several || high == several) return {};
    // A lane group without an edge may have any.
    relations.push_back({low == absent ? high : low, high == absent ? low : high});
  }
  return relations;
}

/// Columns of consecutive sources, mixed or not.
struct ColumnSpan {
  std::int32_t begin = 0, end = 0;
  bool mixed = false;
};

/// Cuts the columns where sources are not consecutive or where folded and mixed columns meet.
std::vector<ColumnSpan> cut_columns(std::span<const std::int32_t> sources, std::span<const std::int32_t> only) {
  std::vector<ColumnSpan> spans;
  const auto count = static_cast<std::int32_t>(sources.size());
  for (std::int32_t span_begin = 0; span_begin < count;) {
    std::int32_t span_end = span_begin + 1;
    while (span_end < count && sources[as_size(span_end)] == sources[as_size(span_end) - 1] + 1) ++span_end;
    const std::size_t first_of_span = spans.size();
    for (std::int32_t begin = span_begin; begin < span_end;) {
      const bool mixed = only[as_size(begin)] == several;
      std::int32_t end = begin + 1;
      while (end < span_end && (only[as_size(end)] == several) == mixed) ++end;
      const bool has_neighbour = spans.size() > first_of_span || end < span_end;
      const bool joins = has_neighbour && (mixed || end - begin < least_folded_columns);
      if (joins && spans.size() > first_of_span && spans.back().mixed) {
        spans.back().end = end;
      } else {
        spans.push_back({begin, end, mixed || joins});
      }
      begin = end;
    }
    span_begin = span_end;
  }
  return spans;
}

/// The relations of one lane in consecutive mixed columns, from its first to its last edge; absent in gaps.
struct LaneRun {
  std::int32_t lane = 0;   ///< in TileRelations::lanes
  std::int32_t begin = 0;  ///< counted from the first of these columns
  std::vector<std::int32_t> relations;
};

std::vector<LaneRun> lane_runs(const TileRelations& tile, std::span<const std::int32_t> matrix) {
  std::vector<LaneRun> runs;
  for (const TileRelations::MixedColumns& mixed : tile.mixed_columns) {
    for (std::int32_t lane = 0; lane < tile_lanes; ++lane) {
      LaneRun run{mixed.lanes + lane, 0, {}};
      std::size_t size = 0;
      for (std::int32_t c = mixed.column_begin; c < mixed.column_end; ++c) {
        const std::int32_t relation = matrix[as_size(c) * tile_lanes + as_size(lane)];
        if (relation == absent && run.relations.empty()) continue;
        if (run.relations.empty()) run.begin = c - mixed.column_begin;
        run.relations.push_back(relation);
        if (relation != absent) size = run.relations.size();
      }
      run.relations.resize(size);
      if (size > 0) runs.push_back(std::move(run));
    }
  }
  return runs;
}

/// Where `part` stands in `run`, or -1.
std::int32_t find_part(std::span<const std::int32_t> part, std::span<const std::int32_t> run) {
  const auto matches = [](std::int32_t wanted, std::int32_t there) { return wanted == absent || wanted == there; };
  for (std::size_t shift = 0; shift + part.size() <= run.size(); ++shift) {
    if (std::equal(part.begin(), part.end(), run.begin() + static_cast<std::ptrdiff_t>(shift), matches)) {
      return static_cast<std::int32_t>(shift);
    }
  }
  return -1;
}

/// Finds the run in the list or appends it; `run` is where to look first, and the place found.
std::int32_t place_run(std::span<const std::int32_t> part, std::vector<std::vector<std::int32_t>>& runs,
                       std::int32_t& run) {
  if (run >= 0) {
    if (const std::int32_t shift = find_part(part, runs[as_size(run)]); shift >= 0) return shift;
  }
  for (run = 0; run < static_cast<std::int32_t>(runs.size()); ++run) {
    if (const std::int32_t shift = find_part(part, runs[as_size(run)]); shift >= 0) return shift;
  }
  runs.emplace_back(part.begin(), part.end());
  std::ranges::replace(runs.back(), absent, 0);
  return 0;
}

}  // namespace

double tile_cost(const TileCosts& costs, const DraftTile& tile, const TileColumns& columns,
                 const TileRelations& relations, const AttentionPlanOptions& options) {
  if (!options.relation_runs && !relations.mixed_columns.empty()) return std::numeric_limits<double>::infinity();
  // As if every column of one lane group found one of the other; some of another kind or staged block do not.
  std::int64_t products = 0, only_low = 0, only_high = 0;
  for (const std::vector<std::int32_t>& run : relations.runs) products += static_cast<std::int64_t>(run.size());
  for (const LaneMask mask : columns.masks) {
    only_low += (mask & lane_group_masks[1]) == 0;
    only_high += (mask & lane_group_masks[0]) == 0;
  }
  const std::int64_t folded_in_pairs = std::ranges::count_if(
      relations.column_relations, [](const auto& of_groups) { return of_groups[0] != of_groups[1]; });
  const auto count = static_cast<std::int64_t>(columns.sources.size()) -
                     (options.pair_lane_groups ? std::min(only_low, only_high) : 0);
  return costs.of_tile(count, tile.num_edges()) + costs.of_relations(products, 2 * folded_in_pairs);
}

TileColumns tile_columns(const CscView& edges, const DraftTile& tile, std::vector<LaneMask>& lanes_of) {
  TileColumns columns;
  for (std::size_t lane = 0; lane < as_size(tile.num_lanes); ++lane) {
    for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
      LaneMask& mask = lanes_of[as_size(edges.indices[as_size(e)])];
      if (mask == 0) columns.sources.push_back(edges.indices[as_size(e)]);
      mask = static_cast<LaneMask>(mask | 1u << lane);
    }
  }
  std::ranges::sort(columns.sources);
  columns.masks.reserve(columns.sources.size());
  for (const std::int32_t source : columns.sources) {
    columns.masks.push_back(lanes_of[as_size(source)]);
    lanes_of[as_size(source)] = 0;
  }
  return columns;
}

TileRelations tile_relations(const CscView& edges, std::span<const std::int32_t> edge_types, const DraftTile& tile,
                             const TileColumns& columns, const AttentionPlanOptions& options) {
  const std::vector<std::int32_t> matrix = relation_matrix(edges, edge_types, tile, columns.sources);
  std::vector<std::int32_t> only(columns.sources.size());
  for (std::size_t c = 0; c < only.size(); ++c) {
    only[c] = options.fold_relations ? only_relation(std::span(matrix).subspan(c * tile_lanes, tile_lanes)) : several;
  }
  TileRelations result;
  result.column_relations.resize(only.size(), {absent, absent});
  for (const ColumnSpan& span : cut_columns(columns.sources, only)) {
    if (const auto of_groups = group_relations(span.begin, span.end, matrix);
        options.fold_relations && !of_groups.empty()) {
      std::ranges::copy(of_groups, result.column_relations.begin() + span.begin);
      continue;
    }
    result.mixed_columns.push_back({span.begin, span.end, static_cast<std::int32_t>(result.lanes.size())});
    result.lanes.resize(result.lanes.size() + tile_lanes);
  }

  // Long runs first: the short ones are often parts of them.
  std::vector<LaneRun> wanted = lane_runs(result, matrix);
  std::ranges::stable_sort(wanted, std::greater(), [](const LaneRun& run) { return run.relations.size(); });
  std::int32_t run = -1;
  for (const LaneRun& part : wanted) {
    const std::int32_t shift = place_run(part.relations, result.runs, run);
    result.lanes[as_size(part.lane)] = {run, shift - part.begin};
  }
  return result;
}

}  // namespace bough
