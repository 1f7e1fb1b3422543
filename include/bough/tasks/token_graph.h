#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

/// The attention graph of a batch of windows, prepared for a model that reads and predicts characters at the token
/// nodes. Made once, used in every step.
class TokenGraph {
 public:
  /// What is computed at once of all windows: everything, or the halves of window_graph one after the other.
  struct Part {
    nn::LayerSchedule schedule;  ///< of its nodes
    Tensor rows;                 ///< its tokens among those of the batch, int32; undefined = all, in order
  };

  /// So many windows of `length` characters, for a model of so many layers on the device. Errors as for window_graph.
  TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
             Device device = Device::cpu());

  /// In the order in which they are computed.
  const std::vector<Part>& parts() const { return parts_; }
  /// Where each token of the batch stands in the results of the parts, one after the other; undefined = in order.
  const Tensor& order() const { return order_; }
  std::int64_t stages() const { return static_cast<std::int64_t>(parts_.front().schedule.layers.front().size()); }
  const std::optional<SoftSpan>& soft_span() const { return parts_.front().schedule.soft_span; }

  /// Of one window.
  double attention_degree() const { return attention_degree_; }
  std::int64_t num_edges() const { return num_edges_; }
  std::int64_t num_nodes() const { return num_nodes_; }
  /// Over all layers: nodes that are computed, edges that are followed, for the whole batch.
  std::int64_t computed_nodes() const;
  std::int64_t followed_edges() const;

 private:
  std::vector<Part> parts_;
  Tensor order_;
  double attention_degree_ = 0;
  std::int64_t num_edges_ = 0, num_nodes_ = 0;
};

}  // namespace bough
