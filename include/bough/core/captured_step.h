#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// A step of fixed shapes on a GPU, captured once and then replayed as a whole (a CUDA graph): the host launches one
/// thing instead of hundreds. Bit for bit what plain execution gives.
///
///     CapturedStep step(Device::cuda(), [&] {
///       const Tensor loss = model_loss(inputs, targets);
///       loss.backward();
///       const Tensor norm = optimizer.enqueue_step();
///       return std::vector{loss, norm};
///     }, model.parameters());
///     for (...) {
///       inputs.assign(next_inputs);
///       targets.assign(next_targets);
///       optimizer.set_learning_rate(rate(i));
///       const std::vector<Tensor>& results = step.run();
///       if (i % 100 == 0) std::cout << results[0].item<double>() << "\n";  // waits for the device; nothing else does
///     }
///
/// The first run() calls the function, the second captures it, and all from the second on replay. A replay runs no code
/// of the function: everything that changes from step to step must be in tensors that exist before and are written in
/// place, as inputs, targets and parameters are here, or come from changing_numbers, as an optimiser's rate does. What
/// else is computed on the host stays as it was captured. Random operations draw from the default generator of the
/// thread, in replays too; one that was given a generator of its own would not draw what it draws in plain execution.
/// An index is checked for its range in the first run only.
///
/// DeviceError if the function looks at values on the host while it is captured (item, to_vector), moves them to
/// another device, or drops attention weights with AttentionKernel::unfused. On the CPU every run() calls the
/// function.
class CapturedStep {
 public:
  /// leaves: tensors whose gradients the function makes; run() clears them before and sets them after each step.
  CapturedStep(Device device, std::function<std::vector<Tensor>()> step, std::vector<Tensor> leaves = {});
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// What the function returns, without history. Replays write into the same tensors.
  const std::vector<Tensor>& run();
  /// Whether the step has been captured.
  bool captured() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Numbers of the host that change from step to step, for a function that may be captured: float64 [count] on the
/// device, filled by `now`. Outside a capture `now` is called at once; in one, before each replay and on the thread
/// that calls run(), so what it uses must live as long as the step. No gradient. ConfigError for more than 31 numbers
/// in one step.
Tensor changing_numbers(Device device, std::int64_t count, std::function<void(std::span<double>)> now);

}  // namespace bough
