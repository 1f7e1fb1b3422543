#pragma once

#include <cstdint>

#include "bough/nn/batched_decoder.h"

namespace bough::nn {

/// Runs a model over a causal graph token by token: a BatchedDecoder of one hypothesis, with the same rules and cost.
class IncrementalDecoder {
 public:
  /// As BatchedDecoder.
  IncrementalDecoder(const GraphTransformer& model, AttentionGraph graph) : decoder_(model, std::move(graph)) {
    decoder_.add();
  }

  /// The input of the next token [1, dim] -> what the model makes of it [1, dim], without gradient. IndexError once
  /// length() tokens have been read, ShapeError for another shape.
  Tensor read(const Tensor& token) { return decoder_.read(token); }

  std::int64_t position() const { return decoder_.position(0); }  ///< tokens read so far
  std::int64_t length() const { return decoder_.length(); }       ///< tokens that can be read
  /// Edges that the last token made it follow, in each layer but the last, where only the token's own count.
  std::int64_t edges_followed() const { return decoder_.edges_followed(); }
  /// Forgets everything.
  void restart() {
    decoder_.clear();
    decoder_.add();
  }

 private:
  BatchedDecoder decoder_;
};

}  // namespace bough::nn
