#include "bough/ops/activation.h"

#include <cmath>

#include "kernels/ops/elementwise.h"

namespace bough {
namespace {

void require_nonnegative(const char* where, const char* name, double value) {
  if (!(value >= 0) || std::isinf(value)) {
    throw ConfigError(where, fmt::format("{} must be a number >= 0, {} was given", name, value));
  }
}

}  // namespace

Tensor exp(const Tensor& x) { return unary_operation("exp", UnaryFunction::exp, x); }
Tensor log(const Tensor& x) { return unary_operation("log", UnaryFunction::log, x); }
Tensor tanh(const Tensor& x) { return unary_operation("tanh", UnaryFunction::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary_operation("sigmoid", UnaryFunction::sigmoid, x); }
Tensor silu(const Tensor& x) { return unary_operation("silu", UnaryFunction::silu, x); }
Tensor relu(const Tensor& x) { return unary_operation("relu", UnaryFunction::relu, x); }
Tensor softplus(const Tensor& x) { return unary_operation("softplus", UnaryFunction::softplus, x); }

Tensor leaky_relu(const Tensor& x, const LeakyReluOptions& options) {
  require_nonnegative("leaky_relu", "slope", options.slope);
  return unary_operation("leaky_relu", UnaryFunction::leaky_relu, x, {.first = options.slope});
}

Tensor elu(const Tensor& x, const EluOptions& options) {
  require_nonnegative("elu", "alpha", options.alpha);
  return unary_operation("elu", UnaryFunction::elu, x, {.first = options.alpha});
}

Tensor gelu(const Tensor& x, const GeluOptions& options) {
  return unary_operation("gelu", options.tanh_approximation ? UnaryFunction::gelu_tanh : UnaryFunction::gelu, x);
}

}  // namespace bough
