#include "bough/nn/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/dropout.h"
#include "bough/ops/embedding.h"
#include "bough/ops/layer_norm.h"
#include "nn/modules/layer_parts.h"

namespace bough::nn {
namespace {

std::int64_t positive(const char* where, const char* what, std::int64_t value) {
  if (value < 1) throw ConfigError(where, fmt::format("{} must be at least 1, not {}", what, value));
  return value;
}

}  // namespace

Linear::Linear(const LinearOptions& options)
    : weight(
          xavier_uniform({positive("linear", "out", options.out), positive("linear", "in", options.in)}, options.gain)),
      activation_(options.activation) {
  add_weight_matrix("weight", weight);
  if (options.bias) {
    bias = zeros({options.out});
    add_parameter("bias", bias);
  }
}

Tensor Linear::forward(const Tensor& x, ActivationPolicy policy) const {
  if (policy != ActivationPolicy::recompute_cheap) return linear(x, weight, bias, activation_);
  return recompute_value([activation = activation_](const auto& in) { return linear(in[0], in[1], in[2], activation); },
                         {x, weight, bias});
}

Embedding::Embedding(const EmbeddingOptions& options)
    : weight(normal({positive("embedding", "count", options.count), positive("embedding", "dim", options.dim)},
                    options.standard_deviation > 0 ? options.standard_deviation
                                                   : 1 / std::sqrt(static_cast<double>(options.dim)))),
      sparse_gradient_(options.sparse_gradient) {
  add_parameter("weight", weight);
}

Tensor Embedding::forward(const Tensor& index) const {
  return embedding(weight, index, {.sparse_gradient = sparse_gradient_});
}

Tensor Embedding::project(const Tensor& x) const { return linear(x, weight); }

LayerNorm::LayerNorm(const LayerNormOptions& options)
    : weight(ones({positive("layer_norm", "dim", options.dim)})),
      bias(zeros({options.dim})),
      epsilon_(options.epsilon) {
  add_parameter("weight", weight);
  add_parameter("bias", bias);
}

Tensor LayerNorm::forward(const Tensor& x, ActivationPolicy policy) const {
  if (policy != ActivationPolicy::recompute_cheap) return layer_norm(x, weight, bias, epsilon_);
  return recompute_value([epsilon = epsilon_](const auto& in) { return layer_norm(in[0], in[1], in[2], epsilon); },
                         {x, weight, bias});
}

Tensor LayerNorm::forward(const Tensor& x, const Tensor& residual, ActivationPolicy policy) const {
  if (policy == ActivationPolicy::recompute_cheap && grad_enabled()) return forward(x + residual, policy);
  return add_layer_norm(x, residual, weight, bias, {.epsilon = epsilon_, .keep_sum = false}).normalized;
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p < 1)) throw ConfigError("dropout", fmt::format("p must be in [0, 1), not {}", p));
}

Tensor Dropout::forward(const Tensor& x, ActivationPolicy policy) const {
  if (!active()) return x;
  if (policy != ActivationPolicy::recompute_cheap) return dropout(x, p_);
  return recompute_value([p = p_](const auto& in) { return dropout(in[0], p); }, {x});
}

FeedForward::FeedForward(const FeedForwardOptions& options)
    : inner({.in = positive("feed-forward", "dim", options.dim),
             .out = positive("feed-forward", "hidden", options.hidden),
             .bias = options.bias,
             .activation = options.activation}),
      outer({.in = options.hidden, .out = options.dim, .bias = options.bias, .gain = options.output_gain}),
      dropout_(options.dropout) {
  add_module("inner", inner);
  add_module("outer", outer);
  add_module("dropout", dropout_);
}

Tensor FeedForward::forward(const Tensor& x, ActivationPolicy policy) const {
  return in_row_blocks(x, drops(), [this, policy](const Tensor& rows) {
    return outer.forward(dropout_.forward(inner.forward(rows, policy), policy));
  });
}

}  // namespace bough::nn
