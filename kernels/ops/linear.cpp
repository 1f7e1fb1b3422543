#include "kernels/cpu/linear.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "bough/ops/matmul.h"
#include "kernels/cpu/gemm.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

void require_layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_same_device("linear", {x, weight, bias});
  if (weight.rank() != 2) {
    throw ShapeError("linear", fmt::format("the weight must be [out, in], it is {}", to_string(weight.shape())));
  }
  if (x.rank() == 0 || x.size(-1) != weight.size(1)) {
    throw ShapeError("linear",
                     fmt::format("the last axis of x must be the second of the weight [out, in]; x is {}, the "
                                 "weight is {}",
                                 to_string(x.shape()), to_string(weight.shape())));
  }
  if (bias.defined() && !(bias.shape() == Shape{weight.size(0)})) {
    throw ShapeError("linear", fmt::format("the bias must be [out]; it is {}, the weight [out, in] is {}",
                                           to_string(bias.shape()), to_string(weight.shape())));
  }
  if (x.dtype() != weight.dtype() || (bias.defined() && bias.dtype() != x.dtype())) {
    throw TypeError(
        "linear",
        fmt::format("x is {}, the weight {}, the bias {}; they must have one type, cast() converts", name_of(x.dtype()),
                    name_of(weight.dtype()), bias.defined() ? name_of(bias.dtype()) : "missing"));
  }
}

struct LayerSizes {
  std::int64_t rows, in, out;
};

Gradients linear_gradients(const LayerSizes& sizes, const Shape& shape_x, Activation activation,
                           const BackwardCall& call) {
  const auto [rows, in, out] = sizes;
  const Tensor& dy = call.gradient();
  Gradients gradients(3);
  on_device("linear", dy, [&]<typename T>(auto backend, TypeTag<T>) {
    const auto make = [&](const Shape& shape) { return Tensor::empty(shape, dy.dtype(), dy.device()); };
    // y = f(z), z = x w^T + bias:  dz = dy f'(z), dbias = sum of the rows of dz
    Tensor dz = dy;
    Tensor dbias = call.needs(2) ? make({out}) : Tensor();
    T* sums = dbias.defined() ? dbias.data<T>() : nullptr;
    const Rows<const T> above{dy.data<T>(), rows, out};
    if (activation != Activation::none) {
      dz = make(dy.shape());
      linear_backward(backend, activation, {call.saved(2).data<T>(), rows, out}, above, {dz.data<T>(), rows, out},
                      sums);
    } else if (sums != nullptr) {
      column_sums(backend, above, sums);
    }
    if (dbias.defined()) gradients[2] = dbias;

    // dx = dz w, dw = dz^T x
    const Matrix<const T> inner = dense_matrix<const T>(dz.data<T>(), rows, out);
    if (call.needs(0)) {
      Tensor dx = make(shape_x);
      gemm(backend, inner, dense_matrix(call.saved(1).data<T>(), out, in), dense_matrix(dx.data<T>(), rows, in));
      gradients[0] = dx;
    }
    if (call.needs(1)) {
      Tensor dweight = make({out, in});
      gemm(backend, inner.transposed(), dense_matrix(call.saved(0).data<T>(), rows, in),
           dense_matrix(dweight.data<T>(), out, in));
      gradients[1] = dweight;
    }
  });
  return gradients;
}

std::int64_t rows_of(const Tensor& x) {
  return Shape(x.shape().extents().first(static_cast<std::size_t>(x.rank() - 1))).elements();
}

/// Inputs are x, then weight and bias of each part; saved are x, then the weights.
Gradients part_gradients(const std::vector<LayerSizes>& parts, const Shape& shape_x, const BackwardCall& call) {
  Gradients gradients(1 + 2 * parts.size());
  on_device("linear_parts", call.gradient(), [&]<typename T>(auto backend, TypeTag<T>) {
    const Tensor& like = call.gradient();
    const auto make = [&](const Shape& shape) { return Tensor::empty(shape, like.dtype(), like.device()); };
    Tensor dx = call.needs(0) ? make(shape_x) : Tensor();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [rows, in, out] = parts[i];
      const auto dy = dense_matrix<const T>(call.gradient(i).template data<T>(), rows, out);
      // dx = sum over the parts of dy w, dw = dy^T x, dbias = sum of the rows of dy
      if (dx.defined()) {
        gemm(backend, dy, dense_matrix<const T>(call.saved(1 + i).template data<T>(), out, in),
             dense_matrix(dx.data<T>(), rows, in), {.accumulate = i > 0});
      }
      if (call.needs(1 + 2 * i)) {
        Tensor dweight = make({out, in});
        gemm(backend, dy.transposed(), dense_matrix<const T>(call.saved(0).template data<T>(), rows, in),
             dense_matrix(dweight.data<T>(), out, in));
        gradients[1 + 2 * i] = dweight;
      }
      if (call.needs(2 + 2 * i)) {
        Tensor dbias = make({out});
        column_sums(backend, Rows<const T>{call.gradient(i).template data<T>(), rows, out}, dbias.data<T>());
        gradients[2 + 2 * i] = dbias;
      }
    }
    if (dx.defined()) gradients[0] = dx;
  });
  return gradients;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  require_layer(x, weight, bias);
  Tensor y = Tensor::empty(x.shape().with(-1, weight.size(0)), x.dtype(), x.device());
  const LayerSizes sizes{rows_of(x), weight.size(1), weight.size(0)};
  const bool keep_z = activation == Activation::gelu && should_record({x, weight, bias});
  Tensor z = keep_z ? empty_like(y) : Tensor();
  on_device("linear", x, [&]<typename T>(auto backend, TypeTag<T>) {
    gemm(backend, dense_matrix(x.data<T>(), sizes.rows, sizes.in),
         dense_matrix(weight.data<T>(), sizes.out, sizes.in).transposed(),
         dense_matrix(y.data<T>(), sizes.rows, sizes.out),
         {.bias = bias.defined() ? bias.data<T>() : nullptr,
          .activation = activation,
          .before_activation = keep_z ? z.data<T>() : nullptr});
  });

  Tensor for_activation;
  if (activation == Activation::relu) for_activation = y;
  if (activation == Activation::gelu) for_activation = z;
  return record(
      {.name = "linear",
       .inputs = {x, weight, bias},
       .saved = {weight.requires_grad() ? x : Tensor(), x.requires_grad() ? weight : Tensor(), for_activation},
       .backward = [sizes, activation, shape_x = x.shape()](
                       const BackwardCall& call) { return linear_gradients(sizes, shape_x, activation, call); }},
      y);
}

std::vector<Tensor> linear_parts(const Tensor& x, const std::vector<LinearPart>& parts) {
  if (parts.empty()) throw ShapeError("linear_parts", "there must be at least one part");
  std::vector<LayerSizes> sizes;
  std::vector<Tensor> inputs{x}, results;
  bool any_weight = false;
  for (const LinearPart& part : parts) {
    require_layer(x, part.weight, part.bias);
    sizes.push_back({rows_of(x), part.weight.size(1), part.weight.size(0)});
    inputs.insert(inputs.end(), {part.weight, part.bias});
    results.push_back(Tensor::empty(x.shape().with(-1, part.weight.size(0)), x.dtype(), x.device()));
    any_weight = any_weight || part.weight.requires_grad();
  }
  on_device("linear_parts", x, [&]<typename T>(auto backend, TypeTag<T>) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [rows, in, out] = sizes[i];
      gemm(backend, dense_matrix<const T>(x.data<T>(), rows, in),
           dense_matrix<const T>(parts[i].weight.template data<T>(), out, in).transposed(),
           dense_matrix(results[i].template data<T>(), rows, out),
           {.bias = parts[i].bias.defined() ? parts[i].bias.template data<T>() : nullptr});
    }
  });
  std::vector<Tensor> saved{any_weight ? x : Tensor()};
  for (const LinearPart& part : parts) saved.push_back(x.requires_grad() ? part.weight : Tensor());
  return record({.name = "linear_parts",
                 .inputs = std::move(inputs),
                 .saved = std::move(saved),
                 .backward = [sizes, shape_x = x.shape()](
                                 const BackwardCall& call) { return part_gradients(sizes, shape_x, call); }},
                std::move(results));
}

}  // namespace bough
