#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/nn/losses.h"
#include "bough/ops/arithmetic.h"

namespace bough::nn {

AuxiliaryLosses::AuxiliaryLosses(const AuxiliaryLossOptions& options) : options_(options) {
  constexpr const char* where = "auxiliary losses";
  if (options.layers < 1 || options.steps < 1) {
    throw ConfigError(where, fmt::format("layers {} and steps {} must be at least 1", options.layers, options.steps));
  }
  if (!(options.weight >= 0 && options.weight < 1e300)) {
    throw ConfigError(where, fmt::format("weight must be a number >= 0, it is {}", options.weight));
  }
  if (!(options.until >= 0 && options.until <= 1)) {
    throw ConfigError(where, fmt::format("until must be from 0 to 1, it is {}", options.until));
  }
}

double AuxiliaryLosses::weight(std::int64_t layer, std::int64_t step) const {
  if (layer < 0 || layer >= options_.layers || step < 1) {
    throw IndexError("auxiliary losses", fmt::format("layer {} at step {} is outside layers 0 to {}, steps from 1",
                                                     layer, step, options_.layers - 1));
  }
  if (layer == options_.layers - 1) return 0;
  if (options_.fade == Fade::mean_by_layer) return layer >= first_layer(step) ? main_weight(step) : 0;
  const double end = options_.until * static_cast<double>(options_.steps);
  if (end <= 0) return 0;
  const double full_weight = options_.weight / static_cast<double>(options_.layers - 1);
  const double passed = static_cast<double>(step - 1) / end;
  if (options_.fade == Fade::linear) return full_weight * std::max(0.0, 1 - passed);
  return passed * static_cast<double>(options_.layers) < static_cast<double>(layer + 1) ? full_weight : 0;
}

double AuxiliaryLosses::main_weight(std::int64_t step) const {
  if (options_.fade != Fade::mean_by_layer) return 1;
  return 1 / static_cast<double>(options_.layers - first_layer(step));
}

std::int64_t AuxiliaryLosses::first_layer(std::int64_t step) const {
  const std::int64_t last = options_.layers - 1;
  if (options_.fade == Fade::mean_by_layer) {
    // i > n p for i = layer + 1 and p = (step - 1) / steps: the number of layers that have left is n p, rounded down.
    const double left = static_cast<double>(options_.layers) * static_cast<double>(step - 1);
    return std::min(last, static_cast<std::int64_t>(left / static_cast<double>(options_.steps)));
  }
  std::int64_t layer = 0;
  while (layer < last && !(weight(layer, step) > 0)) ++layer;
  return layer;
}

Tensor AuxiliaryLosses::total(const Tensor& main, const std::vector<Tensor>& losses, std::int64_t step) const {
  if (static_cast<std::int64_t>(losses.size()) != options_.layers - 1) {
    throw ShapeError("auxiliary losses", fmt::format("{} layers have {} auxiliary losses, {} were given",
                                                     options_.layers, options_.layers - 1, losses.size()));
  }
  const double main_share = main_weight(step);
  Tensor result = main_share == 1 ? main : main * main_share;
  for (std::size_t layer = 0; layer < losses.size(); ++layer) {
    const double share = weight(static_cast<std::int64_t>(layer), step);
    if (share > 0) result = result + losses[layer] * share;
  }
  return result;
}

}  // namespace bough::nn
