#include "bough/ops/arithmetic.h"

#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/ops/compare.h"
#include "bough/ops/reduce.h"
#include "kernels/ops/elementwise.h"

namespace bough {
namespace {

/// The larger or smaller of two. y = a where `takes_a`, else b:  da = dy where y came from a, db = dy elsewhere
Tensor extreme(const char* where_, BinaryFunction function, Tensor (*takes_a)(const Tensor&, const Tensor&),
               const Tensor& a, const Tensor& b) {
  Tensor y = binary_values(where_, function, a, b);
  if (!autograd::should_record({a, b})) return y;
  return autograd::record({.name = where_,
                           .inputs = {a, b},
                           .saved = {takes_a(a, b)},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor &from_first = call.saved(0), &dy = call.gradient();
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(where(from_first, dy, 0), from_a);
                             if (call.needs(1)) gradients[1] = sum_to_shape(where(from_first, 0, dy), from_b);
                             return gradients;
                           }},
                          y);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  // y = a + b:  da = dy, db = dy
  return autograd::record({.name = "add",
                           .inputs = {a, b},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(call.gradient(), from_a);
                             if (call.needs(1)) gradients[1] = sum_to_shape(call.gradient(), from_b);
                             return gradients;
                           }},
                          binary_values("add", BinaryFunction::add, a, b));
}

Tensor sub(const Tensor& a, const Tensor& b) {
  // y = a - b:  da = dy, db = -dy
  return autograd::record({.name = "sub",
                           .inputs = {a, b},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(call.gradient(), from_a);
                             if (call.needs(1)) gradients[1] = neg(sum_to_shape(call.gradient(), from_b));
                             return gradients;
                           }},
                          binary_values("sub", BinaryFunction::sub, a, b));
}

Tensor mul(const Tensor& a, const Tensor& b) {
  // y = a b:  da = b dy, db = a dy
  return autograd::record({.name = "mul",
                           .inputs = {a, b},
                           .saved = {b.requires_grad() ? a : Tensor(), a.requires_grad() ? b : Tensor()},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor& dy = call.gradient();
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(mul(dy, call.saved(1)), from_a);
                             if (call.needs(1)) gradients[1] = sum_to_shape(mul(dy, call.saved(0)), from_b);
                             return gradients;
                           }},
                          binary_values("mul", BinaryFunction::mul, a, b));
}

Tensor div(const Tensor& a, const Tensor& b) {
  Tensor y = binary_values("div", BinaryFunction::div, a, b);
  // y = a / b:  da = dy / b, db = -y dy / b
  return autograd::record({.name = "div",
                           .inputs = {a, b},
                           .saved = {b, b.requires_grad() ? y : Tensor()},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor quotient = div(call.gradient(), call.saved(0));
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(quotient, from_a);
                             if (call.needs(1)) gradients[1] = neg(sum_to_shape(mul(quotient, call.saved(1)), from_b));
                             return gradients;
                           }},
                          y);
}

Tensor add(const Tensor& a, double b) { return add(a, number_like("add", b, a)); }
Tensor sub(const Tensor& a, double b) { return sub(a, number_like("sub", b, a)); }
Tensor sub(double a, const Tensor& b) { return sub(number_like("sub", a, b), b); }
Tensor mul(const Tensor& a, double b) { return mul(a, number_like("mul", b, a)); }
Tensor div(const Tensor& a, double b) { return div(a, number_like("div", b, a)); }
Tensor div(double a, const Tensor& b) { return div(number_like("div", a, b), b); }

Tensor maximum(const Tensor& a, const Tensor& b) {
  return extreme("maximum", BinaryFunction::maximum, greater_equal, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return extreme("minimum", BinaryFunction::minimum, less_equal, a, b);
}
Tensor maximum(const Tensor& a, double b) { return maximum(a, number_like("maximum", b, a)); }
Tensor minimum(const Tensor& a, double b) { return minimum(a, number_like("minimum", b, a)); }

Tensor neg(const Tensor& x) { return mul(x, number_like("neg", -1, x)); }

Tensor abs(const Tensor& x) { return unary_operation("abs", UnaryFunction::abs, x); }
Tensor square(const Tensor& x) { return unary_operation("square", UnaryFunction::square, x); }
Tensor sqrt(const Tensor& x) { return unary_operation("sqrt", UnaryFunction::sqrt, x); }
Tensor reciprocal(const Tensor& x) { return unary_operation("reciprocal", UnaryFunction::reciprocal, x); }
Tensor rsqrt(const Tensor& x) { return unary_operation("rsqrt", UnaryFunction::rsqrt, x); }

Tensor pow(const Tensor& x, double exponent) {
  if (!std::isfinite(exponent)) throw ConfigError("pow", fmt::format("the exponent must be finite, not {}", exponent));
  if (exponent == 2) return square(x);
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -1) return reciprocal(x);
  if (exponent == -0.5) return rsqrt(x);
  return unary_operation("pow", UnaryFunction::pow, x, {.first = exponent});
}

Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high))
    throw ConfigError("clamp", fmt::format("low must not be above high, {} and {} were given", low, high));
  return unary_operation("clamp", UnaryFunction::clamp, x, {.first = low, .second = high});
}

}  // namespace bough
