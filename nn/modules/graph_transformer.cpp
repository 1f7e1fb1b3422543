#include "bough/nn/graph_transformer.h"

#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/rows.h"

namespace bough::nn {

Tensor index_tensor(const IdArray& ids) { return Tensor::from_span(ids.span(), {ids.size()}); }

GraphTransformerLayer::GraphTransformerLayer(const GraphTransformerLayerOptions& options)
    : attention({.dim = options.dim,
                 .heads = options.heads,
                 .num_relations = options.num_relations,
                 .scale = options.scale,
                 .bias = options.attention_bias,
                 .dropout = options.attention_dropout,
                 .relation_deviation = options.relation_deviation,
                 .output_gain = options.output_gain}),
      feed_forward({.dim = options.dim,
                    .hidden = options.feed_forward,
                    .activation = options.activation,
                    .bias = options.feed_forward_bias,
                    .dropout = options.dropout,
                    .output_gain = options.output_gain}),
      attention_norm({.dim = options.dim}),
      feed_forward_norm({.dim = options.dim}),
      dropout_(options.dropout),
      pre_norm_(options.pre_norm) {
  add_module("attention", attention);
  add_module("attention_norm", attention_norm);
  add_module("feed_forward", feed_forward);
  add_module("feed_forward_norm", feed_forward_norm);
  add_module("dropout", dropout_);
}

Tensor GraphTransformerLayer::forward(const Graph& graph, const Tensor& h) const { return run(graph, h, {}); }

Tensor GraphTransformerLayer::forward(const LayerView& view, const Tensor& sources) const {
  const bool whole = !view.graph.is_bipartite();
  return run(view.graph, sources, whole ? Tensor() : index_tensor(view.destination_rows));
}

Tensor GraphTransformerLayer::run(const Graph& graph, const Tensor& sources, const Tensor& rows) const {
  // The rows of the sources that are computed; all of them unless told otherwise.
  const auto destinations = [&rows](const Tensor& x) { return rows.defined() ? gather_rows(x, rows) : x; };
  const Tensor h = destinations(sources);
  if (pre_norm_) {
    const Tensor normalized = attention_norm.forward(sources);
    const Tensor z = h + dropout_.forward(attention.forward(graph, normalized, destinations(normalized)));
    return z + dropout_.forward(feed_forward.forward(feed_forward_norm.forward(z)));
  }
  const Tensor z = attention_norm.forward(dropout_.forward(attention.forward(graph, sources, h)), h);
  return feed_forward_norm.forward(dropout_.forward(feed_forward.forward(z)), z);
}

GraphTransformer::GraphTransformer(const GraphTransformerOptions& options) {
  if (options.layers < 1 || options.layers > 10000) {
    throw ConfigError("graph transformer", fmt::format("layers must be from 1 to 10000, not {}", options.layers));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(std::make_unique<GraphTransformerLayer>(options.layer));
    add_module("layer" + std::to_string(i), *layers_.back());
  }
  if (options.layer.pre_norm) {
    final_norm_ = std::make_unique<LayerNorm>(LayerNormOptions{.dim = options.layer.dim});
    add_module("final_norm", *final_norm_);
  }
}

Tensor GraphTransformer::forward(const Graph& graph, const Tensor& h) const {
  Tensor state = h;
  for (const auto& layer : layers_) state = layer->forward(graph, state);
  return finish(state);
}

Tensor GraphTransformer::forward(const NeededNodes& needed, const Tensor& h) const {
  if (needed.layers.size() != layers_.size()) {
    throw ConfigError("graph transformer", fmt::format("the needed nodes are those of {} layers, the model has {}",
                                                       needed.layers.size(), layers_.size()));
  }
  Tensor state = h;
  for (std::size_t i = 0; i < layers_.size(); ++i) state = layers_[i]->forward(needed.layers[i], state);
  return finish(gather_rows(state, index_tensor(needed.readout_rows)));
}

}  // namespace bough::nn
