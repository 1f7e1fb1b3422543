#include <algorithm>
#include <vector>

#include "bough/core/parallel.h"
#include "src/autograd/gradient_node.h"
#include "src/core/accumulate.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// True if this handle is the only way to reach the buffer.
bool owned_alone(const Tensor& tensor) {
  return tensor.body().use_count() == 1 && tensor.body()->storage.use_count() == 1;
}

/// Each row occurs once, so they can be added in parallel.
void add_rows(const RowGradient& rows, Tensor& target) {
  visit_floating("backward", target.dtype(), [&]<typename T>(TypeTag<T>) {
    const std::int64_t width = rows.values.shape().row_width();
    const std::int64_t* index = rows.rows.data<std::int64_t>();
    const T* values = rows.values.data<T>();
    T* sums = target.data<T>();
    parallel_chunks(rows.rows.elements(), rows_per_chunk(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        accumulate_elements(values + i * width, T{1}, sums + index[i] * width, width);
      }
    });
  });
}

RowGradient merge_rows(const RowGradient& a, const RowGradient& b) {
  const std::span<const std::int64_t> left = a.rows.span<std::int64_t>(), right = b.rows.span<std::int64_t>();
  std::vector<std::int64_t> rows;
  std::ranges::set_union(left, right, std::back_inserter(rows));
  RowGradient merged{Tensor::from_vector(rows, {static_cast<std::int64_t>(rows.size())}),
                     zeros(a.values.shape().with(0, static_cast<std::int64_t>(rows.size())), a.values.dtype())};
  const auto positions = [&rows](const Tensor& index) {
    Tensor result = empty_like(index);
    std::ranges::transform(index.span<std::int64_t>(), result.data<std::int64_t>(),
                           [&rows](std::int64_t row) { return std::ranges::lower_bound(rows, row) - rows.begin(); });
    return result;
  };
  add_rows({positions(a.rows), a.values}, merged.values);
  add_rows({positions(b.rows), b.values}, merged.values);
  return merged;
}

}  // namespace

Tensor to_dense(const Gradient& gradient, const Shape& shape) {
  if (!gradient.is_sparse()) return gradient.dense();
  const RowGradient rows = gradient.as_rows();
  Tensor dense = zeros(shape, rows.values.dtype(), rows.values.device());
  add_rows(rows, dense);
  return dense;
}

void accumulate_gradient(Gradient& into, Gradient addition) {
  if (!into.defined()) {
    into = std::move(addition);
    return;
  }
  if (into.is_sparse() && addition.is_sparse()) {
    into = merge_rows(into.as_rows(), addition.as_rows());
    return;
  }
  if (into.is_sparse()) std::swap(into, addition);
  // From here `into` is dense. Addition is commutative to the bit, so either buffer may take the sum.
  if (!owned_alone(into.dense()) && !addition.is_sparse() && owned_alone(addition.dense())) std::swap(into, addition);
  Tensor sum = owned_alone(into.dense()) ? into.dense() : into.dense().clone();
  into = {};
  if (addition.is_sparse()) {
    add_rows(addition.as_rows(), sum);
  } else {
    sum.accumulate(addition.dense());
  }
  into = std::move(sum);
}

void accumulate_leaf_gradient(TensorBody& leaf, Gradient addition) {
  if (!leaf.gradient.defined() && !owned_alone(addition.dense())) {
    const Tensor values = addition.dense().clone();
    addition = addition.is_sparse() ? Gradient(RowGradient{addition.as_rows().rows, values}) : Gradient(values);
  }
  accumulate_gradient(leaf.gradient, std::move(addition));
}

}  // namespace bough
