#include <algorithm>
#include <bit>

#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

/// Sources of one segment tile at most.
constexpr std::int32_t block_sources = 32;
/// Rows with fewer edges in each block they touch cannot pay.
constexpr std::int64_t least_edges_per_block = 3;

/// The edges of a row that come from one block of sources.
struct RowSegment {
  std::int32_t block = 0;
  std::int32_t row = 0;
  std::int64_t begin = 0, end = 0;

  std::int64_t num_edges() const { return end - begin; }
};

std::vector<RowSegment> segments_of(const CscView& edges, std::int32_t row) {
  std::vector<RowSegment> segments;
  const std::int64_t end = edges.offsets[as_size(row) + 1];
  for (std::int64_t e = edges.offsets[as_size(row)]; e < end;) {
    const std::int32_t block = edges.indices[as_size(e)] / block_sources;
    const std::int64_t begin = e;
    while (e < end && edges.indices[as_size(e)] / block_sources == block) ++e;
    segments.push_back({block, row, begin, e});
  }
  return segments;
}

/// Number of different sources of the tile.
std::int64_t count_columns(const CscView& edges, const DraftTile& tile, std::int32_t block) {
  std::uint64_t seen = 0;
  for (std::size_t lane = 0; lane < as_size(tile.num_lanes); ++lane) {
    for (std::int64_t e = tile.edge_begin[lane]; e < tile.edge_end[lane]; ++e) {
      seen |= std::uint64_t{1} << (edges.indices[as_size(e)] - block * block_sources);
    }
  }
  return std::popcount(seen);
}

/// Tiles of the segments of one block: those that have most of the block together, then the others by their first
/// source, so that the rows of a tile overlap. Tiles are about equally full.
std::vector<DraftTile> tiles_of_block(const CscView& edges, std::span<RowSegment> segments) {
  const auto dense = [](const RowSegment& segment) { return segment.num_edges() * 2 >= block_sources; };
  const auto first_source = [&](const RowSegment& segment) { return edges.indices[as_size(segment.begin)]; };
  std::ranges::stable_sort(segments, [&](const RowSegment& a, const RowSegment& b) {
    if (dense(a) != dense(b)) return dense(a);
    return !dense(a) && first_source(a) < first_source(b);
  });
  std::vector<DraftTile> tiles;
  const auto add_tiles = [&](std::span<const RowSegment> some) {
    const std::size_t count = (some.size() + tile_lanes - 1) / tile_lanes;
    for (std::size_t t = 0; t < count; ++t) {
      DraftTile& tile = tiles.emplace_back();
      tile.segment = true;
      tile.key = std::int64_t{some[0].block} * block_sources;
      for (std::size_t i = some.size() * t / count; i < some.size() * (t + 1) / count; ++i) {
        tile.add(some[i].row, some[i].begin, some[i].end);
      }
    }
  };
  const auto sparse = static_cast<std::size_t>(std::ranges::partition_point(segments, dense) - segments.begin());
  add_tiles(segments.first(sparse));
  add_tiles(segments.subspan(sparse));
  return tiles;
}

}  // namespace

std::vector<DraftTile> draft_segment_tiles(const CscView& edges, const RowFacts& facts,
                                           std::span<const std::uint8_t> tiled, const TileCosts& costs) {
  std::vector<RowSegment> segments;
  for (std::int32_t row = 0; row < edges.num_rows(); ++row) {
    if (tiled[as_size(row)] != 0 || edges.degree(row) == 0 || facts.parallel_edges[as_size(row)] != 0) continue;
    if (!facts.one_relation.empty() && facts.one_relation[as_size(row)] == 0) continue;
    const std::vector<RowSegment> parts = segments_of(edges, row);
    const auto blocks = static_cast<std::int64_t>(parts.size());
    // A row inside one block cannot be split into something better, however few edges it has.
    if (blocks > 1 && edges.degree(row) < blocks * least_edges_per_block) continue;
    segments.insert(segments.end(), parts.begin(), parts.end());
  }

  // Rows leave together with tiles that do not pay, which may spoil other tiles; each round drops rows, so it ends.
  std::vector<std::uint8_t> dropped(as_size(edges.num_rows()), 0);
  for (;;) {
    std::erase_if(segments, [&](const RowSegment& segment) { return dropped[as_size(segment.row)] != 0; });
    std::ranges::stable_sort(segments, {}, &RowSegment::block);
    std::vector<DraftTile> tiles;
    bool all_pay = true;
    for (std::size_t begin = 0; begin < segments.size();) {
      std::size_t end = begin;
      while (end < segments.size() && segments[end].block == segments[begin].block) ++end;
      for (const DraftTile& tile : tiles_of_block(edges, std::span(segments).subspan(begin, end - begin))) {
        const std::int64_t num_edges = tile.num_edges();
        const double cost = costs.of_tile(count_columns(edges, tile, segments[begin].block), num_edges) +
                            costs.segment_row * static_cast<double>(tile.num_lanes);
        tiles.push_back(tile);
        if (cost <= costs.of_rows(tile.num_lanes, num_edges)) continue;
        all_pay = false;
        for (std::size_t lane = 0; lane < as_size(tile.num_lanes); ++lane) dropped[as_size(tile.rows[lane])] = 1;
      }
      begin = end;
    }
    if (all_pay) return tiles;
  }
}

}  // namespace bough
