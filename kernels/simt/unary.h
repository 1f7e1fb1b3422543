#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"
#include "kernels/functors/unary.h"

/// Functions of single elements: a thread for each.
namespace bough::simt {

template <typename T>
struct Unary {
  static constexpr int block_size = 256;

  UnaryFunction function;
  T first, second;
  std::int64_t count = 0;
  const T* x = nullptr;
  T* y = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i < count) context.store(y + i, scalar::value(function, first, second, context.load(x + i)));
  }
};

template <typename T>
struct UnaryBackward {
  static constexpr int block_size = 256;

  UnaryFunction function;
  T first, second;
  std::int64_t count = 0;
  const T* saved = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= count) return;
    context.store(dx + i, scalar::gradient(function, first, second, context.load(saved + i), context.load(dy + i)));
  }
};

template <typename Queue, typename T>
void unary(Queue& queue, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count) {
  using Body = Unary<T>;
  launch_threads(queue, "unary", count,
                 Body{function, static_cast<T>(parameters.first), static_cast<T>(parameters.second), count, x, y});
}

template <typename Queue, typename T>
void unary_backward(Queue& queue, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy,
                    T* dx, std::int64_t count) {
  using Body = UnaryBackward<T>;
  launch_threads(
      queue, "unary_backward", count,
      Body{function, static_cast<T>(parameters.first), static_cast<T>(parameters.second), count, saved, dy, dx});
}

}  // namespace bough::simt
