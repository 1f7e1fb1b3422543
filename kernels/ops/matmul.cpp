#include "bough/ops/matmul.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cuda/gemm.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/operands.h"

namespace bough {
namespace {

Shape leading_axes(const Shape& shape, int trailing) {
  return Shape(shape.extents().first(static_cast<std::size_t>(std::max(0, shape.rank() - trailing))));
}

/// What the shapes of two operands mean: `batch` products of [m, k] by [k, n].
struct Product {
  std::int64_t batch = 1;
  std::int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  bool share_a = false, share_b = false;  ///< one matrix for the whole batch
  Shape result;

  template <typename T>
  Matrix<const T> matrix_a(const T* data) const {
    return transpose_a ? dense_matrix(data, k, m).transposed() : dense_matrix(data, m, k);
  }
  template <typename T>
  Matrix<const T> matrix_b(const T* data) const {
    return transpose_b ? dense_matrix(data, n, k).transposed() : dense_matrix(data, k, n);
  }
  std::int64_t step_a() const { return share_a ? 0 : m * k; }
  std::int64_t step_b() const { return share_b ? 0 : k * n; }
};

Product plan_product(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const auto fail = [&](std::string_view rule) {
    throw ShapeError("matmul", fmt::format("{}; a is {}{}, b is {}{}", rule, to_string(a.shape()),
                                           options.transpose_a ? " (transposed)" : "", to_string(b.shape()),
                                           options.transpose_b ? " (transposed)" : ""));
  };
  require_same_device("matmul", {a, b});
  if (a.dtype() != b.dtype()) {
    throw TypeError("matmul", fmt::format("both operands must have one type; a is {}, b is {}; cast() converts",
                                          name_of(a.dtype()), name_of(b.dtype())));
  }
  if (a.rank() == 0 || b.rank() == 0) fail("each operand needs at least one axis");

  Product product;
  product.transpose_a = options.transpose_a && a.rank() > 1;
  product.transpose_b = options.transpose_b && b.rank() > 1;
  product.k = a.size(product.transpose_a ? -2 : -1);
  if (a.rank() > 1) product.m = a.size(product.transpose_a ? -1 : -2);
  if (b.rank() > 1) product.n = b.size(product.transpose_b ? -2 : -1);
  if (b.size(b.rank() == 1 || product.transpose_b ? -1 : -2) != product.k) {
    fail("the last axis of a must be as long as the second to last of b (of both after transposing)");
  }

  const Shape lead_a = leading_axes(a.shape(), 2), lead_b = leading_axes(b.shape(), 2);
  if (lead_a.rank() > 0 && lead_b.rank() > 0 && !(lead_a == lead_b)) {
    fail("the leading axes must be equal, or missing from one operand");
  }
  const Shape& lead = lead_a.rank() > 0 ? lead_a : lead_b;
  product.share_a = lead_a.rank() < lead.rank();
  product.share_b = lead_b.rank() < lead.rank();
  product.batch = lead.elements();

  std::vector<std::int64_t> extents(lead.begin(), lead.end());
  if (a.rank() > 1) extents.push_back(product.m);
  if (b.rank() > 1) extents.push_back(product.n);
  product.result = Shape(extents);

  // One matrix for all on the right: the batch is only more rows on the left.
  if (product.share_b && !product.transpose_a) {
    product.m *= product.batch;
    product.batch = 1;
    product.share_b = false;
  }
  return product;
}

/// c = a b for every member of the batch; with share_c their sum, in order.
template <typename Backend, typename T>
void multiply_batch(Backend backend, const GemmBatch& batch, bool share_c, Matrix<const T> a, Matrix<const T> b,
                    Tensor& c, std::int64_t rows, std::int64_t columns) {
  const Matrix<T> target = dense_matrix(device_data<T>(c), rows, columns);
  if (!share_c) return gemm_batch(backend, batch, a, b, target);
  if (batch.count == 0) c.zero();
  for (std::int64_t i = 0; i < batch.count; ++i) {
    gemm(backend, a, b, target, {.accumulate = i > 0});
    a.data += batch.step_a;
    b.data += batch.step_b;
  }
}

// c = a b:  da = dc b^T, db = a^T dc; for an operand given transposed, its gradient transposed: da^T = b dc^T.
Tensor gradient_of_a(const Product& product, const Shape& shape, const Tensor& b, const Tensor& dc) {
  Tensor da = Tensor::empty(shape, dc.dtype(), dc.device());
  on_any_device("matmul", dc, [&]<typename T>(auto backend, TypeTag<T>) {
    const Matrix<const T> right = product.matrix_b(device_data<T>(b));
    const Matrix<const T> above = dense_matrix(device_data<T>(dc), product.m, product.n);
    const std::int64_t step_b = product.step_b(), step_c = product.m * product.n, step_a = product.m * product.k;
    if (product.transpose_a) {
      multiply_batch(backend, {product.batch, step_b, step_c, step_a}, product.share_a, right, above.transposed(), da,
                     product.k, product.m);
    } else {
      multiply_batch(backend, {product.batch, step_c, step_b, step_a}, product.share_a, above, right.transposed(), da,
                     product.m, product.k);
    }
  });
  return da;
}

Tensor gradient_of_b(const Product& product, const Shape& shape, const Tensor& a, const Tensor& dc) {
  Tensor db = Tensor::empty(shape, dc.dtype(), dc.device());
  on_any_device("matmul", dc, [&]<typename T>(auto backend, TypeTag<T>) {
    const Matrix<const T> left = product.matrix_a(device_data<T>(a));
    const Matrix<const T> above = dense_matrix(device_data<T>(dc), product.m, product.n);
    const std::int64_t step_a = product.step_a(), step_c = product.m * product.n, step_b = product.k * product.n;
    if (product.transpose_b) {
      multiply_batch(backend, {product.batch, step_c, step_a, step_b}, product.share_b, above.transposed(), left, db,
                     product.n, product.k);
    } else {
      multiply_batch(backend, {product.batch, step_a, step_c, step_b}, product.share_b, left.transposed(), above, db,
                     product.k, product.n);
    }
  });
  return db;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  require_defined("matmul", "a", a);
  require_defined("matmul", "b", b);
  const Product product = plan_product(a, b, options);
  Tensor c = Tensor::empty(product.result, a.dtype(), a.device());
  on_any_device("matmul", a, [&]<typename T>(auto backend, TypeTag<T>) {
    gemm_batch(backend, {product.batch, product.step_a(), product.step_b(), product.m * product.n},
               product.matrix_a(device_data<T>(a)), product.matrix_b(device_data<T>(b)),
               dense_matrix(device_data<T>(c), product.m, product.n));
  });
  return autograd::record(
      {.name = "matmul",
       .inputs = {a, b},
       .saved = {b.requires_grad() ? a : Tensor(), a.requires_grad() ? b : Tensor()},
       .backward = [product, shape_a = a.shape(), shape_b = b.shape()](const BackwardCall& call) -> Gradients {
         Gradients gradients(2);
         if (call.needs(0)) gradients[0] = gradient_of_a(product, shape_a, call.saved(1), call.gradient());
         if (call.needs(1)) gradients[1] = gradient_of_b(product, shape_b, call.saved(0), call.gradient());
         return gradients;
       }},
      c);
}

}  // namespace bough
