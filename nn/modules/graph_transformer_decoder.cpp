#include "bough/nn/graph_transformer_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/ops/rows.h"
#include "kernels/ops/replace_rows.h"
#include "nn/modules/layer_parts.h"

namespace bough::nn {
namespace {

constexpr const char* decoder_name = "graph transformer decoder";

const GraphTransformerLayerOptions& checked(const GraphTransformerLayerOptions& options) {
  if (options.soft_span) throw ConfigError(decoder_name, "has no soft span; leave soft_span out");
  return options;
}

void require_cross_graph(const Graph& cross, std::int64_t destinations, const Tensor& encoded) {
  if (!cross.is_bipartite() || cross.num_dst() != destinations) {
    throw GraphError(decoder_name,
                     fmt::format("the cross graph must be bipartite, from the encoder's nodes to {} of the "
                                 "decoder; it goes {} {} to {}",
                                 destinations, cross.is_bipartite() ? "from" : "inside one set, from", cross.num_src(),
                                 cross.num_dst()));
  }
  if (encoded.rank() != 2 || encoded.size(0) != cross.num_src()) {
    throw ShapeError(decoder_name, fmt::format("the cross graph has {} nodes of the encoder, whose output is {}",
                                               cross.num_src(), to_string(encoded.shape())));
  }
}

/// layer(inputs), or what recompute makes of it.
template <typename F>
Tensor run(ActivationPolicy policy, const F& layer, const std::vector<Tensor>& inputs) {
  return policy == ActivationPolicy::checkpoint_layers ? recompute(layer, inputs) : layer(inputs);
}

}  // namespace

GraphTransformerDecoderOptions GraphTransformerDecoderOptions::for_graphs(const AttentionGraph& graph,
                                                                          const Graph& cross,
                                                                          GraphTransformerDecoderOptions options) {
  if (!graph.stages.empty() || graph.soft_span) {
    throw ConfigError(decoder_name, "takes patterns without stages and soft span");
  }
  options.layer = GraphTransformerOptions::for_graph(graph, {.layer = options.layer}).layer;
  if (options.num_cross_relations != 0 && options.num_cross_relations < cross.num_edge_types()) {
    throw ConfigError(decoder_name, fmt::format("num_cross_relations is {}, the cross graph has {}; leave it out",
                                                options.num_cross_relations, cross.num_edge_types()));
  }
  options.num_cross_relations = std::max(options.num_cross_relations, cross.num_edge_types());
  return options;
}

GraphTransformerDecoderLayer::GraphTransformerDecoderLayer(const GraphTransformerLayerOptions& options,
                                                           std::int64_t num_cross_relations)
    : attention(attention_options(checked(options), options.num_relations)),
      cross_attention(attention_options(options, num_cross_relations > 1 ? num_cross_relations : 0)),
      feed_forward(feed_forward_options(options)),
      attention_norm(norm_options(options)),
      cross_attention_norm(norm_options(options)),
      feed_forward_norm(norm_options(options)),
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
                                             const Tensor& encoded, ActivationPolicy policy) const {
  require_node_rows(decoder_name, graph, h);
  return forward(LayerStep{.graphs = {graph}}, cross, h, encoded, {}, policy);
}

Tensor GraphTransformerDecoderLayer::forward(const LayerStep& step, const Graph& cross, const Tensor& live,
                                             const Tensor& encoded, const Tensor& token_rows,
                                             ActivationPolicy policy) const {
  const auto add_part = [this, policy](const LayerNorm& norm, const Tensor& read, const Tensor& rows,
                                       const auto& part) {
    return residual(norm, dropout_, pre_norm_, read, rows, part, policy);
  };
  const Tensor attended = add_part(attention_norm, live, step.updated_rows, [&](const Tensor& nodes) {
    return attention.forward(
        step.graphs, nodes,
        {.sources = step.source_rows, .destinations = step.updated_rows, .distances = step.distances}, policy);
  });
  const Tensor tokens = token_rows.defined() ? gather_rows(attended, token_rows) : attended;
  require_cross_graph(cross, tokens.size(0), encoded);
  const Tensor informed = add_part(cross_attention_norm, tokens, {}, [&](const Tensor& queries) {
    return cross_attention.forward(cross, encoded, queries);
  });
  const Tensor all = token_rows.defined() ? replace_rows(attended, token_rows, informed) : informed;
  return add_part(feed_forward_norm, all, {}, [&](const Tensor& rows) { return feed_forward.forward(rows, policy); });
}

GraphTransformerDecoder::GraphTransformerDecoder(const GraphTransformerDecoderOptions& options) : options_(options) {
  if (options.layers < 1 || options.layers > 10000) {
    throw ConfigError(decoder_name, fmt::format("layers must be from 1 to 10000, not {}", options.layers));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(std::make_unique<GraphTransformerDecoderLayer>(options.layer, options.num_cross_relations));
    add_module("layer" + std::to_string(i), *layers_.back());
  }
  if (options.layer.pre_norm) {
    final_norm_ = std::make_unique<LayerNorm>(norm_options(options.layer));
    add_module("final_norm", *final_norm_);
  }
}

Tensor GraphTransformerDecoder::forward(const Graph& graph, const Graph& cross, const Tensor& h,
                                        const Tensor& encoded) const {
  Tensor state = h;
  for (const auto& layer : layers_) {
    const auto forward_layer = [&layer = *layer, graph, cross,
                                policy = options_.activations](const std::vector<Tensor>& inputs) {
      return layer.forward(graph, cross, inputs[0], inputs[1], policy);
    };
    state = run(options_.activations, forward_layer, {state, encoded});
  }
  return finish(state);
}

void GraphTransformerDecoder::require_fit(const LayerSchedule& schedule, const Graph& cross, const Tensor& tokens,
                                          const Tensor& encoded) const {
  require_inputs(decoder_name, schedule, options_.layers, options_.layer.dim, tokens);
  require_cross_graph(cross, schedule.num_tokens, encoded);
  for (std::size_t i = 0; i < schedule.layers.size(); ++i) {
    const std::vector<LayerStep>& stages = schedule.layers[i];
    if (stages.size() != 1 || stages[0].next_rows.defined() || schedule.num_outside > 0 || schedule.soft_span) {
      throw ConfigError(decoder_name, "takes patterns without stages, memory, fixed nodes and soft span");
    }
    const std::int64_t read =
        schedule.readout_rows[i].defined() ? schedule.readout_rows[i].size(0) : stages[0].graphs.front().num_dst();
    if (read != schedule.num_tokens) {
      throw ConfigError(decoder_name,
                        fmt::format("the schedule reads {} nodes, not the {} tokens; leave its readout out", read,
                                    schedule.num_tokens));
    }
  }
}

Tensor GraphTransformerDecoder::forward(const LayerSchedule& schedule, const Graph& cross, const Tensor& tokens,
                                        const Tensor& encoded) const {
  require_fit(schedule, cross, tokens, encoded);
  Tensor live = first_rows(schedule, tokens, {});
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto forward_layer = [&layer = *layers_[i], step = schedule.layers[i][0], rows = schedule.readout_rows[i],
                                cross, policy = options_.activations](const std::vector<Tensor>& inputs) {
      return layer.forward(step, cross, inputs[0], inputs[1], rows, policy);
    };
    live = run(options_.activations, forward_layer, {live, encoded});
  }
  const Tensor& rows = schedule.readout_rows.back();
  return finish(rows.defined() ? gather_rows(live, rows) : live);
}

}  // namespace bough::nn
