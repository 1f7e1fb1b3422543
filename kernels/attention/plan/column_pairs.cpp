#include <algorithm>

#include "kernels/attention/plan/planner.h"

namespace bough {
namespace {

/// Columns of one kind, mixed or folded.
struct Arrangement {
  std::vector<std::array<std::int32_t, lane_groups>> singles, paired;  ///< the same or different for the lane groups
  std::vector<std::int32_t> low, high;                                 ///< used by one lane group only, not paired yet

  void add(std::int32_t column, std::uint16_t mask, bool same_relation) {
    const bool in_low = (mask & lane_group_masks[0]) != 0;
    const bool in_high = (mask & lane_group_masks[1]) != 0;
    if (in_low && in_high) {
      (same_relation ? singles : paired).push_back({column, column});
    } else {
      (in_low ? low : high).push_back(column);
    }
  }

  void add(const Arrangement& other) {
    singles.insert(singles.end(), other.singles.begin(), other.singles.end());
    paired.insert(paired.end(), other.paired.begin(), other.paired.end());
    low.insert(low.end(), other.low.begin(), other.low.end());
    high.insert(high.end(), other.high.begin(), other.high.end());
  }

  void pair() {
    const auto count = static_cast<std::ptrdiff_t>(std::min(low.size(), high.size()));
    for (std::ptrdiff_t i = 0; i < count; ++i) paired.push_back({low[as_size(i)], high[as_size(i)]});
    low.erase(low.begin(), low.begin() + count);
    high.erase(high.begin(), high.begin() + count);
  }

  /// Columns that found no partner stay alone.
  void finish(bool pairs) {
    if (pairs) pair();
    for (const std::int32_t column : low) singles.push_back({column, column});
    for (const std::int32_t column : high) singles.push_back({column, column});
    std::ranges::sort(singles);
  }
};

}  // namespace

ColumnPairs pair_columns(const TileColumns& columns, const TileRelations& relations, std::int32_t begin,
                         std::int32_t end, const AttentionPlanOptions& options) {
  Arrangement mixed, folded;
  const auto add_mixed = [&](std::int32_t first, std::int32_t last) {
    Arrangement run;
    for (std::int32_t c = std::max(begin, first); c < std::min(end, last); ++c) {
      run.add(c, columns.masks[as_size(c)], true);
    }
    if (options.pair_lane_groups) run.pair();
    mixed.add(run);
  };
  if (relations.column_relations.empty()) {
    add_mixed(begin, end);
  } else {
    for (const TileRelations::MixedColumns& range : relations.mixed_columns) {
      add_mixed(range.column_begin, range.column_end);
    }
    for (std::int32_t c = begin; c < end; ++c) {
      const auto& [low, high] = relations.column_relations[as_size(c)];
      if (low >= 0) folded.add(c, columns.masks[as_size(c)], low == high);
    }
  }
  mixed.finish(options.pair_lane_groups);
  folded.finish(options.pair_lane_groups);

  ColumnPairs pairs;
  const auto append = [&](const auto& more) {
    pairs.columns.insert(pairs.columns.end(), more.begin(), more.end());
    return static_cast<std::int32_t>(pairs.columns.size());
  };
  pairs.paired_begin = append(mixed.singles);
  pairs.fold_begin = append(mixed.paired);
  pairs.paired_end = append(folded.paired);
  append(folded.singles);
  return pairs;
}

}  // namespace bough
