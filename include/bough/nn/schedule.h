#pragma once

#include <cstdint>
#include <functional>

namespace bough::nn {

/// The learning rate of a step; steps count from 1. ConfigError for options that make no sense.
using Schedule = std::function<double(std::int64_t step)>;

/// The same for every step.
Schedule constant_rate(double rate);

/// Rises linearly to `rate` over `warmup` steps and stays there.
Schedule warmup_constant(double rate, std::int64_t warmup);

/// Rises linearly to `rate` over `warmup` steps, then falls to rate * final_fraction at `steps` and stays there.
struct WarmupDecayOptions {
  double rate = 1e-3;         ///< at the top
  std::int64_t warmup = 0;    ///< steps to get there
  std::int64_t steps = 1;     ///< in all
  double final_fraction = 0;  ///< of the rate, at the end
};
/// Falls along half a cosine.
Schedule warmup_cosine(const WarmupDecayOptions& options);
/// Falls in a straight line.
Schedule warmup_linear(const WarmupDecayOptions& options);
/// Falls by the same factor each step; final_fraction must be above 0.
Schedule warmup_exponential(const WarmupDecayOptions& options);

/// factor * dim^-0.5 * min(step^-0.5, step * warmup^-1.5), the schedule of the first Transformer.
struct NoamOptions {
  std::int64_t dim = 512;      ///< width of the model
  std::int64_t warmup = 4000;  ///< steps until it falls
  double factor = 1;           ///< of the whole
};
/// That schedule.
Schedule noam(const NoamOptions& options);

/// rate * factor^(number of whole periods passed): exponential decay per epoch with period = steps of an epoch, or a
/// staircase with a small factor and a long period.
struct StepDecayOptions {
  double rate = 1e-3;       ///< of the first period
  double factor = 0.98;     ///< by which it falls
  std::int64_t period = 1;  ///< steps between falls
};
/// That schedule.
Schedule step_decay(const StepDecayOptions& options);

}  // namespace bough::nn
