#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/language_model/character_model.h"

namespace bough {

/// Reads a text character by character and predicts the next one each time, with every node computed once.
///
/// With a new token all nodes become complete that cover nothing after it; they are computed layer by layer from kept
/// keys and values. Over a whole window each edge is followed once a layer: O(k log n) of them a token for a partition
/// tree. Works on every causal pattern without stages, on the device of the model. The same scores as the model on the
/// whole window, to rounding.
class IncrementalDecoder {
 public:
  /// length: the longest text, for which the model must have relations. The model must outlive the decoder and is used
  /// as it is, without dropout only in its evaluation mode. ConfigError for patterns with stages.
  IncrementalDecoder(const CharacterModel& model, const GraphGenerator& generator, std::int64_t length);

  /// Scores of the next character, [vocabulary], on the device of the model. IndexError once `length` characters have
  /// been read.
  Tensor read(std::int32_t character);

  std::int64_t position() const { return position_; }  ///< characters read so far
  std::int64_t length() const { return graph_.num_tokens(); }
  /// Edges that the last character made it follow, in each layer.
  std::int64_t edges_followed() const { return edges_followed_; }
  /// Forgets everything.
  void restart() { position_ = 0; }

 private:
  /// The part of the graph that one token completes: from what is kept to the new nodes.
  struct Step {
    std::vector<Graph> graphs;  ///< one, or one for each group of heads
    Tensor sources;             ///< rows of what is kept whose keys and values are read
    Tensor distances;           ///< of the edges, for a learned reach; else undefined
    std::int64_t num_edges = 0;
  };

  /// Keys and values, [num_nodes, dim], of nodes in the order in which they are completed.
  struct Kept {
    Tensor keys, values;
  };

  /// What a token completes: itself, then the nodes that cover nothing after it.
  std::span<const std::int32_t> completed_by(std::int64_t token) const;
  Step step_for(std::span<const std::int32_t> nodes);
  /// One layer on the new nodes: keeps what others will read of them and returns what they become.
  Tensor update(std::int64_t layer, const Step& step, const Tensor& h);

  const CharacterModel* model_;
  AttentionGraph graph_;
  std::vector<Graph> graphs_;
  std::vector<std::int32_t> order_;    ///< nodes in the order in which they are completed
  std::vector<std::int64_t> begin_;    ///< where those that a token completes begin in it, and its end
  std::vector<std::int32_t> kept_at_;  ///< by node: where it is in the order
  std::vector<Kept> kept_;             ///< by layer
  Tensor starts_;                      ///< what nodes that are no tokens start from, as many as a token completes
  std::vector<std::int32_t> row_of_;   ///< scratch: a node's row among the sources of a step
  std::int64_t position_ = 0;
  std::int64_t edges_followed_ = 0;
};

}  // namespace bough
