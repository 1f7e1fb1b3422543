#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/simt/collective.h"

/// Updates of parameters: a block for each piece of a list over all parameters of a model. The list itself lies where
/// kernels can read it.
namespace bough::simt {

/// Of one call, as Adam's formula uses them.
template <typename T>
struct AdamNumbers {
  T gradient_scale, coupled_decay, shrink, beta1, beta2, rest1, rest2, rate, root_scale, epsilon;
};

template <typename T, typename Step>
AdamNumbers<T> adam_numbers(const Step& step) {
  const double bias1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
  const double bias2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
  return {.gradient_scale = static_cast<T>(step.gradient_scale),
          .coupled_decay = step.decoupled_weight_decay ? T{0} : static_cast<T>(step.weight_decay),
          .shrink = static_cast<T>(step.decoupled_weight_decay ? 1 - step.learning_rate * step.weight_decay : 1.0),
          .beta1 = static_cast<T>(step.beta1),
          .beta2 = static_cast<T>(step.beta2),
          .rest1 = static_cast<T>(1 - step.beta1),
          .rest2 = static_cast<T>(1 - step.beta2),
          .rate = static_cast<T>(step.learning_rate / bias1),
          .root_scale = static_cast<T>(1 / std::sqrt(bias2)),
          .epsilon = static_cast<T>(step.epsilon)};
}

/// Piece: parameter, gradient, first_moment, second_moment, count.
template <typename T, typename Piece>
struct AdamUpdate {
  static constexpr int block_size = 256;

  const Piece* pieces = nullptr;
  AdamNumbers<T> step;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const Piece piece = context.load(pieces + context.block());
    for (std::int64_t i = context.thread(); i < piece.count; i += block_size) {
      const T p = context.load(piece.parameter + i);
      const T g = step.gradient_scale * context.load(piece.gradient + i) + step.coupled_decay * p;
      const T m = step.beta1 * context.load(piece.first_moment + i) + step.rest1 * g;
      const T v = step.beta2 * context.load(piece.second_moment + i) + step.rest2 * g * g;
      context.store(piece.first_moment + i, m);
      context.store(piece.second_moment + i, v);
      context.store(piece.parameter + i,
                    step.shrink * p - step.rate * m / (std::sqrt(v) * step.root_scale + step.epsilon));
    }
  }
};

/// Piece: parameter, gradient, velocity (null without momentum), count.
template <typename T, typename Piece>
struct SgdUpdate {
  static constexpr int block_size = 256;

  const Piece* pieces = nullptr;
  T gradient_scale = 1, decay = 0, momentum = 0, rate = 0;
  bool nesterov = false;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const Piece piece = context.load(pieces + context.block());
    for (std::int64_t i = context.thread(); i < piece.count; i += block_size) {
      const T p = context.load(piece.parameter + i);
      const T g = gradient_scale * context.load(piece.gradient + i) + decay * p;
      T direction = g;
      if (piece.velocity != nullptr) {
        const T velocity = momentum * context.load(piece.velocity + i) + g;
        context.store(piece.velocity + i, velocity);
        direction = nesterov ? g + momentum * velocity : velocity;
      }
      context.store(piece.parameter + i, p - rate * direction);
    }
  }
};

/// sums[i] = sum of squares of piece i in double precision. Piece: data, count.
template <typename Piece>
struct SquaredSums {
  static constexpr int block_size = 256;

  const Piece* pieces = nullptr;
  double* sums = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto slots = context.template shared<double>(warp_size);
    const Piece piece = context.load(pieces + context.block());
    double sum = 0;
    for (std::int64_t i = context.thread(); i < piece.count; i += block_size) {
      const double value = static_cast<double>(context.load(piece.data + i));
      sum += value * value;
    }
    sum = block_reduce(context, slots, sum, mp::Sum{});
    if (context.thread() == 0) context.store(sums + context.block(), sum);
  }
};

template <typename T, typename Piece>
struct ScalePieces {
  static constexpr int block_size = 256;

  const Piece* pieces = nullptr;
  T factor = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const Piece piece = context.load(pieces + context.block());
    for (std::int64_t i = context.thread(); i < piece.count; i += block_size) {
      context.store(piece.data + i, factor * context.load(piece.data + i));
    }
  }
};

template <typename T, typename Queue, typename Piece, typename Step>
void adam_update(Queue& queue, const Piece* pieces, std::int64_t count, const Step& step) {
  using Body = AdamUpdate<T, Piece>;
  queue.launch({.name = "adam_update", .num_blocks = count, .block_size = Body::block_size},
               Body{pieces, adam_numbers<T>(step)});
}

template <typename T, typename Queue, typename Piece, typename Step>
void sgd_update(Queue& queue, const Piece* pieces, std::int64_t count, const Step& step) {
  using Body = SgdUpdate<T, Piece>;
  queue.launch({.name = "sgd_update", .num_blocks = count, .block_size = Body::block_size},
               Body{pieces, static_cast<T>(step.gradient_scale), static_cast<T>(step.weight_decay),
                    static_cast<T>(step.momentum), static_cast<T>(step.learning_rate), step.nesterov});
}

template <typename Queue, typename Piece>
void squared_sums(Queue& queue, const Piece* pieces, std::int64_t count, double* sums) {
  using Body = SquaredSums<Piece>;
  queue.launch({.name = "squared_sums",
                .num_blocks = count,
                .block_size = Body::block_size,
                .shared_bytes = block_reduce_bytes<double>()},
               Body{pieces, sums});
}

template <typename T, typename Queue, typename Piece>
void scale(Queue& queue, const Piece* pieces, std::int64_t count, double factor) {
  using Body = ScalePieces<T, Piece>;
  queue.launch({.name = "scale", .num_blocks = count, .block_size = Body::block_size},
               Body{pieces, static_cast<T>(factor)});
}

}  // namespace bough::simt
