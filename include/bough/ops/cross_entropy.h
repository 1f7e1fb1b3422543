#pragma once

#include <cstdint>

#include "bough/core/tensor.h"

namespace bough {

/// What becomes of the losses of single rows.
enum class Reduction { mean, sum, none };

/// Options of cross_entropy.
struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  ///< rows with this target count nowhere: not in the loss, the mean or the gradient
  double label_smoothing = 0;        ///< share of the target that is spread evenly over all classes, 0..1
  Reduction reduction = Reduction::mean;  ///< mean: over the rows that are not ignored
};

/// How badly scores predict classes: -sum(q * log softmax(logits)) for each row, where q is 1 - label_smoothing at the
/// target plus label_smoothing / C everywhere.
///
/// logits float32 or float64 [..., C], targets int32 or int64 [...] -> rank 0, or the shape of targets for
/// Reduction::none. Rows all of whose targets are ignored (or no rows at all) give loss 0 and gradient 0.
/// A target or any smoothed class with score -inf gives +inf, a row of only -inf too.
/// ShapeError if the shapes do not match, IndexError naming row and target for a target outside 0..C-1, ConfigError for
/// label_smoothing outside 0..1.
///
/// One pass over the logits forward and one backward; keeps the logits and two numbers a row, never probabilities.
/// Bitwise equal for any number of threads. Gradient: (softmax(logits) - q) times that of the row's loss.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

}  // namespace bough
