#include "bough/ops/cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/compare.h"
#include "bough/ops/reduce.h"
#include "kernels/cpu/cross_entropy.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/on_device.h"
#include "kernels/ops/operands.h"
#include "kernels/row_index.h"
#include "kernels/views.h"
#include "src/core/captured_graph.h"

namespace bough {
namespace {

void require_scores_and_targets(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require_integers("cross_entropy", "targets", targets);
  require_same_device("cross_entropy", {logits, targets});
  const auto rows = [](const Shape& shape) {
    return shape.extents().first(static_cast<std::size_t>(shape.rank() - 1));
  };
  if (logits.rank() != targets.rank() + 1 || !std::ranges::equal(rows(logits.shape()), targets.shape())) {
    throw ShapeError("cross_entropy",
                     fmt::format("logits {} and targets {} do not match: logits have one axis more, the "
                                 "classes",
                                 to_string(logits.shape()), to_string(targets.shape())));
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw ConfigError("cross_entropy",
                      fmt::format("label_smoothing must be from 0 to 1, not {}", options.label_smoothing));
  }
}

/// A copy as int64 on the CPU that later writes to the targets cannot reach: backward trusts it.
Tensor classes_of(const Tensor& given) {
  const Tensor targets = given.detach().to(Device::cpu());
  Tensor classes = Tensor::empty({targets.elements()}, DType::int64);
  visit_integers(targets, [&](auto values) { std::ranges::copy(values, classes.data<std::int64_t>()); });
  return classes;
}

/// 1 / number of rows that are not ignored, float64 where the classes are: for a step that is captured, where the
/// number is the device's business.
Tensor scale_there(const Tensor& classes, std::int64_t ignored) {
  const Tensor counted = sum(cast(not_equal(classes, static_cast<double>(ignored)), DType::float64));
  return ones({}, DType::float64, classes.device()) / clamp(counted, 1, std::numeric_limits<double>::infinity());
}

/// Checks every target and returns how many rows are not ignored.
std::int64_t count_rows(const Tensor& classes, std::int64_t num_classes, std::int64_t ignored) {
  const std::span<const std::int64_t> targets = classes.span<std::int64_t>();
  std::int64_t counted = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == ignored) continue;
    if (targets[row] < 0 || targets[row] >= num_classes) {
      throw IndexError("cross_entropy", fmt::format("target {} of row {} is outside the {} classes; ignore_index is {}",
                                                    targets[row], row, num_classes, ignored));
    }
    ++counted;
  }
  return counted;
}

simt::ClassTargetView view_of(const ClassTargets& targets) {
  return {targets.classes.data(), targets.ignored, targets.smoothing};
}

/// Scores as one row for each target, also where there are no classes.
template <typename T>
Rows<const T> score_rows(const Tensor& logits, const Tensor& classes) {
  return {device_data<T>(logits), classes.elements(), logits.size(-1)};
}

/// Writes losses and normalizers; returns the sum of the losses, float64 where the logits are.
template <typename T>
Tensor row_losses(Cpu cpu, Rows<const T> logits, const ClassTargets& targets, Tensor& losses, Tensor& normalizers) {
  return full({}, cross_entropy<T>(cpu, logits, targets, losses.span<T>(), rows_of<T>(normalizers)), DType::float64);
}
template <typename T>
Tensor row_losses(Cuda gpu, Rows<const T> logits, const ClassTargets& targets, Tensor& losses, Tensor& normalizers) {
  Tensor total = Tensor::empty({}, DType::float64, losses.device());
  cross_entropy(gpu,
                simt::CrossEntropy<T>{logits.count, logits.width, logits.data, view_of(targets), device_data<T>(losses),
                                      device_data<T>(normalizers)},
                device_data<double>(total));
  return total;
}

/// What a loss is multiplied by: a number, and in a capture one that the device has counted.
struct LossScale {
  double here = 1;
  Tensor there = {};
};

template <typename T>
void scores_gradient(Cpu cpu, Rows<const T> logits, const ClassTargets& targets, Rows<const T> normalizers,
                     std::span<const T> dy, const LossScale& scale, Rows<T> gradient) {
  cross_entropy_backward(cpu, logits, targets, normalizers, dy, scale.here, gradient);
}
template <typename T>
void scores_gradient(Cuda gpu, Rows<const T> logits, const ClassTargets& targets, Rows<const T> normalizers,
                     std::span<const T> dy, const LossScale& scale, Rows<T> gradient) {
  cross_entropy_backward(
      gpu, simt::CrossEntropyBackward<T>{logits.count, logits.width, logits.data, view_of(targets), normalizers.data,
                                         dy.data(), dy.size() == 1, scale.here, gradient.data,
                                         scale.there.defined() ? device_data<double>(scale.there) : nullptr});
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require_defined("cross_entropy", "logits", logits);
  require_defined("cross_entropy", "targets", targets);
  require_scores_and_targets(logits, targets, options);
  const auto aim = [options](const Tensor& classes) {
    return ClassTargets{device_span<std::int64_t>(classes), options.ignore_index, options.label_smoothing};
  };
  const bool mean = options.reduction == Reduction::mean;
  Tensor classes;
  LossScale scale;
  if (CapturedGraph::capturing(logits.device())) {  // the run before the capture has looked at the targets
    classes = cast(targets.detach().clone(), DType::int64).reshape({-1});
    if (mean) scale.there = scale_there(classes, options.ignore_index);
  } else {
    classes = classes_of(targets);
    const std::int64_t counted = count_rows(classes, logits.size(-1), options.ignore_index);
    classes = classes.to(logits.device());
    if (mean) scale.here = 1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1));
  }
  Tensor losses = Tensor::empty(targets.shape(), logits.dtype(), logits.device());
  Tensor normalizers = Tensor::empty({targets.elements(), 2}, logits.dtype(), logits.device());
  Tensor loss;
  on_any_device("cross_entropy", logits, [&]<typename T>(auto backend, TypeTag<T>) {
    const Tensor total = row_losses(backend, score_rows<T>(logits, classes), aim(classes), losses, normalizers);
    const Tensor scaled = scale.there.defined() ? total * scale.there : total * scale.here;
    loss = options.reduction == Reduction::none ? losses : cast(scaled, logits.dtype());
  });

  // loss = log sum exp x - q . x for each row:  dx = (softmax(x) - q) * dloss
  return autograd::record({.name = "cross_entropy",
                           .inputs = {logits},
                           .saved = {logits, classes, normalizers},
                           .backward = [aim, scale](const BackwardCall& call) -> Gradients {
                             Tensor dx = empty_like(call.saved(0));
                             on_any_device("cross_entropy", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                               scores_gradient(backend, score_rows<T>(call.saved(0), call.saved(1)), aim(call.saved(1)),
                                               rows_of<T>(call.saved(2)), device_span<T>(call.gradient()), scale,
                                               last_axis_rows<T>(dx));
                             });
                             return {dx};
                           }},
                          loss);
}

}  // namespace bough
