#include "kernels/ops/replace_rows.h"

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/core/parallel.h"
#include "bough/ops/rows.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// Writes values, or zeros if they are undefined, into rows of the target.
void overwrite(Tensor& target, const Tensor& rows, const Tensor& values) {
  on_device_any_type("replace_rows", target, [&]<typename T>(auto, TypeTag<T>) {
    const Rows<T> to = rows_of<T>(target);
    const std::span<const std::int32_t> numbers = rows.span<std::int32_t>();
    parallel_chunks(rows.elements(), rows_per_chunk(to.width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* row = to[numbers[static_cast<std::size_t>(i)]];
        if (values.defined()) {
          std::copy_n(values.data<T>() + i * to.width, to.width, row);
        } else {
          std::fill_n(row, to.width, T{});
        }
      }
    });
  });
}

}  // namespace

Tensor replace_rows(const Tensor& base, const Tensor& rows, const Tensor& values) {
  Tensor result = base.detach().clone();
  overwrite(result, rows, values);
  // y = base with values in its rows:  dbase = dy with zeros there, dvalues = dy there
  return record({.name = "replace_rows",
                 .inputs = {base, values},
                 .saved = {rows},
                 .backward = [](const BackwardCall& call) -> Gradients {
                   Tensor dbase, dvalues;
                   if (call.needs(0)) {
                     dbase = call.gradient().clone();
                     overwrite(dbase, call.saved(0), {});
                   }
                   if (call.needs(1)) dvalues = gather_rows(call.gradient(), call.saved(0));
                   return {dbase, dvalues};
                 }},
                result);
}

}  // namespace bough
