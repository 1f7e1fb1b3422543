#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bough/detail/simt/collective.h"

namespace bough::simt {

/// What the rows aim at: classes, or `ignored`.
struct ClassTargetView {
  const std::int64_t* classes = nullptr;
  std::int64_t ignored = -100;
  double smoothing = 0;
};

/// loss = log_row_sum - sum(q * (x - row_max)), everything relative to the largest score: a warp for each row.
template <typename T>
struct CrossEntropy {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1;
  const T* logits = nullptr;
  ClassTargetView targets;
  T* losses = nullptr;
  T* normalizers = nullptr;  ///< largest score and log of the sum of exponentials of each row that is not ignored

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t row = warp_number<block_size>(context);
    if (row >= rows) return;
    const T* x = logits + row * width;
    const std::int64_t target = context.load(targets.classes + row);
    const bool writes = context.lane() == 0;
    if (target == targets.ignored) {
      if (writes) context.store(losses + row, T{0});
      return;
    }
    T row_max = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = context.lane(); i < width; i += warp_size) row_max = mp::Max{}(row_max, context.load(x + i));
    row_max = warp_max(context, row_max);
    const bool masked = row_max < std::numeric_limits<T>::lowest();
    T sum = 0, differences = 0;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T difference = masked ? -std::numeric_limits<T>::infinity() : context.load(x + i) - row_max;
      sum += std::exp(difference);
      differences += difference;
    }
    sum = warp_sum(context, sum);
    differences = warp_sum(context, differences);
    if (!writes) return;
    const T log_row_sum = std::log(sum);
    double hit = static_cast<double>(context.load(x + target) - row_max);
    if (targets.smoothing > 0) {
      // Without the test, complete smoothing would multiply a score of -inf by zero.
      hit = (targets.smoothing < 1 ? (1 - targets.smoothing) * hit : 0.0) +
            targets.smoothing / static_cast<double>(width) * static_cast<double>(differences);
    }
    context.store(normalizers + 2 * row, row_max);
    context.store(normalizers + 2 * row + 1, log_row_sum);
    context.store(losses + row,
                  masked ? std::numeric_limits<T>::infinity() : static_cast<T>(static_cast<double>(log_row_sum) - hit));
  }
};

/// The sum of all losses in double precision, by one block, always in the same order.
template <typename T>
struct SumLosses {
  static constexpr int block_size = 256;

  std::int64_t rows = 0;
  const T* losses = nullptr;
  double* total = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto partials = context.template shared<double>(warp_size);
    double sum = 0;
    for (std::int64_t i = context.thread(); i < rows; i += block_size) sum += context.load(losses + i);
    sum = block_reduce(context, partials, sum, mp::Sum{});
    if (context.thread() == 0) context.store(total, sum);
  }
};

/// gradient = (softmax - target distribution) * scale * dy: a warp for each row.
template <typename T>
struct CrossEntropyBackward {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, width = 1;
  const T* logits = nullptr;
  ClassTargetView targets;
  const T* normalizers = nullptr;
  const T* dy = nullptr;
  bool one_dy = false;  ///< for all rows
  double scale = 1;
  T* gradient = nullptr;
  const double* scale_there = nullptr;  ///< instead of scale, if given

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t row = warp_number<block_size>(context);
    if (row >= rows) return;
    const std::int64_t target = context.load(targets.classes + row);
    if (target == targets.ignored) {
      for (std::int64_t i = context.lane(); i < width; i += warp_size) context.store(gradient + row * width + i, T{0});
      return;
    }
    const double scaled_by = scale_there != nullptr ? context.load(scale_there) : scale;
    const double factor = scaled_by * context.load(dy + (one_dy ? 0 : row));
    const T row_max = context.load(normalizers + 2 * row), log_row_sum = context.load(normalizers + 2 * row + 1);
    // A row of only -inf has no probabilities: relative to anything finite all of them are 0.
    const bool masked = row_max < std::numeric_limits<T>::lowest();
    const T spread = static_cast<T>(factor * targets.smoothing / static_cast<double>(width));
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      const T p = masked ? T{0} : std::exp(context.load(logits + row * width + i) - row_max - log_row_sum);
      const T hit = i == target ? static_cast<T>(factor * (1 - targets.smoothing)) : T{0};
      context.store(gradient + row * width + i, p * static_cast<T>(factor) - spread - hit);
    }
  }
};

/// Losses of all rows, their normalizers, and in `total` the sum of the losses.
template <typename Queue, typename T>
void cross_entropy(Queue& queue, const CrossEntropy<T>& body, double* total) {
  launch_warps(queue, "cross_entropy", body.rows, body);
  queue.launch({.name = "sum_losses",
                .num_blocks = 1,
                .block_size = SumLosses<T>::block_size,
                .shared_bytes = block_reduce_bytes<double>()},
               SumLosses<T>{body.rows, body.losses, total});
}

template <typename Queue, typename T>
void cross_entropy_backward(Queue& queue, const CrossEntropyBackward<T>& body) {
  launch_warps(queue, "cross_entropy_backward", body.rows, body);
}

}  // namespace bough::simt
