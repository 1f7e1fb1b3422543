#pragma once

#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/tabulate.h>

#include "bough/detail/host_device.h"
#include "bough/detail/simt/row_items.h"
#include "kernels/thrust/primitives.h"

/// simt::make_row_items where the offsets are: the same items, by prefix sums.
namespace bough::parallel {

/// Rows and how they are split.
struct RowSplitting {
  const std::int64_t* offsets = nullptr;  ///< rows + 1
  std::int64_t rows = 0, split_edges = 1;

  /// 0 for a row that stays whole, and after the last one.
  BOUGH_HOST_DEVICE std::int64_t partials(std::int64_t row) const {
    const std::int64_t edges = row < rows ? offsets[row + 1] - offsets[row] : 0;
    return edges > split_edges ? (edges + split_edges - 1) / split_edges : 0;
  }
};
/// What a row adds to the number of splits, or to that of split rows.
struct RowShare {
  RowSplitting splitting;
  bool of_split_rows = false;

  BOUGH_HOST_DEVICE std::int64_t operator()(std::int64_t row) const {
    const std::int64_t partials = splitting.partials(row);
    return of_split_rows && partials > 0 ? 1 : partials;
  }
};

/// How many splits and how many split rows come before each row, and after the last one how many there are.
template <Primitives Place>
void count_row_items(Place& place, const RowSplitting& splitting, std::int64_t* partials_before,
                     std::int64_t* split_rows_before) {
  const auto add_up = [&](bool of_split_rows, std::int64_t* sums) {
    // Written out first: CUB's prefix sums of values made on the fly spill registers for some architectures.
    thrust::tabulate(place.policy(), sums, sums + splitting.rows + 1, RowShare{splitting, of_split_rows});
    place.exclusive_sum(sums, sums, splitting.rows + 1);
  };
  add_up(false, partials_before);
  add_up(true, split_rows_before);
}

/// The split of that number.
struct SplitItem {
  RowSplitting splitting;
  const std::int64_t* partials_before;

  BOUGH_HOST_DEVICE simt::RowItem operator()(std::int64_t partial) const {
    std::int64_t row = 0, limit = splitting.rows;  // the last row with so few splits before it that this is its own
    while (limit - row > 1) {
      const std::int64_t middle = row + (limit - row) / 2;
      (partials_before[middle] <= partial ? row : limit) = middle;
    }
    const std::int64_t begin = splitting.offsets[row] + (partial - partials_before[row]) * splitting.split_edges;
    const std::int64_t end = begin + splitting.split_edges, row_end = splitting.offsets[row + 1];
    return {begin, end < row_end ? end : row_end, static_cast<std::int32_t>(row), static_cast<std::int32_t>(partial)};
  }
};

/// What becomes of one row as a whole: an item, or a split row.
struct PlaceRow {
  RowSplitting splitting;
  const std::int64_t* partials_before;
  const std::int64_t* split_rows_before;
  simt::RowItem* items;  ///< of whole rows
  simt::SplitRowItem* split_rows;

  BOUGH_HOST_DEVICE void operator()(std::int64_t row) const {
    const std::int64_t partials = splitting.partials(row), split_before = split_rows_before[row];
    const auto number = static_cast<std::int32_t>(row);
    if (partials == 0) {
      items[row - split_before] = {splitting.offsets[row], splitting.offsets[row + 1], number, -1};
    } else {
      split_rows[split_before] = {number, static_cast<std::int32_t>(partials_before[row]),
                                  static_cast<std::int32_t>(partials)};
    }
  }
};

/// From what count_row_items found: items has room for the splits and the rows that are not split.
template <Primitives Place>
void fill_row_items(Place& place, const RowSplitting& splitting, const std::int64_t* partials_before,
                    const std::int64_t* split_rows_before, std::int64_t num_partials, simt::RowItem* items,
                    simt::SplitRowItem* split_rows) {
  thrust::tabulate(place.policy(), items, items + num_partials, SplitItem{splitting, partials_before});
  thrust::for_each_n(place.policy(), thrust::make_counting_iterator<std::int64_t>(0), splitting.rows,
                     PlaceRow{splitting, partials_before, split_rows_before, items + num_partials, split_rows});
}

}  // namespace bough::parallel
