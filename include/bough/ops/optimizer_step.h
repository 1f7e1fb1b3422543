#pragma once

#include <array>
#include <span>

#include "bough/core/tensor.h"

namespace bough {

/// One parameter with what its update needs; all of one shape, floating type and device. Gradient and state are read
/// and written element by element, so one call updates all parameters of a model in a single pass over memory.
struct AdamSlot {
  /// The parameter, its gradient, and the moving averages of the gradient and of its square.
  Tensor parameter, gradient, first_moment, second_moment;
  bool decays = true;  ///< takes part in weight decay
};

/// p -= learning_rate * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon), with moments of
/// g = gradient_scale * gradient. Weight decay adds weight_decay * p to g (Adam), or shrinks p by learning_rate *
/// weight_decay beforehand (decoupled: AdamW).
struct AdamStep {
  double learning_rate = 1e-3;          ///< how far a step goes
  double beta1 = 0.9;                   ///< of the first moment
  double beta2 = 0.999;                 ///< of the second moment
  double epsilon = 1e-8;                ///< keeps the divisor above 0
  double weight_decay = 0;              ///< pull towards 0
  bool decoupled_weight_decay = false;  ///< AdamW
  double gradient_scale = 1;            ///< clipping and loss scaling
  std::int64_t step = 1;                ///< counts from 1
};

/// What of a step the host does not know when it gives it to a GPU, on that GPU: see nn::Optimizer::enqueue_step.
struct StepOnDevice {
  Tensor gradient_scale;  ///< float64 []; where it is not a number, nothing is changed
  Tensor numbers;         ///< float64: changing_numbers_of the step
};

/// on_device, if its tensors are defined, replaces what `step` says of the same; all slots are then on its GPU.
void adam_update(std::span<AdamSlot> slots, const AdamStep& step, const StepOnDevice& on_device = {});
/// The factor of parameters, the learning rate and the factor of the root of second moments, biases corrected.
std::array<double, 3> changing_numbers_of(const AdamStep& step);

/// One parameter with what its update needs, as AdamSlot.
struct SgdSlot {
  /// The parameter, its gradient, and the velocity, which may be undefined if momentum is 0.
  Tensor parameter, gradient, velocity;
  bool decays = true;  ///< takes part in weight decay
};

/// g = gradient_scale * gradient + weight_decay * p; velocity = momentum * velocity + g;
/// p -= learning_rate * velocity, or, with nesterov, learning_rate * (g + momentum * velocity).
struct SgdStep {
  double learning_rate = 1e-2;  ///< how far a step goes
  double momentum = 0;          ///< share of the velocity that is kept
  double weight_decay = 0;      ///< pull towards 0
  bool nesterov = false;        ///< looks ahead by one step
  double gradient_scale = 1;    ///< clipping and loss scaling
};
/// Updates all parameters; on_device as for adam_update.
void sgd_update(std::span<SgdSlot> slots, const SgdStep& step, const StepOnDevice& on_device = {});
/// The learning rate.
std::array<double, 1> changing_numbers_of(const SgdStep& step);

/// Euclidean norm over all elements of all tensors, summed in double precision; 0 for none.
/// The same for any number of threads. NaN or infinite elements give NaN or infinity.
double global_norm(std::span<const Tensor> tensors);

/// The norm of gradient_scale times tensors that are all on one GPU, and gradient_scale as it clips that norm to a
/// limit (0: none); not a number where the norm is not finite. float64 [] on the GPU, for which the host does not wait.
struct ClippedNorm {
  /// The norm of the gradients, and the factor by which they are to be multiplied.
  Tensor norm, scale;
};
/// Computes it without waiting for the GPU.
ClippedNorm clipped_norm(std::span<const Tensor> tensors, double gradient_scale, double limit);

/// Multiplies in place, outside autograd.
void scale_in_place(std::span<Tensor> tensors, double factor);

}  // namespace bough
