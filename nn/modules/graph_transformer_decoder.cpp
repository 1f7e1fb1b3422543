#include "bough/nn/graph_transformer_decoder.h"

#include <fmt/format.h>

#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"

namespace bough::nn {
namespace {

GraphSelfAttentionOptions attention_options(const GraphTransformerLayerOptions& options, std::int64_t num_relations) {
  if (options.soft_span) throw ConfigError("graph transformer decoder", "has no soft span; leave soft_span out");
  return {.dim = options.dim,
          .heads = options.heads,
          .num_relations = num_relations,
          .scale = options.scale,
          .bias = options.attention_bias,
          .dropout = options.attention_dropout,
          .relation_deviation = options.relation_deviation,
          .output_gain = options.output_gain};
}

void require_fitting(const Graph& graph, const Graph& cross, const Tensor& h, const Tensor& encoded) {
  constexpr const char* where = "graph transformer decoder";
  if (graph.is_bipartite() || !cross.is_bipartite() || cross.num_dst() != graph.num_nodes()) {
    throw GraphError(where, fmt::format("needs a graph over its own nodes and a bipartite one from the encoder's nodes "
                                        "to these, not {} nodes and {} to {}{}",
                                        graph.num_dst(), cross.num_src(), cross.num_dst(),
                                        cross.is_bipartite() ? "" : " that is not bipartite"));
  }
  if (h.rank() != 2 || h.size(0) != graph.num_nodes() || encoded.rank() != 2 || encoded.size(0) != cross.num_src()) {
    throw ShapeError(where,
                     fmt::format("the graphs have {} nodes and {} of the encoder, the inputs are {} and {}",
                                 graph.num_nodes(), cross.num_src(), to_string(h.shape()), to_string(encoded.shape())));
  }
}

}  // namespace

GraphTransformerDecoderLayer::GraphTransformerDecoderLayer(const GraphTransformerLayerOptions& options,
                                                           std::int64_t num_cross_relations)
    : attention(attention_options(options, options.num_relations)),
      cross_attention(attention_options(options, num_cross_relations)),
      feed_forward({.dim = options.dim,
                    .hidden = options.feed_forward,
                    .activation = options.activation,
                    .bias = options.feed_forward_bias,
                    .dropout = options.dropout,
                    .output_gain = options.output_gain}),
      attention_norm({.dim = options.dim}),
      cross_attention_norm({.dim = options.dim}),
      feed_forward_norm({.dim = options.dim}),
      dropout_(options.dropout),
      pre_norm_(options.pre_norm) {
  add_module("attention", attention);
  add_module("attention_norm", attention_norm);
  add_module("cross_attention", cross_attention);
  add_module("cross_attention_norm", cross_attention_norm);
  add_module("feed_forward", feed_forward);
  add_module("feed_forward_norm", feed_forward_norm);
  add_module("dropout", dropout_);
}

Tensor GraphTransformerDecoderLayer::forward(const Graph& graph, const Graph& cross, const Tensor& h,
                                             const Tensor& encoded) const {
  require_fitting(graph, cross, h, encoded);
  const auto residual = [this](const LayerNorm& norm, const Tensor& x, const auto& part) {
    return pre_norm_ ? x + dropout_.forward(part(norm.forward(x))) : norm.forward(dropout_.forward(part(x)), x);
  };
  const Tensor attended = residual(attention_norm, h, [&](const Tensor& x) { return attention.forward(graph, x); });
  const Tensor informed = residual(cross_attention_norm, attended,
                                   [&](const Tensor& x) { return cross_attention.forward(cross, encoded, x); });
  return residual(feed_forward_norm, informed, [&](const Tensor& x) { return feed_forward.forward(x); });
}

GraphTransformerDecoder::GraphTransformerDecoder(const GraphTransformerDecoderOptions& options)
    : checkpoint_layers_(options.checkpoint_layers) {
  if (options.layers < 1 || options.layers > 10000) {
    throw ConfigError("graph transformer decoder",
                      fmt::format("layers must be from 1 to 10000, not {}", options.layers));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(std::make_unique<GraphTransformerDecoderLayer>(options.layer, options.num_cross_relations));
    add_module("layer" + std::to_string(i), *layers_.back());
  }
  if (options.layer.pre_norm) {
    final_norm_ = std::make_unique<LayerNorm>(LayerNormOptions{.dim = options.layer.dim});
    add_module("final_norm", *final_norm_);
  }
}

Tensor GraphTransformerDecoder::forward(const Graph& graph, const Graph& cross, const Tensor& h,
                                        const Tensor& encoded) const {
  Tensor state = h;
  for (const auto& layer : layers_) {
    const auto run = [&layer = *layer, graph, cross](const std::vector<Tensor>& inputs) {
      return layer.forward(graph, cross, inputs[0], inputs[1]);
    };
    state = checkpoint_layers_ ? recompute(run, {state, encoded}) : run({state, encoded});
  }
  return final_norm_ == nullptr ? state : final_norm_->forward(state);
}

}  // namespace bough::nn
