#pragma once

#include <memory>

#include "bough/nn/layers.h"
#include "bough/nn/positions.h"

namespace bough::nn {

/// Options of InputLayer.
struct InputLayerOptions {
  std::int64_t dim = 0;                        ///< width of the rows
  std::int64_t max_length = 0;                 ///< of a sequence; only positions that are added need it
  Positions positions = Positions::relations;  ///< which are added, if any
  std::int64_t block_positions = 0;            ///< stride of BlockPositions, added to the others; 0 = none
  double dropout = 0;                          ///< on the sums; p_i of the paper
  bool norm = false;                           ///< normalise what comes out
  double norm_epsilon = 1e-5;                  ///< added to the variance
};

/// What stands between embeddings and the first layer: norm(dropout(embedding + positions)). Encoder and decoder that
/// share the normalisation share the module. Without positions, dropout and norm it gives back what it gets.
class InputLayer : public Module {
 public:
  /// Makes the parameters. ConfigError for positions without a max_length.
  explicit InputLayer(const InputLayerOptions& options);

  /// Sequences of equal length, one after the other: embeddings [sequences * length, dim] -> the same shape.
  /// ShapeError unless length divides the rows, ConfigError for a length above max_length if positions are added.
  Tensor forward(const Tensor& embeddings, std::int64_t length) const;
  /// Rows at any positions, as in a batch of sequences of all lengths: embeddings [rows, dim], positions int32 or int64
  /// [rows].
  Tensor forward(const Tensor& embeddings, const Tensor& positions) const;
  /// The next rows of one sequence, from position `begin` on, as decoding reads them.
  Tensor forward_from(const Tensor& embeddings, std::int64_t begin) const;

  /// The options it was made with.
  const InputLayerOptions& options() const { return options_; }

  /// Each of these may be null, as the options have it.
  std::unique_ptr<SinusoidalPositions> sinusoidal;
  std::unique_ptr<LearnedPositions> learned;
  std::unique_ptr<BlockPositions> blocks;
  std::unique_ptr<LayerNorm> norm;

 private:
  /// The sum of all positions that are added, each asked with `arguments`; undefined if there are none.
  template <typename... Arguments>
  Tensor positions_at(const Arguments&... arguments) const;
  Tensor finish(const Tensor& sums) const;

  InputLayerOptions options_;
  Dropout dropout_;
};

}  // namespace bough::nn
