#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/cpu/row_sort.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// target[i] = source[index[i]] for rows of bytes; entries of the index are in range.
template <typename I>
void gather_rows(Cpu, Rows<const std::byte> source, std::span<const I> index, Rows<std::byte> target);

/// The same as sorting and sum_rows without sorting: goes through the index once, on the calling thread, and sums in
/// double precision. For rows so narrow that sorting would be most of the work. Entries equal to `skipped` are left
/// out.
template <typename T, typename I>
void add_narrow_rows(Cpu, std::span<const I> index, std::optional<std::int64_t> skipped, Rows<const T> values,
                     Rows<T> target);

/// target[r] = the sum of the values of row r in the order of `sorted`; zeros where there are none. Rows have at least
/// one element.
template <typename T>
void sum_rows(Cpu, const SortedRows& sorted, Rows<const T> values, Rows<T> target);

}  // namespace bough
