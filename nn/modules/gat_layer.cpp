#include "bough/nn/gat_layer.h"

#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/edge_softmax.h"
#include "bough/ops/gsddmm.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/reduce.h"

namespace bough::nn {
namespace {

constexpr std::int64_t widest = 1'000'000'000;

const GatLayerOptions& checked(const GatLayerOptions& options) {
  if (options.out < 1 || options.heads < 1 || options.out > widest / options.heads) {
    throw ConfigError("gat layer", fmt::format("out {} and heads {} must be at least 1, their product at most {}",
                                               options.out, options.heads, widest));
  }
  if (!(options.slope >= 0)) {
    throw ConfigError("gat layer", fmt::format("slope must not be negative, it is {}", options.slope));
  }
  return options;
}

/// h [rows, heads, out], attention [heads, out] -> what each row brings to the scores of its edges, [rows, heads].
Tensor part_of_score(const Tensor& h, const Tensor& attention) { return sum(h * attention, -1); }

}  // namespace

GatLayer::GatLayer(const GatLayerOptions& options)
    : projection({.in = checked(options).in, .out = options.heads * options.out, .bias = false}),
      source_attention(xavier_uniform({options.heads, options.out})),
      destination_attention(xavier_uniform({options.heads, options.out})),
      options_(options),
      dropout_(options.dropout) {
  add_parameter("source_attention", source_attention);
  add_parameter("destination_attention", destination_attention);
  if (options.bias) {
    bias = zeros({options.concatenate ? options.heads * options.out : options.out});
    add_parameter("bias", bias);
  }
  add_module("projection", projection);
  add_module("dropout", dropout_);
}

Tensor GatLayer::forward(const Graph& graph, const Tensor& x) const { return forward(graph, x, x); }

Tensor GatLayer::forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const {
  const auto project = [this](const Tensor& x) {
    const Tensor h = projection.forward(x);
    return h.reshape({h.size(0), options_.heads, options_.out});
  };
  const Tensor h = project(sources);
  const Tensor at_destinations = destinations.same_as(sources) ? h : project(destinations);
  const Tensor scores = gsddmm(graph, BinaryOp::add, part_of_score(h, source_attention),
                               part_of_score(at_destinations, destination_attention));
  const Tensor weights = dropout_.forward(edge_softmax(graph, leaky_relu(scores, {.slope = options_.slope})));
  const Tensor received =
      gspmm(graph, BinaryOp::mul, ReduceOp::sum, h, weights.reshape({weights.size(0), options_.heads, 1}));
  const Tensor joined =
      options_.concatenate ? received.reshape({received.size(0), options_.heads * options_.out}) : mean(received, 1);
  return bias.defined() ? joined + bias : joined;
}

}  // namespace bough::nn
