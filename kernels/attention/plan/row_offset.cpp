#include <algorithm>
#include <array>

#include "bough/core/parallel.h"
#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

constexpr std::int64_t offsets = tile_lanes;
constexpr std::int64_t most_samples = 4;
/// One in so many drafted tiles is looked at, so that small graphs are planned quickly.
constexpr std::int64_t tiles_per_sample = 32;

/// The first rows of tiles of 16 neighbouring rows that such a tile follows: rows for a full tile at each row offset.
std::vector<std::int32_t> first_rows_of_samples(std::span<const DraftTile> drafts) {
  std::vector<std::int32_t> rows;
  const auto full = [](const DraftTile& tile) {
    return tile.num_lanes == tile_lanes && tile.rows.back() - tile.rows.front() == offsets - 1;
  };
  for (std::size_t t = 0; t + 1 < drafts.size(); ++t) {
    if (full(drafts[t]) && full(drafts[t + 1]) && drafts[t + 1].rows.front() == drafts[t].rows.front() + offsets) {
      rows.push_back(drafts[t].rows.front());
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t samples = std::min(most_samples, count / tiles_per_sample);
  // From the second half: the first rows of a causal graph have few edges.
  std::vector<std::int32_t> picked;
  for (std::int64_t i = 0; i < samples; ++i) picked.push_back(rows[as_size(count / 2 + count * i / (2 * samples))]);
  return picked;
}

}  // namespace

TileRowOffset find_row_offset(const CscView& edges, std::int64_t num_src, std::span<const std::int32_t> edge_types,
                              std::span<const DraftTile> drafts, const TileCosts& costs,
                              const AttentionPlanOptions& options) {
  const std::vector<std::int32_t> samples = first_rows_of_samples(drafts);
  if (samples.empty()) return {};
  const auto count = static_cast<std::int64_t>(samples.size());
  std::vector<double> cost(as_size(count * offsets));
  parallel_chunks(count * offsets, offsets / 2, [&](std::int64_t first, std::int64_t last) {
    std::vector<LaneMask> lanes_of(as_size(num_src), 0);
    for (std::int64_t i = first; i < last; ++i) {
      DraftTile tile;
      for (std::int64_t lane = 0; lane < offsets; ++lane) {
        const std::int64_t row = samples[as_size(i / offsets)] + i % offsets + lane;
        tile.add(static_cast<std::int32_t>(row), edges.offsets[as_size(row)], edges.offsets[as_size(row) + 1]);
      }
      const TileColumns columns = tile_columns(edges, tile, lanes_of);
      const TileRelations relations = tile_relations(edges, edge_types, tile, columns, options);
      cost[as_size(i)] = tile_cost(costs, tile, columns, relations, options);
    }
  });
  std::array<double, offsets> of_offset{};
  for (std::int64_t i = 0; i < count * offsets; ++i) {
    const std::int64_t row = samples[as_size(i / offsets)] + i % offsets;
    of_offset[as_size(row % offsets)] += cost[as_size(i)] / static_cast<double>(count);
  }
  const auto best = std::ranges::min_element(of_offset);
  // The other offsets cost about the same as each other.
  auto sorted = of_offset;
  std::ranges::nth_element(sorted, sorted.begin() + offsets / 2);
  return {static_cast<std::int32_t>(best - of_offset.begin()), sorted[as_size(offsets / 2)] - *best};
}

}  // namespace bough
