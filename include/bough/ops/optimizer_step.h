#pragma once

#include <span>

#include "bough/core/tensor.h"

namespace bough {

/// One parameter with what its update needs; all of one shape, floating type and device. Gradient and state are read
/// and written element by element, so one call updates all parameters of a model in a single pass over memory.
struct AdamSlot {
  Tensor parameter, gradient, first_moment, second_moment;
};

/// p -= learning_rate * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon), with moments of
/// g = gradient_scale * gradient. Weight decay adds weight_decay * p to g (Adam), or shrinks p by learning_rate *
/// weight_decay beforehand (decoupled: AdamW).
struct AdamStep {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  double gradient_scale = 1;
  std::int64_t step = 1;  ///< counts from 1
};
void adam_update(std::span<AdamSlot> slots, const AdamStep& step);

struct SgdSlot {
  Tensor parameter, gradient, velocity;  ///< velocity may be undefined if momentum is 0
};

/// g = gradient_scale * gradient + weight_decay * p; velocity = momentum * velocity + g;
/// p -= learning_rate * velocity, or, with nesterov, learning_rate * (g + momentum * velocity).
struct SgdStep {
  double learning_rate = 1e-2;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  double gradient_scale = 1;
};
void sgd_update(std::span<SgdSlot> slots, const SgdStep& step);

/// Euclidean norm over all elements of all tensors, summed in double precision; 0 for none.
/// The same for any number of threads. NaN or infinite elements give NaN or infinity.
double global_norm(std::span<const Tensor> tensors);

/// Multiplies in place, outside autograd.
void scale_in_place(std::span<Tensor> tensors, double factor);

}  // namespace bough
