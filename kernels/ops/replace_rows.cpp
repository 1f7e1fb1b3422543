#include "kernels/ops/replace_rows.h"

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/core/parallel.h"
#include "kernels/cuda/rows.h"
#include "kernels/on_device.h"
#include "kernels/ops/known_rows.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// Puts rows of values, or zeros without them, where `rows` says.
template <typename T>
void put_rows(Cpu, std::span<const std::int32_t> rows, const T* values, Rows<T> target) {
  const auto count = static_cast<std::int64_t>(rows.size()), width = target.width;
  parallel_chunks(count, rows_per_chunk(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = target[rows[static_cast<std::size_t>(i)]];
      if (values != nullptr) {
        std::copy_n(values + i * width, width, row);
      } else {
        std::fill_n(row, width, T{});
      }
    }
  });
}
template <typename T>
void put_rows(Cuda gpu, std::span<const std::int32_t> rows, const T* values, Rows<T> target) {
  put_rows(gpu, rows.data(), static_cast<std::int64_t>(rows.size()), target.width, sizeof(T), values, target.data);
}

void overwrite(Tensor& target, const Tensor& rows, const Tensor& values) {
  on_any_device_any_type("replace_rows", target, [&]<typename T>(auto backend, TypeTag<T>) {
    put_rows(backend, device_span<std::int32_t>(rows), values.defined() ? device_data<T>(values) : nullptr,
             rows_of<T>(target));
  });
}

}  // namespace

Tensor replace_rows(const Tensor& base, const Tensor& rows, const Tensor& values) {
  require_same_device("replace_rows", {base, rows, values});
  Tensor result = base.detach().clone();
  overwrite(result, rows, values);
  // y = base with values in its rows:  dbase = dy with zeros there, dvalues = dy there
  return autograd::record({.name = "replace_rows",
                           .inputs = {base, values},
                           .saved = {rows},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             Tensor dbase, dvalues;
                             if (call.needs(0)) {
                               dbase = call.gradient().clone();
                               overwrite(dbase, call.saved(0), {});
                             }
                             if (call.needs(1)) dvalues = gather_known_rows(call.gradient(), call.saved(0));
                             return {dbase, dvalues};
                           }},
                          result);
}

}  // namespace bough
