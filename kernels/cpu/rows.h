#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/row_sort.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// target[i] = source[index[i]] for rows of bytes; entries of the index are in range.
template <typename I>
void gather_rows(Cpu, Rows<const std::byte> source, std::span<const I> index, Rows<std::byte> target);

/// How many pieces sum_rows cuts its work into.
std::int64_t sum_rows_pieces(std::int64_t count, std::int64_t num_rows, std::int64_t width);

/// target[r] = the sum of the values of row r in the order of `sorted`; zeros where there are none.
/// The pieces hold equal shares of rows and entries together, so neither a row with most of the entries nor a long
/// stretch without any keeps one thread busy alone. A row that goes on into the next piece leaves what it has in
/// `carries` (one row a piece) and its number in `carry_rows`; these are added at the end, in order.
template <typename T>
void sum_rows(Cpu, SortedRows sorted, Rows<const T> values, Rows<T> target, std::span<std::int64_t> carry_rows,
              Rows<T> carries);

}  // namespace bough
