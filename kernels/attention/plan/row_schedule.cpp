#include "kernels/attention/plan/row_schedule.h"

namespace bough {
namespace {

/// A row without edges still has a result to write.
constexpr std::int64_t row_cost = 4;

void split(std::int32_t row, std::int64_t begin, std::int64_t end, std::int64_t split_edges, RowSchedule& schedule) {
  const std::int32_t first_partial = schedule.num_partials;
  split_rows::for_each_split(begin, end, split_edges, [&](std::int64_t first, std::int64_t last) {
    schedule.items.push_back({row, row + 1, first, last, schedule.num_partials++});
  });
  schedule.split_rows.push_back({row, first_partial, schedule.num_partials - first_partial});
}

}  // namespace

std::int64_t RowSchedule::memory_bytes() const {
  return static_cast<std::int64_t>(items.capacity() * sizeof(AttentionRowItem) +
                                   split_rows.capacity() * sizeof(SplitAttentionRow));
}

RowSchedule make_row_schedule(const CompressedView& view, const RowScheduleOptions& options) {
  const RowRange all{0, static_cast<std::int32_t>(view.num_rows())};
  return make_row_schedule(view, std::span(&all, 1), options);
}

RowSchedule make_row_schedule(const CompressedView& view, std::span<const RowRange> rows,
                              const RowScheduleOptions& options) {
  RowSchedule schedule;
  for (const RowRange& range : rows) {
    const auto offset = [&](std::int32_t row) { return view.offsets[static_cast<std::size_t>(row)]; };
    std::int32_t begin = range.begin;
    std::int64_t cost = 0;
    const auto finish = [&](std::int32_t end) {
      if (begin < end) schedule.items.push_back({begin, end, offset(begin), offset(end), -1});
      begin = end;
      cost = 0;
    };
    for (std::int32_t row = range.begin; row < range.end; ++row) {
      const std::int64_t degree = view.degree(row);
      if (degree > options.split_edges) {
        finish(row);
        split(row, offset(row), offset(row + 1), options.split_edges, schedule);
        begin = row + 1;
        continue;
      }
      cost += degree + row_cost;
      if (cost >= options.item_edges) finish(row + 1);
    }
    finish(range.end);
  }
  return schedule;
}

}  // namespace bough
