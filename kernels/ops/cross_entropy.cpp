#include "bough/ops/cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/cross_entropy.h"
#include "kernels/on_device.h"
#include "kernels/row_index.h"
#include "kernels/views.h"

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

/// A copy as int64 that later writes to the targets cannot reach: backward trusts it.
Tensor classes_of(const Tensor& targets) {
  Tensor classes = Tensor::empty({targets.elements()}, DType::int64);
  visit_integers(targets, [&](auto values) { std::ranges::copy(values, classes.data<std::int64_t>()); });
  return classes;
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

/// Scores as one row for each target, also where there are no classes.
template <typename T>
Rows<const T> score_rows(const Tensor& logits, const Tensor& classes) {
  return {logits.data<T>(), classes.elements(), logits.size(-1)};
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require_scores_and_targets(logits, targets, options);
  const auto aim = [options](const Tensor& classes) {
    return ClassTargets{classes.span<std::int64_t>(), options.ignore_index, options.label_smoothing};
  };
  const bool single = options.reduction != Reduction::none;
  Tensor losses = Tensor::empty(targets.shape(), logits.dtype(), logits.device());
  Tensor normalizers = Tensor::empty({targets.elements(), 2}, logits.dtype(), logits.device());
  Tensor classes, loss;
  double scale = 1;
  on_device("cross_entropy", logits, [&]<typename T>(auto backend, TypeTag<T>) {
    classes = classes_of(targets);
    const std::int64_t counted = count_rows(classes, logits.size(-1), options.ignore_index);
    if (options.reduction == Reduction::mean) scale = 1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1));
    const double total = cross_entropy<T>(backend, score_rows<T>(logits, classes), aim(classes), losses.span<T>(),
                                          rows_of<T>(normalizers));
    loss = single ? full({}, total * scale, logits.dtype()) : losses;
  });

  // loss = log sum exp x - q . x for each row:  dx = (softmax(x) - q) * dloss
  return record({.name = "cross_entropy",
                 .inputs = {logits},
                 .saved = {logits, classes, normalizers},
                 .backward = [aim, scale](const BackwardCall& call) -> Gradients {
                   Tensor dx = empty_like(call.saved(0));
                   on_device("cross_entropy", dx, [&]<typename T>(auto backend, TypeTag<T>) {
                     cross_entropy_backward<T>(backend, score_rows<T>(call.saved(0), call.saved(1)), aim(call.saved(1)),
                                               rows_of<T>(call.saved(2)), call.gradient().span<T>(), scale,
                                               last_axis_rows<T>(dx));
                   });
                   return {dx};
                 }},
                loss);
}

}  // namespace bough
