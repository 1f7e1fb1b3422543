#pragma once

#include "bough/nn/module.h"

namespace bough::nn {

/// What tells a model where its tokens stand.
enum class Positions {
  relations,   ///< the relations of the graph, which give attention a trained key for each kind of edge
  sinusoidal,  ///< sines and cosines added to the inputs of tokens; relations are ignored
  learned,     ///< trained vectors added to the inputs of tokens; relations are ignored
  both,        ///< relations, and sines and cosines too
  none,        ///< neither: a token sees a set
};

/// Whether attention should look at relations; the others are for ignore_relations of GraphTransformerLayerOptions.
constexpr bool uses_relations(Positions positions) {
  return positions == Positions::relations || positions == Positions::both;
}
/// Whether sines and cosines are added to the inputs.
constexpr bool uses_sinusoids(Positions positions) {
  return positions == Positions::sinusoidal || positions == Positions::both;
}

/// sin and cos of position / 10000^(2i/dim), [length, dim].
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim);

/// Options of SinusoidalPositions.
struct SinusoidalPositionsOptions {
  std::int64_t max_length = 0;  ///< positions there are
  std::int64_t dim = 0;         ///< width of each
};

/// sinusoidal_positions as a module, so that the table is where the model is. Nothing is trained, and checkpoints do
/// not hold the table.
class SinusoidalPositions : public Module {
 public:
  /// Makes the table.
  explicit SinusoidalPositions(const SinusoidalPositionsOptions& options);
  /// Positions begin .. end-1: [end - begin, dim], without copying. ConfigError unless 0 <= begin <= end <= max_length.
  Tensor forward(std::int64_t begin, std::int64_t end) const;
  /// The positions of rows in any order, as in a batch of several sequences: index tensor [...] -> [..., dim].
  /// IndexError for positions outside 0 .. max_length-1.
  Tensor forward(const Tensor& positions) const;

  Tensor table;  ///< [max_length, dim]
};

/// Options of LearnedPositions.
struct LearnedPositionsOptions {
  std::int64_t max_length = 0;       ///< positions there are
  std::int64_t dim = 0;              ///< width of each
  double standard_deviation = 0.02;  ///< of the first values
};

/// A trained vector for each position of a sequence. Where a pattern's relations encode the distance (BPT), none are
/// needed.
class LearnedPositions : public Module {
 public:
  /// Makes the table.
  explicit LearnedPositions(const LearnedPositionsOptions& options);
  /// Positions 0 .. length-1: [length, dim], without copying. ConfigError for more than max_length.
  Tensor forward(std::int64_t length) const { return forward(0, length); }
  /// Positions begin .. end-1: [end - begin, dim], without copying. ConfigError unless 0 <= begin <= end <= max_length.
  Tensor forward(std::int64_t begin, std::int64_t end) const;
  /// The positions of rows in any order, as in a batch of several sequences: index tensor [...] -> [..., dim].
  /// IndexError for positions outside 0 .. max_length-1.
  Tensor forward(const Tensor& positions) const;

  Tensor weight;  ///< [max_length, dim]
};

/// Options of BlockPositions.
struct BlockPositionsOptions {
  std::int64_t max_length = 0;       ///< positions there are
  std::int64_t stride = 0;           ///< tokens of a block
  std::int64_t dim = 0;              ///< width of each
  double standard_deviation = 0.02;  ///< of the first values
};

/// Two trained vectors for each position i, added up: that of its block, i div stride, and that of its place in the
/// block, i mod stride, as sparse factorised attention has them (Child et al. 2019).
class BlockPositions : public Module {
 public:
  /// Makes the tables.
  explicit BlockPositions(const BlockPositionsOptions& options);
  /// Positions begin .. end-1: [end - begin, dim]. ConfigError unless 0 <= begin <= end <= max_length.
  Tensor forward(std::int64_t begin, std::int64_t end) const;
  /// The positions of rows in any order: index tensor [rows] -> [rows, dim]. IndexError for positions outside
  /// 0 .. max_length-1. O((max_length + rows) dim).
  Tensor forward(const Tensor& positions) const;

  Tensor blocks;  ///< [ceil(max_length / stride), dim]
  Tensor places;  ///< [min(stride, max_length), dim]

 private:
  std::int64_t max_length_;
};

}  // namespace bough::nn
