#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bough/core/device.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/layer_schedule.h"

namespace bough {

/// The causal graph of one window, all of whose nodes are updated.
///
/// A pattern that reads remembered states (Transformer-XL) has none of earlier windows, which are cut from anywhere: it
/// goes through a window in two halves, of which the second remembers the first. The states are the same as if all were
/// computed at once on the graph given here; only gradients do not flow from the second half into the first.
/// ConfigError if the pattern has no causal form or reads another text.
AttentionGraph window_graph(const GraphGenerator& generator, std::int64_t length);

/// How many tokens before a sequence of that length it reads remembered states of, if there are as many; 0 for patterns
/// without memory. Builds its causal graph.
std::int64_t remembered_tokens(const GraphGenerator& generator, std::int64_t length);

/// The graph of several segments of a text one after the other, each of which remembers those before it: what a model
/// computes that carries its memory from each to the next, as one graph. Its relations are those of one segment.
/// `generator` is one that has remembered_tokens().
AttentionGraph carried_graph(const GraphGenerator& generator, std::int64_t segment_length, std::int64_t segments);

/// One segment of a longer text, for a model that carries its memory from each segment to the next.
struct SegmentOptions {
  std::int64_t length = 0;        ///< its tokens
  std::int64_t past = 0;          ///< tokens before it, of which the pattern remembers what it can
  std::int64_t windows = 1;       ///< of the batch: segments of so many texts, which all have as much before them
  std::int64_t layers = 1;        ///< of the model
  Device device = Device::cpu();  ///< of the model
};

/// The attention graph of a batch of windows, prepared for a model that reads and predicts characters at the token
/// nodes. Made once, used in every step.
class TokenGraph {
 public:
  /// What is computed at once of all windows: everything, or the halves of window_graph one after the other.
  struct Part {
    nn::LayerSchedule schedule;  ///< of its nodes
    Tensor rows;                 ///< its tokens among those of the batch, int32; undefined = all, in order
  };

  /// Prepares windows of `length` characters for a model of so many layers on the device. Errors as for window_graph.
  TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
             Device device = Device::cpu());
  /// Prepares one segment, in one part: reads a nn::SegmentMemory that its predecessor has left and leaves one for a
  /// successor of the same length. ConfigError if the pattern does not heed BuildOptions::past, and as above.
  TokenGraph(const GraphGenerator& generator, const SegmentOptions& options);

  /// The parts, in the order in which they are computed.
  const std::vector<Part>& parts() const { return parts_; }
  /// Where each token of the batch stands in the results of the parts, one after the other; undefined = in order.
  const Tensor& order() const { return order_; }
  std::int64_t stages() const { return static_cast<std::int64_t>(parts_.front().schedule.layers.front().size()); }
  const std::optional<SoftSpan>& soft_span() const { return parts_.front().schedule.soft_span; }

  /// The figures of one window, or of one segment, whose edges include those from what it remembers.
  std::int64_t length() const { return length_; }
  double attention_degree() const { return attention_degree_; }
  std::int64_t num_edges() const { return num_edges_; }
  std::int64_t num_nodes() const { return num_nodes_; }
  /// Over all layers: nodes that are computed, edges that are followed, for the whole batch.
  std::int64_t computed_nodes() const;
  std::int64_t followed_edges() const;
  /// Remembered rows that are read, over all layers, for the whole batch.
  std::int64_t remembered_rows() const;

 private:
  std::vector<Part> parts_;
  Tensor order_;
  std::int64_t length_ = 0;
  double attention_degree_ = 0;
  std::int64_t num_edges_ = 0, num_nodes_ = 0;
};

}  // namespace bough
