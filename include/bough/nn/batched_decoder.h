#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/graph_transformer_decoder.h"

namespace bough::nn {

class DecodingSteps;
class DecodingLayer;
struct DecodingCaches;

/// Runs a language model, or the decoder of an encoder-decoder, over causal graphs token by token, for many hypotheses
/// side by side: sequences that are being written, of any lengths, numbered from 0.
///
/// With a new token all nodes become complete that cover nothing after it; they alone are computed, layer by layer,
/// from the keys and values of the nodes before, which are kept. Over a sequence each edge is followed once a layer:
/// O(k log n) of them a token for a partition tree. All new nodes of a step are computed together. Works on every
/// causal pattern without stages, on the device of the model. The same rows as the model on make_layer_schedule(graph,
/// ...), to rounding. On the CPU the rows of a hypothesis are bitwise the same whatever else is in the batch, however
/// its tokens are cut into calls, and for any number of threads.
///
/// Hypotheses share the rows of what they have in common: a copy takes 4 bytes for each 64 nodes. A row is 2 dim floats
/// a layer; rows of hypotheses that are gone are used again. In the last layer only tokens are computed.
///
///     BatchedDecoder decoder(model, graph);                 // the graph of the longest sequence
///     decoder.add(2);                                       // two empty hypotheses
///     Tensor states = decoder.read(inputs);                 // [2, dim]: a token for each
///     decoder.reorder(std::vector<std::int32_t>{1, 1, 0});  // two that go on from the second, one from the first
class BatchedDecoder {
 public:
  /// The graph is that of the longest sequence: causal, of one sequence, neither bipartite nor with stages or nodes
  /// that are never updated; ConfigError otherwise, and if its soft span is not that of the model, it has more
  /// relations than the model has keys for, or groups that the heads cannot be shared out over; GraphError as
  /// graph.validate(). A model does not know for which pattern it was trained: the graph of another one with as few
  /// relations gives other rows.
  ///
  /// The model must outlive the decoder and stay on its device. It is read as in evaluation mode, without dropout;
  /// parameters that are trained on or loaded between two steps are followed, but not in what is kept. Takes the
  /// memory of its weights once more. O(nodes + parameters).
  BatchedDecoder(const GraphTransformer& model, AttentionGraph graph);
  /// A decoder that also reads an encoder's output; each hypothesis has a source, see add.
  BatchedDecoder(const GraphTransformerDecoder& model, AttentionGraph graph);
  ~BatchedDecoder();
  BatchedDecoder(BatchedDecoder&&) noexcept;
  BatchedDecoder& operator=(BatchedDecoder&&) noexcept;

  /// Adds hypotheses without tokens, after those that are there. ConfigError for a model with an encoder.
  void add(std::int64_t count = 1);
  /// Adds a hypothesis for each source: the first reads the first rows_of_each[0] rows of `encoded` [rows, dim], the
  /// next the following ones, and so on; every token attends to all rows of its source, along relation 0. Keys and
  /// values of the source are projected here, once a layer, and shared by all hypotheses that come of it; the last one
  /// that goes frees them. ShapeError unless the rows add up; ConfigError for a model without an encoder. A source
  /// without rows is fine: tokens then get the projection of zeros from there.
  void add_sources(const Tensor& encoded, std::span<const std::int64_t> rows_of_each);
  /// Gives one hypothesis another source, for the tokens to come: the next sentence of a document, say. With `cross`, a
  /// bipartite graph from the rows of `encoded` to token positions, the token at a position attends along its edges and
  /// their types; it has all positions that will be read. GraphError for another graph, and for more relations than the
  /// model has keys for; IndexError for a hypothesis that is not there.
  void set_source(std::int64_t hypothesis, const Tensor& encoded);
  void set_source(std::int64_t hypothesis, const Tensor& encoded, const Graph& cross);

  /// The hypotheses become copies of those named, in this order; a hypothesis may be named often, or never, which ends
  /// it. Nothing is copied but lists of blocks of rows. IndexError for one that is not there, before anything changes.
  /// O(hypotheses * nodes / 64 + rows freed).
  void reorder(std::span<const std::int32_t> parents);
  /// Ends all hypotheses.
  void clear() { reorder({}); }

  /// The next token of every hypothesis: inputs [size(), dim] -> what the model makes of them [size(), dim], without
  /// gradient. IndexError if a hypothesis has length() tokens, ShapeError for another shape; nothing changes then.
  Tensor read(const Tensor& tokens);
  /// counts[i] tokens of hypothesis i, which may be none: a prompt, or the tokens of some hypotheses only. Inputs
  /// [sum of counts, dim], those of one hypothesis after those of the one before -> rows in the same order.
  Tensor read(const Tensor& tokens, std::span<const std::int64_t> counts);

  /// Number of hypotheses; tokens that one of them has read (IndexError if it is not there); tokens it can read in all.
  std::int64_t size() const;
  std::int64_t position(std::int64_t hypothesis) const;
  std::int64_t length() const;
  /// Where the model is.
  Device device() const { return device_; }
  /// Edges into the nodes that the last call completed, of all hypotheses and groups of heads: what each layer but the
  /// last has followed.
  std::int64_t edges_followed() const { return edges_followed_; }
  /// Nodes whose keys and values are kept, each counted once however many hypotheses share it.
  std::int64_t cached_nodes() const;

 private:
  BatchedDecoder(const GraphTransformerLayerOptions& options, bool has_encoder, AttentionGraph graph);
  void require_encoder(bool wanted) const;
  void require_hypothesis(std::int64_t hypothesis) const;
  void check_read(const Tensor& tokens, std::span<const std::int64_t> counts) const;
  void replace_source(std::int64_t hypothesis, const Tensor& encoded, const Graph* cross);

  std::int64_t dim_;
  bool has_encoder_;
  std::int64_t num_cross_relations_ = 0;
  Device device_;
  Tensor start_;                                 ///< of nodes that are no tokens, or undefined for zeros
  std::function<Tensor(const Tensor&)> finish_;  ///< what the model does with the rows of its last layer
  std::unique_ptr<DecodingSteps> steps_;
  std::vector<DecodingLayer> layers_;
  std::unique_ptr<DecodingCaches> caches_;
  std::int64_t edges_followed_ = 0;
};

}  // namespace bough::nn
