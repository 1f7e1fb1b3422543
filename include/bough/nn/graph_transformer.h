#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/activation_policy.h"
#include "bough/nn/graph_self_attention.h"
#include "bough/nn/layer_schedule.h"
#include "bough/nn/layers.h"

namespace bough::nn {

/// Options of one layer.
struct GraphTransformerLayerOptions {
  std::int64_t dim = 0;            ///< width of the nodes
  std::int64_t heads = 1;          ///< divides dim
  std::int64_t feed_forward = 0;   ///< width of the hidden layer; 0 = four times dim
  std::int64_t num_relations = 0;  ///< as in GraphSelfAttentionOptions; for_graph sets it
  bool ignore_relations = false;   ///< as in GraphSelfAttentionOptions
  /// Normalise what goes into each part instead of each sum. Off, as the paper and torch have it; experiments in JSON
  /// have it on unless they say "norm": "post", because they have a short warm-up, which suffices for pre-norm layers.
  bool pre_norm = false;
  double norm_epsilon = 1e-5;                ///< added to the variance by every normalisation
  Activation activation = Activation::relu;  ///< of the feed-forward part
  bool attention_bias = false;               ///< of the four projections
  bool feed_forward_bias = true;             ///< of both its layers
  double dropout = 0;                        ///< on the results of attention and feed-forward, and inside the latter
  double attention_dropout = 0;              ///< on the attention weights
  GraphSelfAttentionOptions::Scale scale =
      GraphSelfAttentionOptions::Scale::head_dim;  ///< as in GraphSelfAttentionOptions
  double relation_deviation = 0.1;                 ///< of the first values of the relation keys
  double output_gain = 1;  ///< of the last projection of each part; 1 / sqrt(2 layers) keeps deep sums level
  std::optional<SoftSpan> soft_span = {};  ///< of graphs whose heads learn how far they reach; for_graph sets it
  double initial_span = 0.25;              ///< share of the largest span where heads start, above 0 and below 1
};

/// One layer: Z = norm(H + attention(H)), H' = norm(Z + feed_forward(Z)), as the paper has it; or, with pre_norm,
/// Z = H + attention(norm(H)), H' = Z + feed_forward(norm(Z)).
class GraphTransformerLayer : public Module {
 public:
  /// Makes the parameters.
  explicit GraphTransformerLayer(const GraphTransformerLayerOptions& options);

  // Of the policies, recompute_cheap has an effect here; the others keep everything. A stack checkpoints its layers.

  /// h [num_nodes, dim] -> [num_nodes, dim].
  Tensor forward(const Graph& graph, const Tensor& h, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// One step: live rows before -> live rows after. `outside` are rows that are read in front of those live.
  Tensor forward(const LayerStep& step, Tensor live, const Tensor& outside = {},
                 ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// The weights with which a step attends, as GraphSelfAttention::weights gives them; `live` as forward takes it.
  std::vector<Tensor> attention_weights(const LayerStep& step, const Tensor& live) const;
  /// The layer around any way of attending: attend gets what is read as the attention sees it and gives a row for each
  /// of `rows` among them: those to update, an index tensor, undefined = all.
  Tensor forward_around(Tensor read, const Tensor& rows, FunctionRef<Tensor(const Tensor&)> attend,
                        ActivationPolicy policy = ActivationPolicy::save_all) const;

  /// The parts, in the order in which they run; both norms.
  GraphSelfAttention attention;
  FeedForward feed_forward;
  LayerNorm attention_norm, feed_forward_norm;

 private:
  Tensor update(std::span<const Graph> graphs, Tensor nodes, const AttentionRows& rows, ActivationPolicy policy) const;

  Dropout dropout_;
  bool pre_norm_;
};

/// Options of GraphTransformer.
struct GraphTransformerOptions {
  std::int64_t layers = 1;                  ///< how many
  GraphTransformerLayerOptions layer = {};  ///< of each layer
  std::int64_t stages = 1;     ///< of the graph: each has its own parameters in every layer; for_graph sets it
  bool trained_start = false;  ///< nodes that are no tokens start from a trained vector instead of zeros
  ActivationPolicy activations = ActivationPolicy::automatic;  ///< what is kept for backward

  /// The options with what the graph decides: relations, stages, soft span.
  ///
  ///     GraphTransformer model(GraphTransformerOptions::for_graph(
  ///         graph, {.layers = 4, .layer = {.dim = 128, .heads = 4, .feed_forward = 512}}));
  ///
  /// A larger num_relations than the graph's is kept, for graphs of longer sequences. ConfigError if the options say
  /// something else than the graph: fewer relations, other stages, another soft span, heads that its head groups do not
  /// divide.
  static GraphTransformerOptions for_graph(const AttentionGraph& graph, GraphTransformerOptions options);
  /// The same for the graphs of a generator of up to max_length tokens. Builds a short one.
  static GraphTransformerOptions for_graph(const GraphGenerator& generator, std::int64_t max_length,
                                           GraphTransformerOptions options);
};

/// What a layer does that updates so many nodes, in a model over so many tokens: options.activations, with automatic
/// resolved to save_all or recompute_cheap.
ActivationPolicy activation_policy(const GraphTransformerOptions& options, std::int64_t nodes, std::int64_t tokens);

/// What each layer saw of earlier tokens: one tensor a layer, without gradient.
struct SegmentMemory {
  std::vector<Tensor> layers;  ///< what the next segment reads
};

/// What a pass may do beside computing.
struct ForwardOptions {
  /// Graphs that read rows from outside read them here, and replace them by what the next segment should read. An
  /// empty memory fits a graph that reads nothing yet.
  SegmentMemory* memory = nullptr;
  /// Called with the read-out rows after each layer but the last, before any last normalisation.
  std::function<void(std::int64_t layer, const Tensor& readout)> after_layer = {};
  /// Called with the rows that are live before each step: what GraphTransformerLayer::attention_weights takes, of a
  /// graph that reads nothing from outside.
  std::function<void(std::int64_t layer, std::int64_t stage, const Tensor& live)> before_step = {};
};

/// A stack of layers over one graph; with pre_norm a last normalisation follows.
class GraphTransformer : public Module {
 public:
  /// Makes the parameters.
  explicit GraphTransformer(const GraphTransformerOptions& options);

  /// h [num_nodes, dim] -> [num_nodes, dim]; all nodes, tokens and others. ConfigError for a model of several stages
  /// and for the graph of an attention pattern that its edges alone do not describe (see AttentionForm).
  Tensor forward(const Graph& graph, const Tensor& h) const;
  /// Any attention graph: token inputs [num_tokens, dim] -> the read-out nodes, which are the tokens unless the
  /// schedule was made for others. Head groups, stages, memory and learned spans are as the graph has them; other nodes
  /// start from zeros or the trained start. Equal, to rounding, to computing all nodes. ConfigError if layers, stages
  /// or soft span are not those of the model.
  Tensor forward(const LayerSchedule& schedule, const Tensor& tokens, const ForwardOptions& options = {}) const;

  /// Mean over the layers of GraphSelfAttention::span_penalty.
  Tensor span_penalty() const;

  /// The options given; the number of layers; a layer, of several stages one of them (IndexError if it is not there).
  const GraphTransformerOptions& options() const { return options_; }
  std::int64_t num_layers() const { return options_.layers; }
  const GraphTransformerLayer& layer(std::int64_t index, std::int64_t stage = 0) const {
    return *layers_[place_of(index, stage)];
  }
  GraphTransformerLayer& layer(std::int64_t index, std::int64_t stage = 0) { return *layers_[place_of(index, stage)]; }
  /// What follows the last layer: the normalisation that pre_norm needs, else nothing. For code that runs the
  /// layers itself.
  Tensor finish(const Tensor& h) const { return final_norm_ == nullptr ? h : final_norm_->forward(h); }

  Tensor start;  ///< [1, dim], or undefined

 private:
  void require_fit(const LayerSchedule& schedule, const Tensor& tokens) const;
  std::size_t place_of(std::int64_t layer, std::int64_t stage) const;

  GraphTransformerOptions options_;
  std::vector<std::unique_ptr<GraphTransformerLayer>> layers_;  ///< by layer, then stage
  std::unique_ptr<LayerNorm> final_norm_;
};

/// Rows of h that an id array names, as gather_rows takes them.
Tensor index_tensor(const IdArray& ids);

}  // namespace bough::nn
