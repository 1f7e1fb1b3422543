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

/// shape: 0..1, the share of the steps after the warm-up that are done -> share of the rate.
template <typename Shape>
Schedule warmup_decay(const WarmupDecayOptions& options, Shape shape) {
  require_at_least("rate", options.rate, 0.0);
  require_at_least("warmup", options.warmup, std::int64_t{0});
  require_at_least("steps", options.steps, std::max<std::int64_t>(1, options.warmup));
  require_at_least("final_fraction", options.final_fraction, 0.0);
  return [options, shape](std::int64_t step) {
    if (step <= options.warmup) return options.rate * static_cast<double>(step) / static_cast<double>(options.warmup);
    const double length = static_cast<double>(std::max<std::int64_t>(1, options.steps - options.warmup));
    return options.rate * shape(std::min(1.0, static_cast<double>(step - options.warmup) / length));
  };
}

}  // namespace

Schedule constant_rate(double rate) {
  require_at_least("rate", rate, 0.0);
  return [rate](std::int64_t) { return rate; };
}

Schedule warmup_constant(double rate, std::int64_t warmup) {
  require_at_least("rate", rate, 0.0);
  require_at_least("warmup", warmup, std::int64_t{0});
  return [rate, warmup](std::int64_t step) {
    return step <= warmup ? rate * static_cast<double>(step) / static_cast<double>(warmup) : rate;
  };
}

Schedule warmup_cosine(const WarmupDecayOptions& options) {
  return warmup_decay(options, [final = options.final_fraction](double done) {
    const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
    return final + (1 - final) * cosine;
  });
}

Schedule warmup_linear(const WarmupDecayOptions& options) {
  return warmup_decay(options,
                      [final = options.final_fraction](double done) { return final + (1 - final) * (1 - done); });
}

Schedule warmup_exponential(const WarmupDecayOptions& options) {
  if (options.final_fraction == 0) {
    throw ConfigError("schedule", "final_fraction must be above 0, which an exponential never reaches");
  }
  return warmup_decay(options, [final = options.final_fraction](double done) { return std::pow(final, done); });
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
