#include <fmt/format.h>

#include <limits>

#include "bough/core/errors.h"
#include "bough/nn/losses.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/reduce.h"

namespace bough::nn {
namespace {

constexpr const char* loss_name = "binary_cross_entropy";

/// The values as constants of the logits' type, checked to be in low..high.
Tensor constants(const char* name, const Tensor& values, const Tensor& logits, double low, double high) {
  if (!(values.shape() == logits.shape())) {
    throw ShapeError(loss_name, fmt::format("{} {} and logits {} must have one shape", name, to_string(values.shape()),
                                            to_string(logits.shape())));
  }
  Tensor result = cast(values.detach(), logits.dtype());
  if (result.elements() == 0) return result;
  const double smallest = min(result).item<double>(), largest = max(result).item<double>();
  if (!(smallest >= low && largest <= high)) {
    throw ConfigError(loss_name, fmt::format("{} must be from {} to {}, they reach from {} to {}", name, low, high,
                                             smallest, largest));
  }
  return result;
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, const BinaryCrossEntropyOptions& options) {
  const Tensor yes = constants("targets", targets, logits, 0, 1);
  // -log sigmoid(x) = softplus(-x) and -log(1 - sigmoid(x)) = softplus(x): two terms >= 0, so nothing cancels.
  Tensor losses = yes * softplus(-logits) + (1.0 - yes) * softplus(logits);
  auto divisor = static_cast<double>(logits.elements());
  if (options.weights.defined()) {
    const double largest =
        logits.dtype() == DType::float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const Tensor weights = constants("weights", options.weights, logits, 0, largest);
    losses = losses * weights;
    divisor = sum(cast(weights, DType::float64)).item<double>();
  }
  if (options.reduction == Reduction::none) return losses;
  if (options.reduction == Reduction::mean) return sum(losses) * (divisor > 0 ? 1 / divisor : 0);
  return sum(losses);
}

}  // namespace bough::nn
