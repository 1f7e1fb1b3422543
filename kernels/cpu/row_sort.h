#pragma once

#include <cstdint>
#include <span>

#include "kernels/on_device.h"
#include "kernels/scratch.h"

namespace bough {

/// Entries of a row index, sorted by row and, within a row, by where they stood in the index. Row and position share
/// one number, so that sorting moves eight bytes an entry.
struct SortedRows {
  Scratch<std::int64_t> memory;
  std::span<std::int64_t> entries;  ///< in `memory`
  int position_bits = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(entries.size()); }
  std::int64_t row(std::int64_t i) const { return entries[i] >> position_bits; }
  std::int64_t position(std::int64_t i) const { return entries[i] & ((std::int64_t{1} << position_bits) - 1); }
};

/// True if row and position of such an index fit in one entry.
bool can_sort_rows(std::int64_t count, std::int64_t num_rows);

/// Sorts an index whose entries are in 0..num_rows-1 and which can_sort_rows. A parallel radix sort, O(size) per 11
/// bits of num_rows; one look if it is sorted already.
template <typename I>
SortedRows sort_rows(Cpu, std::span<const I> index, std::int64_t num_rows);

/// Leaves out the entries of one row.
void drop_row(Cpu, SortedRows& sorted, std::int64_t row);

/// Renumbers the rows to 0, 1, ... without gaps, writes to `rows` (as large as the index) which row each number stands
/// for, and returns how many there are.
std::int64_t compact_rows(Cpu, SortedRows& sorted, std::span<std::int64_t> rows);

}  // namespace bough
