#pragma once

#include <cstdint>
#include <vector>

#include "bough/ops/cross_entropy.h"

namespace bough::nn {

/// Options of binary_cross_entropy.
struct BinaryCrossEntropyOptions {
  Tensor weights = {};                    ///< of the elements, >= 0, the shape of the logits; undefined = 1
  Reduction reduction = Reduction::mean;  ///< mean: divided by the sum of the weights, so weight 0 leaves one out
};

/// How badly scores predict yes or no: -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)), times its weight, for each
/// element.
///
/// logits float32 or float64 of any shape, targets of the same shape, from 0 to 1, of any type -> rank 0, or the shape
/// of the logits for Reduction::none. Precise also where the sigmoid is 0 or 1 to rounding; infinite logits are not
/// meant to occur and can give NaN. No elements, or only such of weight 0, give loss 0 and gradient 0.
/// ShapeError if the shapes differ, ConfigError for targets outside 0..1 and weights below 0 or not finite.
/// Gradient to the logits only. O(elements), composed of a few passes.
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, const BinaryCrossEntropyOptions& options = {});

/// How the losses of the layers below the last one go away in the course of training.
enum class Fade {
  linear,      ///< all together, in a straight line
  one_by_one,  ///< the lowest first: layer i of n, counted from 1, keeps its weight up to i / n of the fading time
  /// The way of BP-Transformer's authors: the loss is the mean over the layers that take part; when a share p of
  /// all steps has passed, those are the layers i > n p of n, counted from 1. `weight` and `until` do not count.
  mean_by_layer,
};

/// Options of AuxiliaryLosses.
struct AuxiliaryLossOptions {
  std::int64_t layers = 1;   ///< of the model, with the last one, whose loss is the main one
  std::int64_t steps = 1;    ///< of the training
  double weight = 1;         ///< of all auxiliary losses together at the first step, shared evenly by the layers
  double until = 0.5;        ///< share of the steps after which none is left, 0..1
  Fade fade = Fade::linear;  ///< how the weight falls
};

/// Extra losses on the results of intermediate layers: they help a deep model to start and would hold it back later, so
/// their weight falls to zero.
///
///   const AuxiliaryLosses auxiliary({.layers = 12, .steps = 100'000});
///   Tensor total = loss_of(last) * auxiliary.main_weight(step);
///   model.forward(schedule, tokens, {.after_layer = [&](std::int64_t layer, const Tensor& readout) {
///     if (auxiliary.weight(layer, step) > 0) total = total + loss_of(readout) * auxiliary.weight(layer, step);
///   }});
class AuxiliaryLosses {
 public:
  /// ConfigError for options that make no sense.
  explicit AuxiliaryLosses(const AuxiliaryLossOptions& options);

  /// The weight of layer 0 .. layers-1 at a step; steps count from 1. The last layer has 0: its loss is the main one.
  double weight(std::int64_t layer, std::int64_t step) const;
  /// The weight of the main loss: 1, or its share in a mean.
  double main_weight(std::int64_t step) const;
  /// The lowest layer whose loss counts, counted from 0; layers above it count too. Once all have faded it is the last
  /// one.
  std::int64_t first_layer(std::int64_t step) const;
  /// Whether any layer below the last still has a weight.
  bool active(std::int64_t step) const { return first_layer(step) < options_.layers - 1; }
  /// main_weight * main + the sum of weight times loss, of one loss for each layer below the last; those of weight 0
  /// may be undefined, and are not looked at.
  Tensor total(const Tensor& main, const std::vector<Tensor>& losses, std::int64_t step) const;

 private:
  AuxiliaryLossOptions options_;
};

}  // namespace bough::nn
