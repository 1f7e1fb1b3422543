#pragma once

#include <cstdint>

#include "bough/graph/graph_generator.h"
#include "bough/nn/rounds.h"

namespace bough {

/// The attention graph of a batch of windows, prepared for a model that reads and predicts characters at the token
/// nodes. Made once, used in every step.
class TokenGraph {
 public:
  /// ConfigError if the pattern has no causal form, or reads states of earlier windows, which windows cut from anywhere
  /// do not have. `device` is where the model is.
  TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
             Device device = Device::cpu());

  const nn::Rounds& rounds() const { return rounds_; }
  std::int64_t stages() const { return static_cast<std::int64_t>(rounds_.layers.front().size()); }

  /// Of one window.
  double attention_degree() const { return attention_degree_; }
  std::int64_t num_edges() const { return num_edges_; }
  std::int64_t num_nodes() const { return num_nodes_; }
  /// Over all layers: nodes that are computed, edges that are followed, for the whole batch.
  std::int64_t computed_nodes() const;
  std::int64_t followed_edges() const;

 private:
  nn::Rounds rounds_;
  double attention_degree_ = 0;
  std::int64_t num_edges_ = 0, num_nodes_ = 0;
};

}  // namespace bough
