#pragma once

#include <cstdint>

#include "kernels/functors/unary.h"
#include "kernels/simt/context.h"

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
struct UnaryGradient {
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

/// result = f(a, b) over operands that broadcast. Plan: rank, elements, extents, strides of both operands.
template <typename T, typename F, typename Plan>
struct Binary {
  static constexpr int block_size = 256;

  F function;
  Plan plan;
  const T* a = nullptr;
  const T* b = nullptr;
  T* result = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= plan.elements) return;
    std::int64_t rest = i, a_place = 0, b_place = 0;
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      const std::int64_t position = rest % plan.extents[axis];
      rest /= plan.extents[axis];
      a_place += position * plan.strides[0][axis];
      b_place += position * plan.strides[1][axis];
    }
    context.store(result + i, function(context.load(a + a_place), context.load(b + b_place)));
  }
};

template <typename Queue, typename T>
void unary(Queue& queue, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count) {
  using Body = Unary<T>;
  launch_threads(queue, "unary", count,
                 Body{function, static_cast<T>(parameters.first), static_cast<T>(parameters.second), count, x, y});
}

template <typename Queue, typename T>
void unary_gradient(Queue& queue, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy,
                    T* dx, std::int64_t count) {
  using Body = UnaryGradient<T>;
  launch_threads(
      queue, "unary_gradient", count,
      Body{function, static_cast<T>(parameters.first), static_cast<T>(parameters.second), count, saved, dy, dx});
}

template <typename Queue, typename T, typename F, typename Plan>
void binary(Queue& queue, const F& function, const Plan& plan, const T* a, const T* b, T* result) {
  using Body = Binary<T, F, Plan>;
  launch_threads(queue, "binary", plan.elements, Body{function, plan, a, b, result});
}

}  // namespace bough::simt
