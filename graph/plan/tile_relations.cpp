#include "graph/plan/tile_relations.h"

#include <algorithm>
#include <utility>

namespace bough {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr std::int32_t lanes = DraftTile::most_lanes;
constexpr std::int32_t absent = -1;
/// Folded columns between mixed ones are treated as mixed if they are fewer: a segment of its own costs more.
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

/// The relations of both halves of each column of a segment; nothing if a half has several in a column.
std::vector<std::int32_t> half_relations(const TileRelations::Segment& segment, std::span<const std::int32_t> matrix) {
  std::vector<std::int32_t> relations;
  for (std::int32_t c = segment.column_begin; c < segment.column_end; ++c) {
    const auto column = matrix.subspan(index(c) * lanes, lanes);
    const std::int32_t low = only_relation(column.first(lanes / 2)), high = only_relation(column.last(lanes / 2));
    if (low == several || high == several) return {};
    // A half without an edge may have any.
    relations.push_back(low == absent ? high : low);
    relations.push_back(high == absent ? low : high);
  }
  return relations;
}

/// Cuts the columns where sources are not consecutive or where folded and mixed columns meet.
std::vector<TileRelations::Segment> cut_segments(std::span<const std::int32_t> sources,
                                                 std::span<const std::int32_t> only) {
  std::vector<TileRelations::Segment> segments;
  const auto count = static_cast<std::int32_t>(sources.size());
  for (std::int32_t run_begin = 0; run_begin < count;) {
    std::int32_t run_end = run_begin + 1;
    while (run_end < count && sources[index(run_end)] == sources[index(run_end) - 1] + 1) ++run_end;
    const std::size_t first_of_run = segments.size();
    for (std::int32_t begin = run_begin; begin < run_end;) {
      const bool mixed = only[index(begin)] == absent;
      std::int32_t end = begin + 1;
      while (end < run_end && (only[index(end)] == absent) == mixed) ++end;
      const bool has_neighbour = segments.size() > first_of_run || end < run_end;
      const bool joins = has_neighbour && (mixed || end - begin < least_folded_columns);
      if (joins && segments.size() > first_of_run && segments.back().mixed) {
        segments.back().column_end = end;
      } else {
        segments.push_back({begin, end, mixed || joins, 0});
      }
      begin = end;
    }
    run_begin = run_end;
  }
  return segments;
}

/// The relations of one lane in one segment, from its first to its last edge; absent in gaps.
struct LaneWord {
  std::int32_t lane = 0;   ///< in TileRelations::lanes
  bool halves = false;     ///< of a segment that has halves
  std::int32_t begin = 0;  ///< column inside the segment
  std::vector<std::int32_t> relations;
};

std::vector<LaneWord> lane_words(const TileRelations& tile, std::span<const std::int32_t> matrix) {
  std::vector<LaneWord> words;
  for (const TileRelations::Segment& segment : tile.segments) {
    if (!segment.mixed) continue;
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      LaneWord word{segment.lanes + lane, segment.halves >= 0, 0, {}};
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
                 const TileRelations& relations) {
  std::int64_t mixed = 0, in_halves = 0;
  for (std::size_t i = 0; i < relations.words.size(); ++i) {
    (i < index(relations.num_mixed_words) ? mixed : in_halves) += static_cast<std::int64_t>(relations.words[i].size());
  }
  return costs.of_tile(static_cast<std::int64_t>(columns.sources.size()), tile.num_edges()) +
         costs.of_relations(mixed, in_halves);
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
                             const TileColumns& columns) {
  const std::vector<std::int32_t> matrix = relation_matrix(edges, edge_types, tile, columns.sources);
  TileRelations result;
  std::vector<std::int32_t>& only = result.column_relations;
  only.resize(columns.sources.size());
  for (std::size_t c = 0; c < only.size(); ++c) {
    const std::int32_t relation = only_relation(std::span(matrix).subspan(c * lanes, lanes));
    only[c] = relation == several ? absent : relation;
  }
  result.segments = cut_segments(columns.sources, only);
  for (TileRelations::Segment& segment : result.segments) {
    if (!segment.mixed) continue;
    std::fill(only.begin() + segment.column_begin, only.begin() + segment.column_end, absent);
    segment.lanes = static_cast<std::int32_t>(result.lanes.size());
    result.lanes.resize(result.lanes.size() + lanes);
    const std::vector<std::int32_t> halves = half_relations(segment, matrix);
    if (halves.empty()) continue;
    segment.halves = static_cast<std::int32_t>(result.half_relations.size());
    result.half_relations.insert(result.half_relations.end(), halves.begin(), halves.end());
  }

  // Long words first: the short ones are often parts of them. Kernels that take halves leave the last words out.
  std::vector<LaneWord> wanted = lane_words(result, matrix);
  std::ranges::stable_sort(wanted, [](const LaneWord& a, const LaneWord& b) {
    return std::pair(!a.halves, a.relations.size()) > std::pair(!b.halves, b.relations.size());
  });
  std::int32_t word = -1;
  for (const LaneWord& part : wanted) {
    const std::int32_t shift = place_word(part.relations, result.words, word);
    result.lanes[index(part.lane)] = {word, shift - part.begin};
    if (!part.halves) result.num_mixed_words = static_cast<std::int32_t>(result.words.size());
  }
  return result;
}

}  // namespace bough
