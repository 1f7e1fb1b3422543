#pragma once

#include <cstdint>
#include <functional>

namespace bough::nn {

/// The learning rate of a step; steps count from 1. ConfigError for options that make no sense.
using Schedule = std::function<double(std::int64_t step)>;

Schedule constant_rate(double rate);

/// Rises linearly to `rate` over `warmup` steps and stays there.
Schedule warmup_constant(double rate, std::int64_t warmup);

/// Rises linearly to `rate` over `warmup` steps, then falls to rate * final_fraction at `steps` and stays there.
struct WarmupDecayOptions {
  double rate = 1e-3;
  std::int64_t warmup = 0;
  std::int64_t steps = 1;
  double final_fraction = 0;
};
/// Falls along half a cosine.
Schedule warmup_cosine(const WarmupDecayOptions& options);
/// Falls in a straight line.
Schedule warmup_linear(const WarmupDecayOptions& options);
/// Falls by the same factor each step; final_fraction must be above 0.
Schedule warmup_exponential(const WarmupDecayOptions& options);

/// factor * dim^-0.5 * min(step^-0.5, step * warmup^-1.5), the schedule of the first Transformer.
struct NoamOptions {
  std::int64_t dim = 512;
  std::int64_t warmup = 4000;
  double factor = 1;
};
Schedule noam(const NoamOptions& options);

/// rate * factor^(number of whole periods passed): exponential decay per epoch with period = steps of an epoch, or a
/// staircase with a small factor and a long period.
struct StepDecayOptions {
  double rate = 1e-3;
  double factor = 0.98;
  std::int64_t period = 1;
};
Schedule step_decay(const StepDecayOptions& options);

}  // namespace bough::nn
