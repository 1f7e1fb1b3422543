#include "bough/nn/gradient_accumulation.h"

#include <fmt/format.h>

#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"

namespace bough::nn {

void GradientAccumulation::add(const Tensor& loss, double count) {
  if (!(count >= 0) || !std::isfinite(count)) {
    throw ConfigError("gradient accumulation", fmt::format("count must be a number >= 0, it is {}", count));
  }
  if (loss.elements() != 1) {
    throw ShapeError("gradient accumulation",
                     fmt::format("the loss must be one element, it is {}", to_string(loss.shape())));
  }
  if (count == 0) return;
  if (count_ == 0) optimizer_->clear_grad();
  // The sum over the part goes backward; the division by the count of all parts has to wait for the step.
  loss.backward({.gradient = full(loss.shape(), count, loss.dtype(), loss.device())});
  count_ += count;
  loss_sum_ += count * loss.item<double>();
}

double GradientAccumulation::step() {
  if (count_ == 0) throw Error("gradient accumulation", "there is nothing to step with: add() at least one loss");
  const double norm = optimizer_->step(1 / count_);
  optimizer_->clear_grad();
  count_ = 0;
  loss_sum_ = 0;
  return norm;
}

}  // namespace bough::nn
