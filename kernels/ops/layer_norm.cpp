#include "bough/ops/layer_norm.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/layer_norm.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {
namespace {

/// Weight and bias as the kernel wants them: always there, of the width of x.
struct Parameters {
  Tensor weight;
  Tensor bias;
};

Tensor parameter_or(const char* where, const char* name, const Tensor& given, double value, const Tensor& x) {
  const Shape shape{x.size(-1)};
  if (!given.defined()) return full(shape, value, x.dtype(), x.device());
  if (!(given.shape() == shape) || given.dtype() != x.dtype()) {
    throw ShapeError(
        where, fmt::format("{} must be {} {} to fit x {}, it is {} {}", name, name_of(x.dtype()), to_string(shape),
                           to_string(x.shape()), name_of(given.dtype()), to_string(given.shape())));
  }
  return given;
}

Parameters checked_parameters(const char* where, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              double epsilon) {
  if (x.rank() == 0) throw ShapeError(where, "x has no axis to normalise, its shape is []");
  require_same_device(where, {x, weight, bias});
  if (!(epsilon > 0) || epsilon > 1e30) {
    throw ConfigError(where, fmt::format("epsilon must be positive and finite, not {}", epsilon));
  }
  return {parameter_or(where, "weight", weight, 1, x), parameter_or(where, "bias", bias, 0, x)};
}

/// Mean and 1 / deviation of each row.
Tensor statistics_for(const Tensor& x) {
  const std::int64_t width = x.size(-1);
  return Tensor::empty({width == 0 ? 0 : x.elements() / width, 2}, x.dtype(), x.device());
}

/// The GPU's, with the arguments of the CPU's.
template <typename T>
void layer_norm(Cuda gpu, Rows<const T> x, const T* residual, const T* weight, const T* bias, double epsilon, T* sum,
                T* y, Rows<T> statistics) {
  layer_norm(gpu,
             simt::LayerNorm<T>{x.count, x.width, x.data, residual, weight, bias, epsilon, sum, y, statistics.data});
}
template <typename T>
void layer_norm_backward(Cuda gpu, Rows<const T> x, const T* weight, Rows<const T> statistics, const T* dy,
                         const T* dsum, const LayerNormGradients<T>& gradients) {
  layer_norm_backward(
      gpu, simt::LayerNormInputBackward<T>{x.count, x.width, x.data, weight, statistics.data, dy, dsum, gradients.dx},
      gradients.dweight, gradients.dbias);
}

/// Gradients of x, weight and bias; those not asked for stay undefined. dsum, if defined, is added to that of x.
struct NormGradients {
  Tensor x, weight, bias;
};

NormGradients norm_gradients(const char* where, const Tensor& x, const Tensor& weight, const Tensor& statistics,
                             const Tensor& dy, const Tensor& dsum, bool needs_x, bool needs_parameters) {
  NormGradients result;
  if (needs_x) result.x = empty_like(x);
  if (needs_parameters) result = {result.x, empty_like(weight), empty_like(weight)};
  on_any_device(where, x, [&]<typename T>(auto backend, TypeTag<T>) {
    const auto or_null = [](Tensor& tensor) { return tensor.defined() ? device_data<T>(tensor) : nullptr; };
    layer_norm_backward<T>(backend, last_axis_rows<T>(x), device_data<T>(weight), rows_of<T>(statistics),
                           device_data<T>(dy), dsum.defined() ? device_data<T>(dsum) : nullptr,
                           {or_null(result.x), or_null(result.weight), or_null(result.bias)});
  });
  return result;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  const Parameters parameters = checked_parameters("layer_norm", x, weight, bias, epsilon);
  Tensor y = empty_like(x), statistics = statistics_for(x);
  on_any_device("layer_norm", x, [&]<typename T>(auto backend, TypeTag<T>) {
    layer_norm<T>(backend, last_axis_rows<T>(x), nullptr, device_data<T>(parameters.weight),
                  device_data<T>(parameters.bias), epsilon, nullptr, device_data<T>(y), rows_of<T>(statistics));
  });
  // With n = (x - mean) / deviation, y = n * weight + bias and g = dy * weight:
  //   dx = (g - mean(g) - n * mean(g * n)) / deviation,  dweight = sum over rows of dy * n,  dbias = sum of dy
  return autograd::record({.name = "layer_norm",
                           .inputs = {x, weight, bias},
                           .saved = {x, parameters.weight, statistics},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             auto [dx, dweight, dbias] =
                                 norm_gradients("layer_norm", call.saved(0), call.saved(1), call.saved(2),
                                                call.gradient(), {}, call.needs(0), call.needs(1) || call.needs(2));
                             return {dx, dweight, dbias};
                           }},
                          y);
}

SumAndNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias,
                          const AddLayerNormOptions& options) {
  const Parameters parameters = checked_parameters("add_layer_norm", x, weight, bias, options.epsilon);
  require_same_device("add_layer_norm", {x, residual});
  if (!(x.shape() == residual.shape()) || x.dtype() != residual.dtype()) {
    throw ShapeError("add_layer_norm",
                     fmt::format("x {} {} and residual {} {} must have the same shape and type", name_of(x.dtype()),
                                 to_string(x.shape()), name_of(residual.dtype()), to_string(residual.shape())));
  }
  Tensor y = empty_like(x), statistics = statistics_for(x), sum;
  if (options.keep_sum || autograd::should_record({x, residual, weight, bias})) sum = empty_like(x);
  on_any_device("add_layer_norm", x, [&]<typename T>(auto backend, TypeTag<T>) {
    layer_norm<T>(backend, last_axis_rows<T>(x), device_data<T>(residual), device_data<T>(parameters.weight),
                  device_data<T>(parameters.bias), options.epsilon, sum.defined() ? device_data<T>(sum) : nullptr,
                  device_data<T>(y), rows_of<T>(statistics));
  });

  // s = x + residual, y = layer_norm(s):  dx = dresidual = ds + (what layer_norm gives for s)
  std::vector<Tensor> outputs{y};
  if (options.keep_sum) outputs.push_back(sum);
  outputs = autograd::record({.name = "add_layer_norm",
                              .inputs = {x, residual, weight, bias},
                              .saved = {sum, parameters.weight, statistics},
                              .backward = [keep_sum = options.keep_sum](const BackwardCall& call) -> Gradients {
                                auto [ds, dweight, dbias] =
                                    norm_gradients("add_layer_norm", call.saved(0), call.saved(1), call.saved(2),
                                                   call.gradient(0), keep_sum ? call.gradient(1) : Tensor(),
                                                   call.needs(0) || call.needs(1), call.needs(2) || call.needs(3));
                                return {ds, ds, dweight, dbias};
                              }},
                             std::move(outputs));
  return {options.keep_sum ? outputs[1] : Tensor(), outputs[0]};
}

}  // namespace bough
