#include "bough/ops/embedding.h"

#include <fmt/format.h>

#include <vector>

#include "bough/autograd/autograd.h"
#include "kernels/on_device.h"
#include "kernels/ops/known_rows.h"
#include "kernels/row_index.h"
#include "kernels/row_sums.h"

namespace bough {
namespace {

void require_table(const Tensor& table, const Tensor& index, const EmbeddingLookupOptions& options) {
  require_integers("embedding", "the index", index);
  require_same_device("embedding", {table, index});
  if (!is_floating(table.dtype())) {
    throw TypeError("embedding", fmt::format("the table must be float32 or float64, not {}; gather_rows picks rows of "
                                             "any type",
                                             name_of(table.dtype())));
  }
  if (table.rank() == 0 || index.rank() + table.rank() - 1 > Shape::max_rank) {
    throw ShapeError("embedding", fmt::format("table {} and index {} do not make a tensor of at most {} axes",
                                              to_string(table.shape()), to_string(index.shape()), Shape::max_rank));
  }
  if (options.padding_index && (*options.padding_index < 0 || *options.padding_index >= table.size(0))) {
    throw IndexError("embedding", fmt::format("padding_index {} is outside the {} rows of the table",
                                              *options.padding_index, table.size(0)));
  }
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& index, const EmbeddingLookupOptions& options) {
  require_table(table, index, options);
  std::vector<std::int64_t> extents(index.shape().begin(), index.shape().end());
  extents.insert(extents.end(), table.shape().begin() + 1, table.shape().end());
  const Tensor flat = index.detach().reshape(Shape{index.elements()});
  require_rows_in_range("embedding", flat, table.size(0));
  const Tensor rows = gather_known_rows(table.detach(), flat).reshape(Shape(extents));

  // y[i] = table[index[i]]:  dtable[r] = sum of dy[i] over index[i] = r
  return autograd::record({.name = "embedding",
                           .inputs = {table},
                           .saved = {flat},
                           .backward = [options, shape = table.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor dy = call.gradient().reshape(shape.with(0, call.saved(0).size(0)));
                             const auto sums = [&](auto sum) {
                               return sum("embedding", dy, call.saved(0), shape[0], options.padding_index);
                             };
                             require_rows_still_in_range("embedding", call.saved(0), shape[0]);
                             const bool on_cpu = dy.device().kind == Device::Kind::cpu;
                             if (options.sparse_gradient && on_cpu) return {sums(sum_occurring_rows)};
                             return {sums(sum_rows_by_index)};
                           }},
                          rows);
}

}  // namespace bough
