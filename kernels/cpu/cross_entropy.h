#pragma once

#include <cstdint>
#include <span>

#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// What the rows of cross entropy aim at. Targets are classes or equal to `ignored`.
struct ClassTargets {
  std::span<const std::int64_t> classes;
  std::int64_t ignored = -100;
  double smoothing = 0;
};

/// Writes the loss of every row and, in two numbers a row, its largest score and the logarithm of the sum of
/// exponentials relative to it. Returns the sum of the losses. Ignored rows have loss 0 and no normaliser.
template <typename T>
double cross_entropy(Cpu, Rows<const T> logits, const ClassTargets& targets, std::span<T> losses, Rows<T> normalizers);

/// gradient = (softmax - target distribution) * scale * dy; dy holds one number a row, or one for all.
template <typename T>
void cross_entropy_backward(Cpu, Rows<const T> logits, const ClassTargets& targets, Rows<const T> normalizers,
                            std::span<const T> dy, double scale, Rows<T> gradient);

}  // namespace bough
