#include "kernels/attention/plan/tile_relations.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "kernels/attention/plan/attention_plan.h"

namespace bough {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr std::int32_t lanes = DraftTile::most_lanes;
constexpr std::int32_t absent = -1;
/// Folded columns between mixed ones are treated as mixed if they are fewer: the segment that they would cut in two
/// costs more.
constexpr std::int32_t least_folded_columns = 4;

/// relations[column * lanes + lane], absent where there is no edge.
std::vector<std::int32_t> relation_matrix(const CscView& edges, std::span<const std::int32_t> edge_types,
                                          const DraftTile& tile, std::span<const std::int32_t> sources) {
  std::vector<std::int32_t> relations(sources.size() * lanes, absent);
  for (std::size_t lane = 0; lane < index(tile.num_lanes); ++lane) {
    std::size_t column = 0;
    for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
      while (sources[column] != edges.indices[index(e)]) ++column;
      relations[column * lanes + lane] = edge_types[index(edges.edge_ids[index(e)])];
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

/// The relations of both halves of some columns; nothing if a half has several in a column.
std::vector<std::array<std::int32_t, 2>> half_relations(std::int32_t begin, std::int32_t end,
                                                        std::span<const std::int32_t> matrix) {
  std::vector<std::array<std::int32_t, 2>> relations;
  for (std::int32_t c = begin; c < end; ++c) {
    const auto column = matrix.subspan(index(c) * lanes, lanes);
    const std::int32_t low = only_relation(column.first(lanes / 2)), high = only_relation(column.last(lanes / 2));
    if (low == several || high == several) return {};
    // A half without an edge may have any.
    relations.push_back({low == absent ? high : low, high == absent ? low : high});
  }
  return relations;
}

/// Columns of consecutive sources, mixed or not.
struct ColumnRun {
  std::int32_t begin = 0, end = 0;
  bool mixed = false;
};

/// Cuts the columns where sources are not consecutive or where folded and mixed columns meet.
std::vector<ColumnRun> cut_columns(std::span<const std::int32_t> sources, std::span<const std::int32_t> only) {
  std::vector<ColumnRun> runs;
  const auto count = static_cast<std::int32_t>(sources.size());
  for (std::int32_t run_begin = 0; run_begin < count;) {
    std::int32_t run_end = run_begin + 1;
    while (run_end < count && sources[index(run_end)] == sources[index(run_end) - 1] + 1) ++run_end;
    const std::size_t first_of_run = runs.size();
    for (std::int32_t begin = run_begin; begin < run_end;) {
      const bool mixed = only[index(begin)] == several;
      std::int32_t end = begin + 1;
      while (end < run_end && (only[index(end)] == several) == mixed) ++end;
      const bool has_neighbour = runs.size() > first_of_run || end < run_end;
      const bool joins = has_neighbour && (mixed || end - begin < least_folded_columns);
      if (joins && runs.size() > first_of_run && runs.back().mixed) {
        runs.back().end = end;
      } else {
        runs.push_back({begin, end, mixed || joins});
      }
      begin = end;
    }
    run_begin = run_end;
  }
  return runs;
}

/// The relations of one lane in one segment, from its first to its last edge; absent in gaps.
struct LaneWord {
  std::int32_t lane = 0;   ///< in TileRelations::lanes
  std::int32_t begin = 0;  ///< column inside the segment
  std::vector<std::int32_t> relations;
};

std::vector<LaneWord> lane_words(const TileRelations& tile, std::span<const std::int32_t> matrix) {
  std::vector<LaneWord> words;
  for (const TileRelations::Segment& segment : tile.segments) {
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      LaneWord word{segment.lanes + lane, 0, {}};
      std::size_t size = 0;
      for (std::int32_t c = segment.column_begin; c < segment.column_end; ++c) {
        const std::int32_t relation = matrix[index(c) * lanes + index(lane)];
        if (relation == absent && word.relations.empty()) continue;
        if (word.relations.empty()) word.begin = c - segment.column_begin;
        word.relations.push_back(relation);
        if (relation != absent) size = word.relations.size();
      }
      word.relations.resize(size);
      if (size > 0) words.push_back(std::move(word));
    }
  }
  return words;
}

/// Where `part` stands in `word`, or -1.
std::int32_t find_part(std::span<const std::int32_t> part, std::span<const std::int32_t> word) {
  const auto matches = [](std::int32_t wanted, std::int32_t there) { return wanted == absent || wanted == there; };
  for (std::size_t shift = 0; shift + part.size() <= word.size(); ++shift) {
    if (std::equal(part.begin(), part.end(), word.begin() + static_cast<std::ptrdiff_t>(shift), matches)) {
      return static_cast<std::int32_t>(shift);
    }
  }
  return -1;
}

/// Finds the word in the list or appends it; `word` is where to look first, and the place found.
std::int32_t place_word(std::span<const std::int32_t> part, std::vector<std::vector<std::int32_t>>& words,
                        std::int32_t& word) {
  if (word >= 0) {
    if (const std::int32_t shift = find_part(part, words[index(word)]); shift >= 0) return shift;
  }
  for (word = 0; word < static_cast<std::int32_t>(words.size()); ++word) {
    if (const std::int32_t shift = find_part(part, words[index(word)]); shift >= 0) return shift;
  }
  words.emplace_back(part.begin(), part.end());
  std::ranges::replace(words.back(), absent, 0);
  return 0;
}

}  // namespace

double tile_cost(const TileCosts& costs, const DraftTile& tile, const TileColumns& columns,
                 const TileRelations& relations, const AttentionPlanOptions& options) {
  if (!options.relation_runs && !relations.segments.empty()) return std::numeric_limits<double>::infinity();
  // As if every column of one half found one of the other; some of another kind, or in another window, do not.
  std::int64_t products = 0, only_low = 0, only_high = 0;
  for (const std::vector<std::int32_t>& word : relations.words) products += static_cast<std::int64_t>(word.size());
  for (const std::uint16_t mask : columns.masks) {
    only_low += (mask & AttentionPlan::lanes_of_half[1]) == 0;
    only_high += (mask & AttentionPlan::lanes_of_half[0]) == 0;
  }
  const std::int64_t in_halves = std::ranges::count_if(
      relations.column_relations, [](const auto& of_halves) { return of_halves[0] != of_halves[1]; });
  const auto count = static_cast<std::int64_t>(columns.sources.size()) -
                     (options.pair_lane_groups ? std::min(only_low, only_high) : 0);
  return costs.of_tile(count, tile.num_edges()) + costs.of_relations(products, 2 * in_halves);
}

TileColumns tile_columns(const CscView& edges, const DraftTile& tile, std::vector<std::uint16_t>& lanes_of) {
  TileColumns columns;
  for (std::size_t lane = 0; lane < index(tile.num_lanes); ++lane) {
    for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
      std::uint16_t& mask = lanes_of[index(edges.indices[index(e)])];
      if (mask == 0) columns.sources.push_back(edges.indices[index(e)]);
      mask = static_cast<std::uint16_t>(mask | 1u << lane);
    }
  }
  std::ranges::sort(columns.sources);
  columns.masks.reserve(columns.sources.size());
  for (const std::int32_t source : columns.sources) {
    columns.masks.push_back(lanes_of[index(source)]);
    lanes_of[index(source)] = 0;
  }
  return columns;
}

TileRelations tile_relations(const CscView& edges, std::span<const std::int32_t> edge_types, const DraftTile& tile,
                             const TileColumns& columns, const AttentionPlanOptions& options) {
  const std::vector<std::int32_t> matrix = relation_matrix(edges, edge_types, tile, columns.sources);
  std::vector<std::int32_t> only(columns.sources.size());
  for (std::size_t c = 0; c < only.size(); ++c) {
    only[c] = options.fold_relations ? only_relation(std::span(matrix).subspan(c * lanes, lanes)) : several;
  }
  TileRelations result;
  result.column_relations.resize(only.size(), {absent, absent});
  for (const ColumnRun& run : cut_columns(columns.sources, only)) {
    if (const auto halves = half_relations(run.begin, run.end, matrix); options.fold_relations && !halves.empty()) {
      std::ranges::copy(halves, result.column_relations.begin() + run.begin);
      continue;
    }
    result.segments.push_back({run.begin, run.end, static_cast<std::int32_t>(result.lanes.size())});
    result.lanes.resize(result.lanes.size() + lanes);
  }

  // Long words first: the short ones are often parts of them.
  std::vector<LaneWord> wanted = lane_words(result, matrix);
  std::ranges::stable_sort(wanted, std::greater(), [](const LaneWord& word) { return word.relations.size(); });
  std::int32_t word = -1;
  for (const LaneWord& part : wanted) {
    const std::int32_t shift = place_word(part.relations, result.words, word);
    result.lanes[index(part.lane)] = {word, shift - part.begin};
  }
  return result;
}

}  // namespace bough
