#pragma once

#include <memory>
#include <vector>

#include "bough/nn/graph_transformer.h"

namespace bough::nn {

/// A layer that also reads the output of an encoder: self-attention, attention to the encoder's nodes along a bipartite
/// graph, feed-forward; each part with its residual sum and its norm, after the sum or, with pre_norm, before the part.
/// The encoder's output is read as it is given, without a norm.
class GraphTransformerDecoderLayer : public Module {
 public:
  /// options.num_relations are those of the self-attention graph; cross-attention has its own table, from two relations
  /// on: a single one adds the same to all scores of a node, so its key would never change a result.
  explicit GraphTransformerDecoderLayer(const GraphTransformerLayerOptions& options,
                                        std::int64_t num_cross_relations = 0);

  /// h [num_nodes, dim], encoded [cross.num_src, dim] -> [num_nodes, dim]. `cross` is bipartite, from the encoder's
  /// nodes to those of `graph`; a node it has no edge to gets the projection of zeros from there.
  Tensor forward(const Graph& graph, const Graph& cross, const Tensor& h, const Tensor& encoded,
                 ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// One step: live rows before -> rows updated. Of these, `token_rows` (undefined = all, in order) are the
  /// destinations of `cross`; the others skip that part, norm included.
  Tensor forward(const LayerStep& step, const Graph& cross, const Tensor& live, const Tensor& encoded,
                 const Tensor& token_rows, ActivationPolicy policy = ActivationPolicy::save_all) const;

  /// The parts, in the order in which they run, and their norms.
  GraphSelfAttention attention, cross_attention;
  FeedForward feed_forward;
  LayerNorm attention_norm, cross_attention_norm, feed_forward_norm;

 private:
  Dropout dropout_;
  bool pre_norm_;
};

/// Options of GraphTransformerDecoder.
struct GraphTransformerDecoderOptions {
  std::int64_t layers = 1;                                     ///< how many
  GraphTransformerLayerOptions layer = {};                     ///< of each layer
  std::int64_t num_cross_relations = 0;                        ///< of the graphs from the encoder
  ActivationPolicy activations = ActivationPolicy::automatic;  ///< automatic means save_all here

  /// The options with the relations of both graphs, as GraphTransformerOptions::for_graph. ConfigError for a graph with
  /// stages or a soft span, which the decoder does not run on.
  static GraphTransformerDecoderOptions for_graphs(const AttentionGraph& graph, const Graph& cross,
                                                   GraphTransformerDecoderOptions options);
};

/// A stack of decoder layers over one pair of graphs; with pre_norm a last normalisation follows.
class GraphTransformerDecoder : public Module {
 public:
  /// Makes the parameters.
  explicit GraphTransformerDecoder(const GraphTransformerDecoderOptions& options);

  /// Runs like one layer. Causality follows from the graphs: nothing flows where there is no edge.
  Tensor forward(const Graph& graph, const Graph& cross, const Tensor& h, const Tensor& encoded) const;
  /// Any attention graph without stages, memory and soft span, with the tokens as read-out: token inputs [num_tokens,
  /// dim], encoded [cross.num_src, dim] -> the tokens. Only what they need is computed. `cross` goes to the tokens, as
  /// the pattern "cross" has it; other nodes start from zeros and read only each other and the tokens.
  Tensor forward(const LayerSchedule& schedule, const Graph& cross, const Tensor& tokens, const Tensor& encoded) const;

  /// The options given; the number of layers, and one of them.
  const GraphTransformerDecoderOptions& options() const { return options_; }
  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers_.size()); }
  GraphTransformerDecoderLayer& layer(std::int64_t index) { return *layers_.at(static_cast<std::size_t>(index)); }
  const GraphTransformerDecoderLayer& layer(std::int64_t index) const {
    return *layers_.at(static_cast<std::size_t>(index));
  }
  /// What follows the last layer: the normalisation that pre_norm needs, else nothing.
  Tensor finish(const Tensor& h) const { return final_norm_ == nullptr ? h : final_norm_->forward(h); }

 private:
  void require_fit(const LayerSchedule& schedule, const Graph& cross, const Tensor& tokens,
                   const Tensor& encoded) const;

  std::vector<std::unique_ptr<GraphTransformerDecoderLayer>> layers_;
  std::unique_ptr<LayerNorm> final_norm_;
  GraphTransformerDecoderOptions options_;
};

}  // namespace bough::nn
