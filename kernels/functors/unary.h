#pragma once

#include <cmath>
#include <limits>

#include "bough/detail/host_device.h"

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

/// The functions on single numbers, for kernels that have a thread for each: value(x) gives y; gradient(s, dy) gives
/// dx, where s is y or x as saves_result says. The CPU has the same in vectors, with the derivations.
namespace scalar {

/// Where the gates below have long closed or opened, so that infinity times 0 cannot arise.
template <typename T>
BOUGH_HOST_DEVICE T bounded_below(T x) {
  return x < T{-1000} ? T{-1000} : x;
}
template <typename T>
BOUGH_HOST_DEVICE T bounded(T x) {
  return x > T{1000} ? T{1000} : bounded_below(x);
}
template <typename T>
BOUGH_HOST_DEVICE T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
/// The cumulative normal distribution.
template <typename T>
BOUGH_HOST_DEVICE T normal(T x) {
  return std::erfc(x * T(-0.70710678118654752440)) / 2;
}
/// (1 + tanh(u)) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3)
template <typename T>
BOUGH_HOST_DEVICE T tanh_gate(T x) {
  return sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x));
}

template <typename T>
BOUGH_HOST_DEVICE T value(UnaryFunction function, T first, T second, T x) {
  switch (function) {
    case UnaryFunction::abs:
      return std::fabs(x);
    case UnaryFunction::square:
      return x * x;
    case UnaryFunction::sqrt:
      return std::sqrt(x);
    case UnaryFunction::reciprocal:
      return 1 / x;
    case UnaryFunction::rsqrt:
      return 1 / std::sqrt(x);
    case UnaryFunction::pow:
      return std::pow(x, first);
    case UnaryFunction::clamp:
      return x < first ? first : x > second ? second : x;
    case UnaryFunction::exp:
      return std::exp(x);
    case UnaryFunction::log:
      return std::log(x);
    case UnaryFunction::tanh:
      return std::tanh(x);
    case UnaryFunction::sigmoid:
      return sigmoid(x);
    case UnaryFunction::silu:
      return bounded_below(x) * sigmoid(x);
    case UnaryFunction::relu:
      return x < 0 ? T{0} : x;
    case UnaryFunction::leaky_relu:
      return x > 0 ? x : x * first;
    case UnaryFunction::softplus:
      return (x < 0 ? T{0} : x) + std::log1p(std::exp(-std::fabs(x)));
    case UnaryFunction::elu:
      return x > 0 ? x : first * std::expm1(x);
    case UnaryFunction::gelu:
      return bounded_below(x) * normal(x);
    case UnaryFunction::gelu_tanh:
      return bounded_below(x) * tanh_gate(x);
  }
  return x;
}

template <typename T>
BOUGH_HOST_DEVICE T gradient(UnaryFunction function, T first, T second, T s, T dy) {
  switch (function) {
    case UnaryFunction::abs:
      return s < 0 ? -dy : s == 0 ? T{0} : dy;
    case UnaryFunction::square:
      return 2 * s * dy;
    case UnaryFunction::sqrt:
      return dy / (2 * s);
    case UnaryFunction::reciprocal:
      return -(s * s) * dy;
    case UnaryFunction::rsqrt:
      return s * s * s * T(-0.5) * dy;
    case UnaryFunction::pow:
      return first == 0 ? T{0} : first * std::pow(s, first - 1) * dy;
    case UnaryFunction::clamp:
      return s >= first && s <= second ? dy : T{0};
    case UnaryFunction::exp:
      return s * dy;
    case UnaryFunction::log:
      return dy / s;
    case UnaryFunction::tanh:
      return (1 - s * s) * dy;
    case UnaryFunction::sigmoid:
      return s * (1 - s) * dy;
    case UnaryFunction::silu: {
      const T gate = sigmoid(s);
      return gate * (1 + bounded(s) * (1 - gate)) * dy;
    }
    case UnaryFunction::relu:
      return s > 0 ? dy : T{0};
    case UnaryFunction::leaky_relu:
      return s > 0 ? dy : first * dy;
    case UnaryFunction::softplus:
      return -std::expm1(-s) * dy;
    case UnaryFunction::elu:
      return s > 0 ? dy : (s + first) * dy;
    case UnaryFunction::gelu: {
      const T density = std::exp(s * s * T(-0.5)) * T(0.39894228040143267794);
      return (normal(s) + bounded(s) * density) * dy;
    }
    case UnaryFunction::gelu_tanh: {
      const T gate = tanh_gate(s), x = bounded(s);
      const T slope = T(1.5957691216057308) * (1 + T(3 * 0.044715) * x * x);
      return (gate + x * slope * gate * (1 - gate)) * dy;
    }
  }
  return dy;
}

}  // namespace scalar
}  // namespace bough
