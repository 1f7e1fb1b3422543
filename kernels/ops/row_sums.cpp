#include "kernels/row_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/rows.h"
#include "kernels/on_device.h"
#include "kernels/row_index.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// A sorted index and the pooled memory it lives in.
struct SortedIndex {
  Tensor entries, scratch;
  SortedRows rows;
};

template <typename Backend>
SortedIndex sort_index(Backend backend, std::string_view where, const Tensor& index, std::int64_t num_rows,
                       std::optional<std::int64_t> skipped) {
  require_rows_in_range(where, index, num_rows);
  if (!can_sort_rows(index.elements(), num_rows)) {
    throw ShapeError(
        where, fmt::format("{} entries into {} rows are more than 64 bits can number", index.elements(), num_rows));
  }
  SortedIndex sorted{Tensor::empty(index.shape(), DType::int64), Tensor::empty(index.shape(), DType::int64), {}};
  visit_integers(index, [&](auto entries) {
    sorted.rows =
        sort_rows(backend, entries, num_rows, sorted.entries.span<std::int64_t>(), sorted.scratch.span<std::int64_t>());
  });
  if (skipped) {
    std::span<std::int64_t>& entries = sorted.rows.entries;
    const auto row = [bits = sorted.rows.position_bits](std::int64_t entry) { return entry >> bits; };
    const auto gone = std::ranges::equal_range(entries, *skipped, {}, row);
    const auto kept = std::ranges::copy(gone.end(), entries.end(), gone.begin()).out;
    entries = entries.first(static_cast<std::size_t>(kept - entries.begin()));
  }
  return sorted;
}

template <typename T, typename Backend>
void sum_sorted(Backend backend, const SortedRows& sorted, const Tensor& values, Tensor& target) {
  const Rows<const T> from = rows_of<T>(values);
  const Rows<T> to = rows_of<T>(target);
  const std::int64_t pieces = sum_rows_pieces(sorted.size(), to.count, to.width);
  Tensor carry_rows = Tensor::empty({pieces}, DType::int64),
         carries = Tensor::empty({pieces, to.width}, values.dtype());
  sum_rows(backend, sorted, from, to, carry_rows.span<std::int64_t>(), rows_of<T>(carries));
}

}  // namespace

Tensor sum_rows_by_index(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                         std::optional<std::int64_t> skipped) {
  Tensor sums = Tensor::empty(values.shape().with(0, num_rows), values.dtype(), values.device());
  on_device(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    const SortedIndex sorted = sort_index(backend, where, index, num_rows, skipped);
    if (sums.elements() > 0) sum_sorted<T>(backend, sorted.rows, values, sums);
  });
  return sums;
}

RowGradient sum_occurring_rows(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                               std::optional<std::int64_t> skipped) {
  RowGradient sums;
  on_device(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    const SortedIndex sorted = sort_index(backend, where, index, num_rows, skipped);
    Tensor rows = Tensor::empty(index.shape(), DType::int64);
    const std::int64_t count = compact_rows(backend, sorted.rows, rows.span<std::int64_t>());
    // A copy, so that a few rows that occur often do not hold on to memory for all of them.
    sums.rows = rows.rows(0, count).clone();
    sums.values = Tensor::empty(values.shape().with(0, count), values.dtype());
    if (sums.values.elements() > 0) sum_sorted<T>(backend, sorted.rows, values, sums.values);
  });
  return sums;
}

}  // namespace bough
