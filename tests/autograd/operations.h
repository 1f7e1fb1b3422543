#pragma once

#include <string>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"

/// Tiny operations written straight on the tape, so that its tests depend on nothing else.
namespace bough::tape_test {

/// The message of the AutogradError that f throws.
template <typename F>
std::string misuse(F f) {
  try {
    f();
  } catch (const AutogradError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <typename F>
Tensor map(const Tensor& x, F f) {
  Tensor y = empty_like(x);
  for (std::int64_t i = 0; i < x.elements(); ++i) y.data<double>()[i] = f(i);
  return y;
}

inline Tensor square(const Tensor& x) {
  const double* in = x.data<double>();
  return autograd::record(
      {.name = "square",
       .inputs = {x},
       .saved = {x},
       .backward = [](const BackwardCall& call) -> Gradients {
         const Tensor& saved = call.saved(0);
         const Tensor& dy = call.gradient();
         return {map(saved, [&](std::int64_t i) { return 2 * saved.data<double>()[i] * dy.data<double>()[i]; })};
       }},
      map(x, [&](std::int64_t i) { return in[i] * in[i]; }));
}

inline Tensor add(const Tensor& a, const Tensor& b) {
  return autograd::record({.name = "add",
                           .inputs = {a, b},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             return {call.gradient(), call.gradient()};
                           }},
                          map(a, [&](std::int64_t i) { return a.data<double>()[i] + b.data<double>()[i]; }));
}

inline Tensor total(const Tensor& x) {
  Tensor y = zeros({}, DType::float64);
  for (std::int64_t i = 0; i < x.elements(); ++i) y.data<double>()[0] += x.data<double>()[i];
  return autograd::record({.name = "total",
                           .inputs = {x},
                           .backward = [shape = x.shape()](const BackwardCall& call) -> Gradients {
                             return {full(shape, call.gradient().item<double>(), DType::float64)};
                           }},
                          y);
}

inline Tensor leaf(const std::vector<double>& values) {
  Tensor x = Tensor::from_vector(values, {static_cast<std::int64_t>(values.size())});
  x.set_requires_grad(true);
  return x;
}

}  // namespace bough::tape_test
