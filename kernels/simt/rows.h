#pragma once

#include <cstddef>
#include <cstdint>

#include "bough/detail/simt/context.h"

/// Rows picked, put and added up by an index.
namespace bough::simt {

/// target[i] = source[index[i]] for rows of `width` units; a thread for each unit, neighbours for neighbours.
template <typename Unit, typename Index>
struct GatherRows {
  static constexpr int block_size = 256;

  const Unit* source = nullptr;
  const Index* index = nullptr;
  Unit* target = nullptr;
  std::int64_t rows = 0, width = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = context.load(index + i / width);
    context.store(target + i, context.load(source + row * width + i % width));
  }
};

/// Rows of `width` bytes, in the largest units that fit.
template <typename Queue, typename Index>
void gather_rows(Queue& queue, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width) {
  const auto gather = [&]<typename Unit>(Unit) {
    using Body = GatherRows<Unit, Index>;
    const std::int64_t units = width / static_cast<std::int64_t>(sizeof(Unit));
    launch_threads(queue, "gather_rows", rows * units,
                   Body{reinterpret_cast<const Unit*>(source), index, reinterpret_cast<Unit*>(target), rows, units});
  };
  const auto fits = [&](std::uintptr_t bytes) {
    return (reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(target) |
            static_cast<std::uintptr_t>(width)) %
               bytes ==
           0;
  };
  if (fits(16)) return gather(Pack<std::uint32_t, 4>{});
  if (fits(4)) return gather(std::uint32_t{});
  gather(std::byte{});
}

/// target[index[i]] = source[i], or zeros without a source; the entries of the index are distinct. A thread for each
/// unit.
template <typename Unit>
struct PutRows {
  static constexpr int block_size = 256;

  const Unit* source = nullptr;
  const std::int32_t* index = nullptr;
  Unit* target = nullptr;
  std::int64_t rows = 0, width = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t row = context.load(index + i / width);
    context.store(target + row * width + i % width, source == nullptr ? Unit{} : context.load(source + i));
  }
};

template <typename Queue, typename Unit>
void put_rows(Queue& queue, const PutRows<Unit>& body) {
  launch_threads(queue, "put_rows", body.rows * body.width, body);
}

/// The entries of row r are order[offsets[r]] .. order[offsets[r + 1] - 1].
struct GroupedIndex {
  const std::int32_t* order = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t count = 0, num_rows = 0;
  std::int64_t skipped = -1;  ///< a row that gets zeros
};

inline constexpr std::int64_t entries_per_partition = 32;

/// Sums of rows by an index that has been grouped by row: partitions of neighbouring entries first, whatever rows they
/// belong to, then the rows that lie in several partitions, in order. So a row that occurs very often is as fast as any
/// other.
///
/// A warp for each partition and 32 columns. Rows that lie within a partition go to their place; the others leave a
/// partial sum.
template <typename T>
struct SumPartitions {
  static constexpr int block_size = 128;

  GroupedIndex index;
  std::int64_t width = 1;
  const T* values = nullptr;
  T* sums = nullptr;  ///< [num_rows, width]
  T* partials =
      nullptr;  ///< [partitions, 2, width]: of the row that reaches into the partition or starts it, of a later one

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t column_tiles = blocks_for(width, warp_size), work = warp_number<block_size>(context);
    const std::int64_t partition = work / column_tiles, begin = partition * entries_per_partition;
    const std::int64_t column = work % column_tiles * warp_size + context.lane();
    if (begin >= index.count || column >= width) return;
    const std::int64_t end = begin + entries_per_partition < index.count ? begin + entries_per_partition : index.count;
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
        context.store(partials + (2 * partition + (first > begin ? 1 : 0)) * width + column, sum);
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
struct MergePartitions {
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
    const std::int64_t first_partition = first / entries_per_partition,
                       last_partition = (last - 1) / entries_per_partition;
    if (first_partition == last_partition) return;
    const bool inside = first > first_partition * entries_per_partition;
    T sum = context.load(partials + (2 * first_partition + (inside ? 1 : 0)) * width + column);
    for (std::int64_t partition = first_partition + 1; partition <= last_partition; ++partition) {
      sum += context.load(partials + 2 * partition * width + column);
    }
    context.store(sums + i, sum);
  }
};

/// Writes every row of sums [num_rows, width]; width >= 1.
template <typename Queue, typename T>
void sum_rows(Queue& queue, const GroupedIndex& index, std::int64_t width, const T* values, T* sums) {
  const std::int64_t partitions = blocks_for(index.count, entries_per_partition);
  const auto partials = queue.template scratch<T>(2 * partitions * width);
  launch_warps(queue, "sum_partitions", partitions * blocks_for(width, warp_size),
               SumPartitions<T>{index, width, values, sums, partials.data()});
  launch_threads(queue, "merge_partitions", index.num_rows * width,
                 MergePartitions<T>{index, width, partials.data(), sums});
}

}  // namespace bough::simt
