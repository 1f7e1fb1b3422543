#include "kernels/cuda/grouping.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "tests/emulator/device/device_memory.h"

/// Stands in for kernels/cuda/grouping.cu, which uses CUB and Thrust. What is asked of them is tested in thrust_test.
namespace bough {
namespace {

/// order = 0 .. count - 1 by what key_of gives, those of equal keys in their order; offsets by row_of.
template <typename KeyOf, typename RowOf>
void sort_entries(std::int64_t count, std::int64_t num_rows, KeyOf key_of, RowOf row_of, std::int32_t* order,
                  std::int64_t* offsets) {
  const std::span<std::int32_t> entries(order, static_cast<std::size_t>(count));
  std::iota(entries.begin(), entries.end(), 0);
  std::ranges::stable_sort(entries, {}, key_of);
  for (std::int64_t row = 0; row <= num_rows; ++row) {
    offsets[row] = std::ranges::lower_bound(entries, row, {}, row_of) - entries.begin();
  }
}

}  // namespace

void compress_edges(Cuda gpu, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
                    std::int64_t num_rows, std::int64_t, std::int64_t* offsets, std::int32_t* indices,
                    std::int32_t* edge_ids) {
  const emulator::DeviceAccess access(gpu.device);
  sort_entries(
      edges, num_rows, [&](std::int32_t edge) { return std::pair(rows[edge], neighbours[edge]); },
      [&](std::int32_t edge) -> std::int64_t { return rows[edge]; }, edge_ids, offsets);
  for (std::int64_t i = 0; i < edges; ++i) indices[i] = neighbours[edge_ids[i]];
}

template <typename Index>
void group_rows(Cuda gpu, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets) {
  emulator::run_or_capture([=] {
    const emulator::DeviceAccess access(gpu.device);
    const auto row_of = [&](std::int32_t position) -> std::int64_t { return index[position]; };
    sort_entries(count, num_rows, row_of, row_of, order, offsets);
  });
}

RowItemCounts count_row_items(Cuda gpu, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                              std::int64_t*, std::int64_t*) {
  const emulator::DeviceAccess access(gpu.device);
  const simt::RowItems items = simt::make_row_items({offsets, static_cast<std::size_t>(num_rows) + 1}, split_edges);
  return {items.num_partials, static_cast<std::int64_t>(items.split_rows.size())};
}

void fill_row_items(Cuda gpu, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                    const std::int64_t*, const std::int64_t*, const RowItemCounts&, simt::RowItem* items,
                    simt::SplitRowItem* split_rows) {
  const emulator::DeviceAccess access(gpu.device);
  const simt::RowItems made = simt::make_row_items({offsets, static_cast<std::size_t>(num_rows) + 1}, split_edges);
  std::ranges::copy(made.items, items);
  std::ranges::copy(made.split_rows, split_rows);
}

template void group_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);
template void group_rows(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);

}  // namespace bough
