#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"

/// Sums of rows by an index that has been grouped by row: pieces of neighbouring entries first, whatever rows they
/// belong to, then the rows that lie in several pieces, in order. So a row that occurs very often is as fast as any
/// other.
namespace bough::simt {

/// The entries of row r are order[offsets[r]] .. order[offsets[r + 1] - 1].
struct GroupedIndex {
  const std::int32_t* order = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t count = 0, num_rows = 0;
  std::int64_t skipped = -1;  ///< a row that gets zeros
};

inline constexpr std::int64_t entries_per_piece = 32;

/// A warp for each piece and 32 columns. Rows that lie within a piece go to their place; the others leave a partial
/// sum.
template <typename T>
struct SumPieces {
  static constexpr int block_size = 128;

  GroupedIndex index;
  std::int64_t width = 1;
  const T* values = nullptr;
  T* sums = nullptr;      ///< [num_rows, width]
  T* partials = nullptr;  ///< [pieces, 2, width]: of the row that reaches into the piece or starts it, of a later one

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t column_tiles = blocks_for(width, warp_size), work = warp_number<block_size>(context);
    const std::int64_t piece = work / column_tiles, begin = piece * entries_per_piece;
    const std::int64_t column = work % column_tiles * warp_size + context.lane();
    if (begin >= index.count || column >= width) return;
    const std::int64_t end = begin + entries_per_piece < index.count ? begin + entries_per_piece : index.count;
    std::int64_t row = row_of(context, begin);
    for (std::int64_t position = begin; position < end; ++row) {
      const std::int64_t first = context.load(index.offsets + row), last = context.load(index.offsets + row + 1);
      if (last <= position) continue;
      T sum = 0;
      for (; position < last && position < end; ++position) {
        sum += context.load(values + context.load(index.order + position) * width + column);
      }
      if (first >= begin && last <= end) {
        context.store(sums + row * width + column, row == index.skipped ? T{0} : sum);
      } else {
        context.store(partials + (2 * piece + (first > begin ? 1 : 0)) * width + column, sum);
      }
    }
  }

 private:
  /// The last row that begins at or before a position.
  template <typename Context>
  BOUGH_DEVICE std::int64_t row_of(Context& context, std::int64_t position) const {
    std::int64_t low = 0, high = index.num_rows;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (context.load(index.offsets + middle) <= position) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// A thread for each element of the sums: adds up the partial ones, and writes zeros where a row has no entries.
template <typename T>
struct MergePieces {
  static constexpr int block_size = 256;

  GroupedIndex index;
  std::int64_t width = 1;
  const T* partials = nullptr;
  T* sums = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= index.num_rows * width) return;
    const std::int64_t row = i / width, column = i % width;
    const std::int64_t first = context.load(index.offsets + row), last = context.load(index.offsets + row + 1);
    if (first == last || row == index.skipped) return context.store(sums + i, T{0});
    const std::int64_t first_piece = first / entries_per_piece, last_piece = (last - 1) / entries_per_piece;
    if (first_piece == last_piece) return;
    const bool inside = first > first_piece * entries_per_piece;
    T sum = context.load(partials + (2 * first_piece + (inside ? 1 : 0)) * width + column);
    for (std::int64_t piece = first_piece + 1; piece <= last_piece; ++piece) {
      sum += context.load(partials + 2 * piece * width + column);
    }
    context.store(sums + i, sum);
  }
};

/// Writes every row of sums [num_rows, width]; width >= 1.
template <typename Queue, typename T>
void sum_rows(Queue& queue, const GroupedIndex& index, std::int64_t width, const T* values, T* sums) {
  const std::int64_t pieces = blocks_for(index.count, entries_per_piece);
  const auto partials = queue.template scratch<T>(2 * pieces * width);
  launch_warps(queue, "sum_pieces", pieces * blocks_for(width, warp_size),
               SumPieces<T>{index, width, values, sums, partials.data()});
  launch_threads(queue, "merge_pieces", index.num_rows * width, MergePieces<T>{index, width, partials.data(), sums});
}

}  // namespace bough::simt
