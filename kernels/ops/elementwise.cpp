#include "kernels/ops/elementwise.h"

#include <cmath>
#include <limits>

#include "bough/autograd/autograd.h"
#include "kernels/cuda/binary.h"
#include "kernels/cuda/unary.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/operands.h"

namespace bough {
namespace {

template <typename T>
bool holds(double value) {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bfloat16>)
    return true;
  else if constexpr (std::is_same_v<T, bool>)
    return value == 0 || value == 1;
  else {
    const double lowest = static_cast<double>(std::numeric_limits<T>::min());
    return std::trunc(value) == value && value >= lowest && value < -lowest;
  }
}

}  // namespace

void require_alike(const char* where, const Tensor& a, const Tensor& b) {
  require_defined(where, "the first operand", a);
  require_defined(where, "the second operand", b);
  if (a.dtype() != b.dtype()) {
    throw TypeError(
        where, fmt::format("takes two tensors of one type, not {} {} and {} {}; cast() converts", name_of(a.dtype()),
                           to_string(a.shape()), name_of(b.dtype()), to_string(b.shape())));
  }
  require_same_device(where, {a, b});
}

Tensor number_like(const char* where, double value, const Tensor& like) {
  require_defined(where, "the tensor", like);
  if (!visit_dtype(like.dtype(), [&]<typename T>(TypeTag<T>) { return holds<T>(value); })) {
    throw TypeError(where, fmt::format("the tensor holds {}, which has no {}; cast() converts the tensor",
                                       name_of(like.dtype()), value));
  }
  return full({}, value, like.dtype(), like.device());
}

Tensor binary_values(const char* where, BinaryFunction function, const Tensor& a, const Tensor& b) {
  require_alike(where, a, b);
  const Shape shape = broadcast_shapes(where, a.shape(), b.shape());
  Tensor result = Tensor::empty(shape, a.dtype(), a.device());
  on_any_device_number(where, a, [&]<typename T>(auto backend, TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      if (function == BinaryFunction::div) {
        throw TypeError(where, fmt::format("takes float32 or float64, not {}; cast() converts", name_of(a.dtype())));
      }
    }
    binary(backend, function, broadcast_layout<2>(shape, {a.shape(), b.shape()}), device_data<T>(a), device_data<T>(b),
           device_data<T>(result));
  });
  return result;
}

Tensor unary_operation(const char* where, UnaryFunction function, const Tensor& x, UnaryParameters parameters) {
  require_defined(where, "x", x);
  Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  on_any_device(where, x, [&]<typename T>(auto backend, TypeTag<T>) {
    unary(backend, function, parameters, device_data<T>(x), device_data<T>(y), x.elements());
  });
  return autograd::record({.name = where,
                           .inputs = {x},
                           .saved = {saves_result(function) ? y : x},
                           .backward = [where, function, parameters](const BackwardCall& call) -> Gradients {
                             const Tensor &saved = call.saved(0), &dy = call.gradient();
                             Tensor dx = empty_like(dy);
                             on_any_device(where, dy, [&]<typename T>(auto backend, TypeTag<T>) {
                               unary_backward(backend, function, parameters, device_data<T>(saved), device_data<T>(dy),
                                              device_data<T>(dx), dy.elements());
                             });
                             return {dx};
                           }},
                          y);
}

}  // namespace bough
