#include "kernels/cuda/linear.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "bough/ops/matmul.h"
#include "kernels/cuda/gemm.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/operands.h"

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
  on_any_device("linear", dy, [&]<typename T>(auto backend, TypeTag<T>) {
    const auto make = [&](const Shape& shape) { return Tensor::empty(shape, dy.dtype(), dy.device()); };
    // y = f(z), z = x w^T + bias:  dz = dy f'(z), dbias = sum of the rows of dz
    Tensor dz = dy;
    Tensor dbias = call.needs(2) ? make({out}) : Tensor();
    T* sums = dbias.defined() ? device_data<T>(dbias) : nullptr;
    const Rows<const T> above{device_data<T>(dy), rows, out};
    if (activation != Activation::none) {
      dz = make(dy.shape());
      linear_backward(backend, activation, {device_data<T>(call.saved(2)), rows, out}, above,
                      {device_data<T>(dz), rows, out}, sums);
    } else if (sums != nullptr) {
      column_sums(backend, above, sums);
    }
    if (dbias.defined()) gradients[2] = dbias;

    // dx = dz w, dw = dz^T x
    const Matrix<const T> inner = dense_matrix<const T>(device_data<T>(dz), rows, out);
    if (call.needs(0)) {
      Tensor dx = make(shape_x);
      gemm(backend, inner, dense_matrix(device_data<T>(call.saved(1)), out, in),
           dense_matrix(device_data<T>(dx), rows, in));
      gradients[0] = dx;
    }
    if (call.needs(1)) {
      Tensor dweight = make({out, in});
      gemm(backend, inner.transposed(), dense_matrix(device_data<T>(call.saved(0)), rows, in),
           dense_matrix(device_data<T>(dweight), out, in));
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
  on_any_device("linear_parts", call.gradient(), [&]<typename T>(auto backend, TypeTag<T>) {
    const Tensor& like = call.gradient();
    const auto make = [&](const Shape& shape) { return Tensor::empty(shape, like.dtype(), like.device()); };
    Tensor dx = call.needs(0) ? make(shape_x) : Tensor();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [rows, in, out] = parts[i];
      const auto dy = dense_matrix<const T>(device_data<T>(call.gradient(i)), rows, out);
      // dx = sum over the parts of dy w, dw = dy^T x, dbias = sum of the rows of dy
      if (dx.defined()) {
        gemm(backend, dy, dense_matrix<const T>(device_data<T>(call.saved(1 + i)), out, in),
             dense_matrix(device_data<T>(dx), rows, in), {.accumulate = i > 0});
      }
      if (call.needs(1 + 2 * i)) {
        Tensor dweight = make({out, in});
        gemm(backend, dy.transposed(), dense_matrix<const T>(device_data<T>(call.saved(0)), rows, in),
             dense_matrix(device_data<T>(dweight), out, in));
        gradients[1 + 2 * i] = dweight;
      }
      if (call.needs(2 + 2 * i)) {
        Tensor dbias = make({out});
        column_sums(backend, Rows<const T>{device_data<T>(call.gradient(i)), rows, out}, device_data<T>(dbias));
        gradients[2 + 2 * i] = dbias;
      }
    }
    if (dx.defined()) gradients[0] = dx;
  });
  return gradients;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  require_defined("linear", "x", x);
  require_defined("linear", "the weight", weight);
  require_layer(x, weight, bias);
  Tensor y = Tensor::empty(x.shape().with(-1, weight.size(0)), x.dtype(), x.device());
  const LayerSizes sizes{rows_of(x), weight.size(1), weight.size(0)};
  const bool keep_z = activation == Activation::gelu && autograd::should_record({x, weight, bias});
  Tensor z = keep_z ? empty_like(y) : Tensor();
  on_any_device("linear", x, [&]<typename T>(auto backend, TypeTag<T>) {
    gemm(backend, dense_matrix(device_data<T>(x), sizes.rows, sizes.in),
         dense_matrix(device_data<T>(weight), sizes.out, sizes.in).transposed(),
         dense_matrix(device_data<T>(y), sizes.rows, sizes.out),
         {.bias = bias.defined() ? device_data<T>(bias) : nullptr,
          .activation = activation,
          .before_activation = keep_z ? device_data<T>(z) : nullptr});
  });

  Tensor for_activation;
  if (activation == Activation::relu) for_activation = y;
  if (activation == Activation::gelu) for_activation = z;
  return autograd::record(
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
  on_any_device("linear_parts", x, [&]<typename T>(auto backend, TypeTag<T>) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [rows, in, out] = sizes[i];
      gemm(backend, dense_matrix<const T>(device_data<T>(x), rows, in),
           dense_matrix<const T>(device_data<T>(parts[i].weight), out, in).transposed(),
           dense_matrix(device_data<T>(results[i]), rows, out),
           {.bias = parts[i].bias.defined() ? device_data<T>(parts[i].bias) : nullptr});
    }
  });
  std::vector<Tensor> saved{any_weight ? x : Tensor()};
  for (const LinearPart& part : parts) saved.push_back(x.requires_grad() ? part.weight : Tensor());
  return autograd::record({.name = "linear_parts",
                           .inputs = std::move(inputs),
                           .saved = std::move(saved),
                           .backward = [sizes, shape_x = x.shape()](
                                           const BackwardCall& call) { return part_gradients(sizes, shape_x, call); }},
                          std::move(results));
}

}  // namespace bough
