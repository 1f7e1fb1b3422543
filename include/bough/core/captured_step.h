#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// A step of fixed shapes on a GPU, recorded once and then replayed as a whole (a CUDA graph): the host launches one
/// thing instead of hundreds. Bit for bit what plain execution gives.
///
///     CapturedStep step(Device::cuda(), [&] {
///       const Tensor loss = model_loss(inputs, targets);
///       loss.backward();
///       return std::vector{loss};
///     }, model.parameters());
///     for (...) {
///       inputs.assign(next_inputs);
///       targets.assign(next_targets);
///       const double loss = step.run()[0].item<double>();
///       optimizer.step();
///     }
///
/// The first run() calls the function, the second records it, and all from the second on replay. A replay runs no code
/// of the function: everything that changes from step to step must be in tensors that exist before and are written in
/// place, as inputs, targets and parameters are here. What is computed on the host (a weight that depends on the step,
/// a learning rate) stays as it was recorded, so optimisers belong outside. Random operations draw from the default
/// generator of the thread, in replays too; one that was given a generator of its own would repeat its numbers. An
/// index is checked for its range in the first run only.
///
/// DeviceError if the function looks at values on the host while it is recorded (item, to_vector), moves them to
/// another device, or drops attention weights with AttentionKernel::composed. On the CPU every run() calls the function.
class CapturedStep {
 public:
  /// leaves: tensors whose gradients the function makes; run() clears them before and sets them after each step.
  CapturedStep(Device device, std::function<std::vector<Tensor>()> step, std::vector<Tensor> leaves = {});
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// What the function returns, without history. Replays write into the same tensors.
  const std::vector<Tensor>& run();
  /// Whether the step has been recorded.
  bool captured() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bough
