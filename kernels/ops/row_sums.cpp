#include "kernels/row_sums.h"

#include <fmt/format.h>

#include "kernels/cpu/rows.h"
#include "kernels/on_device.h"
#include "kernels/row_index.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// Up to this width, adding rows one by one beats sorting their index first, even on several threads.
constexpr std::int64_t narrow = 8;

template <typename Backend>
SortedRows sort_index(Backend backend, std::string_view where, const Tensor& index, std::int64_t num_rows,
                      std::optional<std::int64_t> skipped) {
  if (!can_sort_rows(index.elements(), num_rows)) {
    throw ShapeError(
        where, fmt::format("{} entries into {} rows are more than 64 bits can number", index.elements(), num_rows));
  }
  SortedRows sorted;
  visit_integers(index, [&](auto entries) { sorted = sort_rows(backend, entries, num_rows); });
  if (skipped) drop_row(backend, sorted, *skipped);
  return sorted;
}

}  // namespace

Tensor sum_rows_by_index(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                         std::optional<std::int64_t> skipped) {
  Tensor sums = Tensor::empty(values.shape().with(0, num_rows), values.dtype(), values.device());
  on_device(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    require_rows_in_range(where, index, num_rows);
    if (sums.elements() == 0) return;
    const Rows<const T> from = rows_of<T>(values);
    const Rows<T> to = rows_of<T>(sums);
    if (to.width <= narrow && to.count <= from.count) {
      visit_integers(index, [&](auto entries) { add_narrow_rows(backend, entries, skipped, from, to); });
    } else {
      sum_rows(backend, sort_index(backend, where, index, num_rows, skipped), from, to);
    }
  });
  return sums;
}

RowGradient sum_occurring_rows(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                               std::optional<std::int64_t> skipped) {
  RowGradient sums;
  on_device(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    require_rows_in_range(where, index, num_rows);
    SortedRows sorted = sort_index(backend, where, index, num_rows, skipped);
    Tensor rows = Tensor::empty(index.shape(), DType::int64);
    const std::int64_t count = compact_rows(backend, sorted, rows.span<std::int64_t>());
    // A copy, so that a few rows that occur often do not hold on to memory for all of them.
    sums.rows = rows.rows(0, count).clone();
    sums.values = Tensor::empty(values.shape().with(0, count), values.dtype());
    if (sums.values.elements() > 0) sum_rows(backend, sorted, rows_of<T>(values), rows_of<T>(sums.values));
  });
  return sums;
}

}  // namespace bough
