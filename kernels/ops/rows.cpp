#include "bough/ops/rows.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/rows.h"
#include "kernels/cuda/rows.h"
#include "kernels/on_device.h"
#include "kernels/ops/known_rows.h"
#include "kernels/ops/operands.h"
#include "kernels/row_index.h"
#include "kernels/row_sums.h"

namespace bough {
namespace {

void require_row_index(std::string_view where, const Tensor& index) {
  require_integers(where, "the index", index);
  if (index.rank() != 1) {
    throw ShapeError(where, fmt::format("the index must have one axis, it is {}", to_string(index.shape())));
  }
}

void require_one_value_per_entry(std::string_view where, const Tensor& values, const Tensor& index) {
  require_row_index(where, index);
  require_same_device(where, {values, index});
  if (values.rank() == 0 || values.size(0) != index.size(0)) {
    throw ShapeError(where, fmt::format("values {} and index {} must have the same number of rows",
                                        to_string(values.shape()), to_string(index.shape())));
  }
}

template <typename T>
Rows<const std::byte> as_bytes(Rows<const T> rows) {
  return {reinterpret_cast<const std::byte*>(rows.data), rows.count, rows.width * std::int64_t{sizeof(T)}};
}
template <typename T>
Rows<std::byte> as_bytes(Rows<T> rows) {
  return {reinterpret_cast<std::byte*>(rows.data), rows.count, rows.width * std::int64_t{sizeof(T)}};
}

/// The GPU's, with the arguments of the CPU's.
template <typename I>
void gather_rows(Cuda gpu, Rows<const std::byte> source, std::span<const I> index, Rows<std::byte> target) {
  gather_rows(gpu, source.data, index.data(), target.data, target.count, target.width);
}

/// The rows of an index that has been found in range.
Tensor picked_rows(const Tensor& x, const Tensor& index) {
  Tensor picked = Tensor::empty(x.shape().with(0, index.size(0)), x.dtype(), x.device());
  on_any_device_any_type("gather_rows", x, [&]<typename T>(auto backend, TypeTag<T>) {
    visit_integers(index, [&](auto entries) {
      gather_rows(backend, as_bytes(rows_of<T>(x)), entries, as_bytes(rows_of<T>(picked)));
    });
  });
  return picked;
}

}  // namespace

Tensor gather_rows(const Tensor& x, const Tensor& index) {
  require_defined("gather_rows", "x", x);
  require_defined("gather_rows", "the index", index);
  require_row_index("gather_rows", index);
  require_same_device("gather_rows", {x, index});
  if (x.rank() == 0) throw ShapeError("gather_rows", "x has no rows to pick from, its shape is []");
  require_rows_in_range("gather_rows", index, x.size(0));
  return gather_known_rows(x, index);
}

Tensor gather_known_rows(const Tensor& x, const Tensor& index) {
  require_same_device("gather_rows", {x, index});
  // y[i] = x[index[i]]:  dx[r] = sum of dy[i] over index[i] = r
  return autograd::record({.name = "gather_rows",
                           .inputs = {x},
                           .saved = {index},
                           .backward = [num_rows = x.size(0)](const BackwardCall& call) -> Gradients {
                             require_rows_still_in_range("gather_rows", call.saved(0), num_rows);
                             return {sum_rows_by_index("gather_rows", call.gradient(), call.saved(0), num_rows)};
                           }},
                          picked_rows(x, index));
}

Tensor scatter_add_rows(const Tensor& values, const Tensor& index, std::int64_t num_rows) {
  require_one_value_per_entry("scatter_add_rows", values, index);
  require_rows_in_range("scatter_add_rows", index, num_rows);
  // y[r] = sum of v[i] over index[i] = r:  dv[i] = dy[index[i]]
  return autograd::record({.name = "scatter_add_rows",
                           .inputs = {values},
                           .saved = {index},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             require_rows_still_in_range("scatter_add_rows", call.saved(0), call.gradient().size(0));
                             return {picked_rows(call.gradient(), call.saved(0))};
                           }},
                          sum_rows_by_index("scatter_add_rows", values, index, num_rows));
}

Tensor index_add_rows(const Tensor& x, const Tensor& index, const Tensor& values) {
  require_one_value_per_entry("index_add_rows", values, index);
  require_same_device("index_add_rows", {x, values});
  if (x.rank() == 0 || x.dtype() != values.dtype() || !(x.shape().with(0, values.size(0)) == values.shape())) {
    throw ShapeError("index_add_rows", fmt::format("x {} {} and values {} {} must have the same type and rows of the "
                                                   "same shape",
                                                   name_of(x.dtype()), to_string(x.shape()), name_of(values.dtype()),
                                                   to_string(values.shape())));
  }
  require_rows_in_range("index_add_rows", index, x.size(0));
  Tensor sums = sum_rows_by_index("index_add_rows", values, index, x.size(0));
  sums.accumulate(x.detach());
  // y = x + scatter(v):  dx = dy, dv[i] = dy[index[i]]
  return autograd::record({.name = "index_add_rows",
                           .inputs = {x, values},
                           .saved = {index},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = call.gradient();
                             if (!call.needs(1)) return gradients;
                             require_rows_still_in_range("index_add_rows", call.saved(0), call.gradient().size(0));
                             gradients[1] = picked_rows(call.gradient(), call.saved(0));
                             return gradients;
                           }},
                          sums);
}

}  // namespace bough
