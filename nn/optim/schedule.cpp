#include "bough/nn/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

template <typename Number>
void require_at_least(const char* what, Number value, Number low) {
  if (!(value >= low)) throw ConfigError("schedule", fmt::format("{} must be at least {}, not {}", what, low, value));
}

}  // namespace

Schedule constant_rate(double rate) {
  require_at_least("rate", rate, 0.0);
  return [rate](std::int64_t) { return rate; };
}

Schedule warmup_cosine(const WarmupCosineOptions& options) {
  require_at_least("rate", options.rate, 0.0);
  require_at_least("warmup", options.warmup, std::int64_t{0});
  require_at_least("steps", options.steps, std::max<std::int64_t>(1, options.warmup));
  require_at_least("final_fraction", options.final_fraction, 0.0);
  return [options](std::int64_t step) {
    if (step <= options.warmup) return options.rate * static_cast<double>(step) / static_cast<double>(options.warmup);
    const double length = static_cast<double>(std::max<std::int64_t>(1, options.steps - options.warmup));
    const double done = std::min(1.0, static_cast<double>(step - options.warmup) / length);
    const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
    return options.rate * (options.final_fraction + (1 - options.final_fraction) * cosine);
  };
}

Schedule noam(const NoamOptions& options) {
  require_at_least("dim", options.dim, std::int64_t{1});
  require_at_least("warmup", options.warmup, std::int64_t{1});
  require_at_least("factor", options.factor, 0.0);
  return [options](std::int64_t step) {
    const double s = static_cast<double>(std::max<std::int64_t>(1, step));
    const double warmup = static_cast<double>(options.warmup);
    return options.factor / std::sqrt(static_cast<double>(options.dim)) *
           std::min(1 / std::sqrt(s), s / (warmup * std::sqrt(warmup)));
  };
}

Schedule step_decay(const StepDecayOptions& options) {
  require_at_least("rate", options.rate, 0.0);
  require_at_least("factor", options.factor, 0.0);
  require_at_least("period", options.period, std::int64_t{1});
  return [options](std::int64_t step) {
    return options.rate * std::pow(options.factor, static_cast<double>((step - 1) / options.period));
  };
}

}  // namespace bough::nn
