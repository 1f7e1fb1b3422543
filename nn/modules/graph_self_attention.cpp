#include "bough/nn/graph_self_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/graph_attention.h"

namespace bough::nn {
namespace {

const GraphSelfAttentionOptions& checked(const GraphSelfAttentionOptions& options) {
  if (options.dim < 1 || options.heads < 1 || options.dim % options.heads != 0) {
    throw ConfigError("graph self-attention", fmt::format("dim {} must be a multiple of heads {}, both at least 1",
                                                          options.dim, options.heads));
  }
  if (options.num_relations < 0) {
    throw ConfigError("graph self-attention",
                      fmt::format("num_relations must not be negative, it is {}", options.num_relations));
  }
  return options;
}

LinearOptions projection(const GraphSelfAttentionOptions& options, double gain = 1) {
  return {.in = options.dim, .out = options.dim, .bias = options.bias, .gain = gain};
}

}  // namespace

GraphSelfAttention::GraphSelfAttention(const GraphSelfAttentionOptions& options)
    : query(projection(checked(options))),
      key(projection(options)),
      value(projection(options)),
      output(projection(options, options.output_gain)),
      options_(options) {
  add_module("query", query);
  add_module("key", key);
  add_module("value", value);
  add_module("output", output);
  if (options.num_relations > 0) {
    relation_keys = normal({options.num_relations, options.dim / options.heads}, options.relation_deviation);
    add_parameter("relation_keys", relation_keys);
  }
}

Tensor GraphSelfAttention::forward(const Graph& graph, const Tensor& h) const { return forward(graph, h, h); }

Tensor GraphSelfAttention::forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const {
  return forward(std::span(&graph, 1), sources, destinations);
}

Tensor GraphSelfAttention::forward(std::span<const Graph> graphs, const Tensor& sources,
                                   const Tensor& destinations) const {
  const std::int64_t head_dim = options_.dim / options_.heads;
  const auto heads = [&](const Tensor& x) { return x.reshape({x.size(0), options_.heads, head_dim}); };
  const std::int64_t scaled_by = options_.scale == GraphSelfAttentionOptions::Scale::dim ? options_.dim : head_dim;
  const Tensor attended = graph_attention(graphs, heads(query.forward(destinations)), heads(key.forward(sources)),
                                          heads(value.forward(sources)),
                                          {.relation_keys = relation_keys,
                                           .scale = 1 / std::sqrt(static_cast<double>(scaled_by)),
                                           .dropout = is_training() ? options_.dropout : 0});
  return output.forward(attended.reshape({destinations.size(0), options_.dim}));
}

}  // namespace bough::nn
