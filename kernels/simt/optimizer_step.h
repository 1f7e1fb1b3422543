#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bough/detail/simt/collective.h"

/// Updates of parameters: a block for each chunk of a list over all parameters of a model. The list itself lies where
/// kernels can read it.
namespace bough::simt {

/// Of one call, as Adam's formula uses them.
template <typename T>
struct AdamNumbers {
  T gradient_scale, coupled_decay, shrink, beta1, beta2, rest1, rest2, rate, root_scale, epsilon;
};

template <typename T, typename Step>
AdamNumbers<T> adam_numbers(const Step& step) {
  const auto [shrink, rate, root_scale] = changing_numbers_of(step);
  return {.gradient_scale = static_cast<T>(step.gradient_scale),
          .coupled_decay = step.decoupled_weight_decay ? T{0} : static_cast<T>(step.weight_decay),
          .shrink = static_cast<T>(shrink),
          .beta1 = static_cast<T>(step.beta1),
          .beta2 = static_cast<T>(step.beta2),
          .rest1 = static_cast<T>(1 - step.beta1),
          .rest2 = static_cast<T>(1 - step.beta2),
          .rate = static_cast<T>(rate),
          .root_scale = static_cast<T>(root_scale),
          .epsilon = static_cast<T>(step.epsilon)};
}

/// Numbers of a step that the host does not know when it launches: see StepOnDevice. Null: those of the launch hold.
struct NumbersOnDevice {
  const double* gradient_scale = nullptr;
  const double* changing = nullptr;
};

/// Chunk: parameter, gradient, first_moment, second_moment, count, decays.
template <typename T, typename Chunk>
struct AdamUpdate {
  static constexpr int block_size = 256;

  const Chunk* chunks = nullptr;
  AdamNumbers<T> given;
  NumbersOnDevice on_device;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    AdamNumbers<T> step = given;
    if (on_device.changing != nullptr) {
      step.gradient_scale = static_cast<T>(context.load(on_device.gradient_scale));
      step.shrink = static_cast<T>(context.load(on_device.changing));
      step.rate = static_cast<T>(context.load(on_device.changing + 1));
      step.root_scale = static_cast<T>(context.load(on_device.changing + 2));
      if (step.gradient_scale != step.gradient_scale) return;
    }
    const Chunk chunk = context.load(chunks + context.block());
    if (!chunk.decays) {
      step.coupled_decay = 0;
      step.shrink = 1;
    }
    for (std::int64_t i = context.thread(); i < chunk.count; i += block_size) {
      const T p = context.load(chunk.parameter + i);
      const T g = step.gradient_scale * context.load(chunk.gradient + i) + step.coupled_decay * p;
      const T m = step.beta1 * context.load(chunk.first_moment + i) + step.rest1 * g;
      const T v = step.beta2 * context.load(chunk.second_moment + i) + step.rest2 * g * g;
      context.store(chunk.first_moment + i, m);
      context.store(chunk.second_moment + i, v);
      context.store(chunk.parameter + i,
                    step.shrink * p - step.rate * m / (std::sqrt(v) * step.root_scale + step.epsilon));
    }
  }
};

/// Chunk: parameter, gradient, velocity (null without momentum), count, decays.
template <typename T, typename Chunk>
struct SgdUpdate {
  static constexpr int block_size = 256;

  const Chunk* chunks = nullptr;
  T gradient_scale = 1, decay = 0, momentum = 0, rate = 0;
  bool nesterov = false;
  NumbersOnDevice on_device;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    T scale_now = gradient_scale, rate_now = rate;
    if (on_device.changing != nullptr) {
      scale_now = static_cast<T>(context.load(on_device.gradient_scale));
      rate_now = static_cast<T>(context.load(on_device.changing));
      if (scale_now != scale_now) return;
    }
    const Chunk chunk = context.load(chunks + context.block());
    const T decay_now = chunk.decays ? decay : T{0};
    for (std::int64_t i = context.thread(); i < chunk.count; i += block_size) {
      const T p = context.load(chunk.parameter + i);
      const T g = scale_now * context.load(chunk.gradient + i) + decay_now * p;
      T direction = g;
      if (chunk.velocity != nullptr) {
        const T velocity = momentum * context.load(chunk.velocity + i) + g;
        context.store(chunk.velocity + i, velocity);
        direction = nesterov ? g + momentum * velocity : velocity;
      }
      context.store(chunk.parameter + i, p - rate_now * direction);
    }
  }
};

/// sums[i] = sum of squares of chunk i in double precision. Chunk: data, count.
template <typename Chunk>
struct SquaredSums {
  static constexpr int block_size = 256;

  const Chunk* chunks = nullptr;
  double* sums = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto partials = context.template shared<double>(warp_size);
    const Chunk chunk = context.load(chunks + context.block());
    double sum = 0;
    for (std::int64_t i = context.thread(); i < chunk.count; i += block_size) {
      const double value = static_cast<double>(context.load(chunk.data + i));
      sum += value * value;
    }
    sum = block_reduce(context, partials, sum, mp::Sum{});
    if (context.thread() == 0) context.store(sums + context.block(), sum);
  }
};

/// norm = |gradient_scale| times the root of the sum of all sums; scale = gradient_scale, made smaller where the norm
/// is above a limit other than 0, and not a number where the norm is not finite. One block.
struct ClippedNorm {
  static constexpr int block_size = 256;

  const double* sums = nullptr;
  std::int64_t count = 0;
  double gradient_scale = 1, limit = 0;
  double* norm = nullptr;
  double* scale = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const auto partials = context.template shared<double>(warp_size);
    double sum = 0;
    for (std::int64_t i = context.thread(); i < count; i += block_size) sum += context.load(sums + i);
    sum = block_reduce(context, partials, sum, mp::Sum{});
    if (context.thread() != 0) return;
    const double size = std::abs(gradient_scale) * std::sqrt(sum);
    double factor = gradient_scale;
    if (limit > 0 && size > limit) factor *= limit / size;
    if (!std::isfinite(size)) factor = std::numeric_limits<double>::quiet_NaN();
    context.store(norm, size);
    context.store(scale, factor);
  }
};

template <typename T, typename Chunk>
struct ScaleChunks {
  static constexpr int block_size = 256;

  const Chunk* chunks = nullptr;
  T factor = 1;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const Chunk chunk = context.load(chunks + context.block());
    for (std::int64_t i = context.thread(); i < chunk.count; i += block_size) {
      context.store(chunk.data + i, factor * context.load(chunk.data + i));
    }
  }
};

template <typename T, typename Queue, typename Chunk, typename Step>
void adam_update(Queue& queue, const Chunk* chunks, std::int64_t count, const Step& step,
                 const NumbersOnDevice& on_device) {
  using Body = AdamUpdate<T, Chunk>;
  queue.launch({.name = "adam_update", .num_blocks = count, .block_size = Body::block_size},
               Body{chunks, adam_numbers<T>(step), on_device});
}

template <typename T, typename Queue, typename Chunk, typename Step>
void sgd_update(Queue& queue, const Chunk* chunks, std::int64_t count, const Step& step,
                const NumbersOnDevice& on_device) {
  using Body = SgdUpdate<T, Chunk>;
  queue.launch({.name = "sgd_update", .num_blocks = count, .block_size = Body::block_size},
               Body{chunks, static_cast<T>(step.gradient_scale), static_cast<T>(step.weight_decay),
                    static_cast<T>(step.momentum), static_cast<T>(step.learning_rate), step.nesterov, on_device});
}

template <typename Queue, typename Chunk>
void squared_sums(Queue& queue, const Chunk* chunks, std::int64_t count, double* sums) {
  using Body = SquaredSums<Chunk>;
  queue.launch({.name = "squared_sums",
                .num_blocks = count,
                .block_size = Body::block_size,
                .shared_bytes = block_reduce_bytes<double>()},
               Body{chunks, sums});
}

template <typename Queue>
void clipped_norm(Queue& queue, const ClippedNorm& body) {
  queue.launch({.name = "clipped_norm",
                .num_blocks = 1,
                .block_size = ClippedNorm::block_size,
                .shared_bytes = block_reduce_bytes<double>()},
               body);
}

template <typename T, typename Queue, typename Chunk>
void scale(Queue& queue, const Chunk* chunks, std::int64_t count, double factor) {
  using Body = ScaleChunks<T, Chunk>;
  queue.launch({.name = "scale", .num_blocks = count, .block_size = Body::block_size},
               Body{chunks, static_cast<T>(factor)});
}

}  // namespace bough::simt
