#include <algorithm>
#include <limits>

#include "bough/core/parallel.h"
#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

constexpr std::int64_t rows_per_task = 2048;

/// For each of `rows` the number of its sources that the row before it (in the list) does not have.
std::vector<std::int32_t> count_new_sources(const CscView& edges, std::int64_t num_src,
                                            std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> fresh(rows.size());
  const std::int64_t chunk = std::max(rows_per_task, num_src);
  parallel_chunks(static_cast<std::int64_t>(rows.size()), chunk, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::int32_t> seen_by(as_size(num_src), -1);
    const auto visit = [&](std::int64_t i) {
      const std::int64_t row = rows[as_size(i)];
      std::int32_t count = 0;
      for (std::int64_t e = edges.offsets[as_size(row)]; e < edges.offsets[as_size(row) + 1]; ++e) {
        std::int32_t& seen = seen_by[as_size(edges.indices[as_size(e)])];
        count += seen != static_cast<std::int32_t>(i) - 1;
        seen = static_cast<std::int32_t>(i);
      }
      return count;
    };
    if (first > 0) visit(first - 1);
    for (std::int64_t i = first; i < last; ++i) fresh[as_size(i)] = visit(i);
  });
  return fresh;
}

}  // namespace

void DraftTile::add(std::int32_t row, std::int64_t begin, std::int64_t end) {
  const auto lane = as_size(num_lanes++);
  rows[lane] = row;
  edge_begin[lane] = begin;
  edge_end[lane] = end;
}

std::int64_t DraftTile::num_edges() const {
  std::int64_t edges = 0;
  for (std::size_t lane = 0; lane < as_size(num_lanes); ++lane) edges += edge_end[lane] - edge_begin[lane];
  return edges;
}

RowFacts row_facts(const CscView& edges, std::span<const std::int32_t> edge_types) {
  RowFacts facts{std::vector<std::uint8_t>(as_size(edges.num_rows())), {}};
  if (!edge_types.empty()) facts.one_relation.resize(as_size(edges.num_rows()));
  parallel_chunks(edges.num_rows(), rows_per_task, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t begin = edges.offsets[as_size(row)], end = edges.offsets[as_size(row) + 1];
      bool parallel = false, one = true;
      for (std::int64_t e = begin + 1; e < end; ++e)
        parallel |= edges.indices[as_size(e)] == edges.indices[as_size(e) - 1];
      facts.parallel_edges[as_size(row)] = parallel;
      if (edge_types.empty()) continue;
      const auto type = [&](std::int64_t e) { return edge_types[as_size(edges.edge_ids[as_size(e)])]; };
      for (std::int64_t e = begin + 1; e < end && one; ++e) one = type(e) == type(begin);
      facts.one_relation[as_size(row)] = one;
    }
  });
  return facts;
}

TileRows tile_rows(const CscView& edges, std::int64_t num_src, const RowFacts& facts) {
  TileRows result;
  for (std::int64_t row = 0; row < edges.num_rows(); ++row) {
    if (edges.degree(row) == 0 || facts.parallel_edges[as_size(row)] != 0) continue;
    result.rows.push_back(static_cast<std::int32_t>(row));
    result.several_relations.push_back(!facts.one_relation.empty() && facts.one_relation[as_size(row)] == 0);
  }
  result.fresh = count_new_sources(edges, num_src, result.rows);
  return result;
}

std::vector<DraftTile> draft_row_tiles(const CscView& edges, std::int64_t num_src, const TileRows& candidates,
                                       const TileCosts& costs, const TileRowOffset& offset) {
  const auto& [rows, fresh, several_relations] = candidates;
  // best[i]: the lowest cost of the first i rows; length[i]: lanes of the tile that ends there, 0 for the row kernel.
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<double> best(as_size(count) + 1, std::numeric_limits<double>::infinity());
  std::vector<std::uint8_t> length(as_size(count) + 1, 0);
  best[0] = 0;
  for (std::int64_t end = 1; end <= count; ++end) {
    best[as_size(end)] = best[as_size(end) - 1] + costs.of_left_rows(1, edges.degree(rows[as_size(end) - 1]));
    std::int64_t tile_edges = 0, fresh_after_first = 0;
    for (std::int64_t begin = end - 1; begin >= 0 && end - begin <= tile_lanes; --begin) {
      const std::int64_t degree = edges.degree(rows[as_size(begin)]);
      tile_edges += degree;
      const bool at_offset = end - begin == tile_lanes && several_relations[as_size(begin)] != 0 &&
                             several_relations[as_size(end) - 1] != 0 &&
                             rows[as_size(begin)] % tile_lanes == offset.row;
      const double cost = best[as_size(begin)] + costs.of_tile(degree + fresh_after_first, tile_edges) -
                          (at_offset ? offset.saving : 0);
      if (cost < best[as_size(end)]) {
        best[as_size(end)] = cost;
        length[as_size(end)] = static_cast<std::uint8_t>(end - begin);
      }
      fresh_after_first += fresh[as_size(begin)];
    }
  }

  std::vector<DraftTile> tiles;
  for (std::int64_t end = count; end > 0; end -= std::max<std::int64_t>(1, length[as_size(end)])) {
    if (length[as_size(end)] == 0) continue;
    DraftTile& tile = tiles.emplace_back();
    for (std::int64_t i = end - length[as_size(end)]; i < end; ++i) {
      const std::int32_t row = rows[as_size(i)];
      tile.add(row, edges.offsets[as_size(row)], edges.offsets[as_size(row) + 1]);
    }
    // Bipartite graphs number their ends separately; what matters is which sources a tile is near.
    tile.key = edges.num_rows() == num_src ? tile.rows[0] : edges.indices[as_size(tile.edge_begin[0])];
  }
  std::ranges::reverse(tiles);
  return tiles;
}

}  // namespace bough
