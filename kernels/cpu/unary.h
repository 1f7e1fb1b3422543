#pragma once

#include "kernels/on_device.h"

namespace bough {

/// Functions of one element. `first` and `second` of UnaryParameters mean what is said behind the name.
enum class UnaryFunction {
  abs,
  square,
  sqrt,
  reciprocal,
  rsqrt,
  pow,    // exponent
  clamp,  // low, high
  exp,
  log,
  tanh,
  sigmoid,
  silu,
  relu,
  leaky_relu,  // slope
  softplus,
  elu,  // alpha
  gelu,
  gelu_tanh,
};

struct UnaryParameters {
  double first = 0;
  double second = 0;
};

/// Whether the gradient is computed from the function's result; from its argument otherwise.
constexpr bool saves_result(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::sqrt:
    case UnaryFunction::reciprocal:
    case UnaryFunction::rsqrt:
    case UnaryFunction::exp:
    case UnaryFunction::tanh:
    case UnaryFunction::sigmoid:
    case UnaryFunction::relu:
    case UnaryFunction::leaky_relu:
    case UnaryFunction::softplus:
    case UnaryFunction::elu:
      return true;
    default:
      return false;
  }
}

/// y = f(x). T: float, double.
template <typename T>
void unary(Cpu, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count);

/// dx = f'(x) dy, where saved is y or x as saves_result says.
template <typename T>
void unary_gradient(Cpu, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count);

}  // namespace bough
