#include "kernels/row_sums.h"

#include <fmt/format.h>

#include <limits>

#include "kernels/cpu/rows.h"
#include "kernels/cuda/grouping.h"
#include "kernels/cuda/rows.h"
#include "kernels/on_device.h"
#include "kernels/row_index.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// Up to this width, adding rows one by one beats sorting their index first, even on several threads.
constexpr std::int64_t narrow = 8;

SortedRows sort_index(std::string_view where, const Tensor& index, std::int64_t num_rows,
                      std::optional<std::int64_t> skipped) {
  if (!can_sort_rows(index.elements(), num_rows)) {
    throw ShapeError(
        where, fmt::format("{} entries into {} rows are more than 64 bits can number", index.elements(), num_rows));
  }
  SortedRows sorted;
  visit_integers(index, [&](auto entries) { sorted = sort_rows(Cpu{}, entries, num_rows); });
  if (skipped) drop_row(Cpu{}, sorted, *skipped);
  return sorted;
}

template <typename T>
void sum_by_index(Cpu cpu, std::string_view where, Rows<const T> values, const Tensor& index,
                  std::optional<std::int64_t> skipped, Rows<T> sums) {
  if (sums.width <= narrow && sums.count <= values.count) {
    visit_integers(index, [&](auto entries) { add_narrow_rows(cpu, entries, skipped, values, sums); });
  } else {
    sum_rows(cpu, sort_index(where, index, sums.count, skipped), values, sums);
  }
}

template <typename T>
void sum_by_index(Cuda gpu, std::string_view where, Rows<const T> values, const Tensor& index,
                  std::optional<std::int64_t> skipped, Rows<T> sums) {
  const std::int64_t count = index.elements();
  if (count > std::numeric_limits<std::int32_t>::max()) {
    throw ShapeError(where, fmt::format("an index on a GPU has at most 2^31-1 entries, this one has {}", count));
  }
  const Scratch<std::int32_t> order(count, index.device());
  const Scratch<std::int64_t> offsets(sums.count + 1, index.device());
  visit_integers(
      index, [&](auto entries) { group_rows(gpu, entries.data(), count, sums.count, order.data(), offsets.data()); });
  sum_rows(gpu, simt::GroupedIndex{order.data(), offsets.data(), count, sums.count, skipped.value_or(-1)}, sums.width,
           values.data, sums.data);
}

}  // namespace

Tensor sum_rows_by_index(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                         std::optional<std::int64_t> skipped) {
  Tensor sums = Tensor::empty(values.shape().with(0, num_rows), values.dtype(), values.device());
  on_any_device(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    if (sums.elements() > 0) sum_by_index(backend, where, rows_of<T>(values), index, skipped, rows_of<T>(sums));
  });
  return sums;
}

RowGradient sum_occurring_rows(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                               std::optional<std::int64_t> skipped) {
  RowGradient sums;
  on_cpu(where, values, [&]<typename T>(auto backend, TypeTag<T>) {
    SortedRows sorted = sort_index(where, index, num_rows, skipped);
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
