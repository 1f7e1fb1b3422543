#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/nn/recurrent_stack.h"

namespace bough::nn {

struct RecurrentLevel;

/// Runs recurrent layers over a causal graph token by token, for hypotheses side by side that have read equally many
/// tokens: each token reads the states that its predecessors have left. The same rows as the model on the whole graph,
/// to rounding. A state is kept until the last token that reads it has been read: along a chain, one a layer.
class RecurrentDecoder {
 public:
  /// The graph is that of the longest sequence: causal, and one that check_recurrent_graph takes; ConfigError
  /// otherwise, and for a bidirectional model, which reads the sequence from its end too. GraphError as
  /// graph.validate() and as Recurrent::forward. The model must outlive the decoder. O(nodes + edges).
  RecurrentDecoder(const RecurrentStack& model, AttentionGraph graph);

  /// The inputs of the next token of each hypothesis [size(), in] -> what the last layer makes of them [size(), dim],
  /// without gradient and without dropout. IndexError once length() tokens have been read, ShapeError for another
  /// shape.
  Tensor read(const Tensor& tokens);
  /// The hypotheses become copies of those named, in this order. IndexError for one that is not there. O(states kept).
  void reorder(std::span<const std::int32_t> parents);

  std::int64_t size() const { return size_; }                  ///< hypotheses; one at the beginning
  std::int64_t position() const { return position_; }          ///< tokens read so far
  std::int64_t length() const { return graph_.num_tokens(); }  ///< tokens that can be read
  /// Edges that the last tokens made it follow, of all hypotheses, in each layer.
  std::int64_t edges_followed() const { return edges_followed_; }
  /// Forgets everything and begins with so many hypotheses; ConfigError below 0.
  void restart(std::int64_t hypotheses = 1);

 private:
  /// What later tokens read of each token in one layer, a row for each hypothesis; undefined once no later token reads
  /// it.
  struct LayerCache {
    std::vector<RecurrentState> states;
    std::vector<Tensor> passed;  ///< what a token adds to the input of its successor
  };

  std::span<const std::int32_t> predecessors(std::int64_t token) const;
  /// A level of the next token alone, in which each token before it is a level.
  RecurrentLevel next_level() const;
  void forget_what_is_read_no_more();

  const RecurrentStack* model_;
  AttentionGraph graph_;
  std::vector<std::int64_t> last_reader_;  ///< by token: the last one that reads it, or the one after it
  std::vector<LayerCache> caches_;         ///< by layer
  std::int64_t size_ = 1;
  std::int64_t position_ = 0;
  std::int64_t edges_followed_ = 0;
};

}  // namespace bough::nn
