#pragma once

#include "bough/nn/optimizer.h"

namespace bough::nn {

/// One step of an optimiser from several micro-batches, as if they had been one batch:
///
///   GradientAccumulation accumulation(optimizer);
///   for (const Batch& part : parts) accumulation.add(loss_of(part), part.num_targets());
///   accumulation.step();
///
/// The step is that of the mean over all parts, weighted by what each has counted; the same as from the one large
/// batch, to rounding. Only one part's history is alive at a time.
class GradientAccumulation {
 public:
  /// The optimiser must outlive this.
  explicit GradientAccumulation(Optimizer& optimizer) : optimizer_(&optimizer) {}

  /// Runs backward. `loss` is the mean over the part, one element; `count` what the mean was taken over (targets that
  /// are not ignored, sequences, ...), in the same unit for all parts. A part with nothing in it counts 0 and is
  /// skipped. The first part of a round drops whatever gradients the parameters still have.
  void add(const Tensor& loss, double count = 1);

  /// Steps and starts a new round; the result is that of Optimizer::step. Error if nothing was added.
  double step();

  /// The sum of the counts of the parts of this round so far.
  double count() const { return count_; }
  /// The weighted mean of the losses of this round so far; 0 before the first.
  double mean_loss() const { return count_ > 0 ? loss_sum_ / count_ : 0; }

 private:
  Optimizer* optimizer_;
  double count_ = 0;
  double loss_sum_ = 0;
};

}  // namespace bough::nn
