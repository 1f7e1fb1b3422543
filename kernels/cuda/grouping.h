#pragma once

#include <cstdint>

#include "bough/detail/simt/row_items.h"
#include "kernels/backend.h"

/// Sorting and prefix sums on a GPU; all arrays are in its memory. See kernels/thrust for what they do. DeviceError
/// names the operation and how much it was asked for.
namespace bough {

/// Edges grouped by row, then by neighbour, then as they were given: offsets [num_rows + 1], indices and edge_ids
/// [edges].
void compress_edges(Cuda, const std::int32_t* rows, const std::int32_t* neighbours, std::int64_t edges,
                    std::int64_t num_rows, std::int64_t num_neighbours, std::int64_t* offsets, std::int32_t* indices,
                    std::int32_t* edge_ids);

/// An index sorted by row: order [count], offsets [num_rows + 1]. Index: int32 and int64.
template <typename Index>
void group_rows(Cuda, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets);

/// How rows are shared out among warps: see simt::make_row_items, which gives the same.
struct RowItemCounts {
  std::int64_t partials = 0, split_rows = 0;
};
/// Also writes how many splits and split rows come before each row [num_rows + 1], for fill_row_items. Waits for the
/// GPU.
RowItemCounts count_row_items(Cuda, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                              std::int64_t* partials_before, std::int64_t* split_rows_before);
/// items [partials + num_rows - split_rows], split_rows [split_rows].
void fill_row_items(Cuda, const std::int64_t* offsets, std::int64_t num_rows, std::int64_t split_edges,
                    const std::int64_t* partials_before, const std::int64_t* split_rows_before,
                    const RowItemCounts& counts, simt::RowItem* items, simt::SplitRowItem* split_rows);

}  // namespace bough
