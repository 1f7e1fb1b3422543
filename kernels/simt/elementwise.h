#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"
#include "kernels/functors/cast.h"
#include "kernels/functors/unary.h"
#include "kernels/strided_move.h"

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

/// Calls f(axis, position along it) for the place of element i among `extents`.
template <typename Extents, typename F>
BOUGH_DEVICE void for_each_axis(int rank, const Extents& extents, std::int64_t i, const F& f) {
  for (int axis = rank - 1; axis >= 0; --axis) {
    const std::int64_t rest = i / extents[axis];
    f(axis, i - rest * extents[axis]);
    i = rest;
  }
}

/// result = f(a, b) over operands that broadcast. Plan: rank, elements, extents, strides of both operands.
template <typename T, typename F, typename Plan, typename Result = T>
struct Binary {
  static constexpr int block_size = 256;

  F function;
  Plan plan;
  const T* a = nullptr;
  const T* b = nullptr;
  Result* result = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= plan.elements) return;
    std::int64_t a_place = 0, b_place = 0;
    for_each_axis(plan.rank, plan.extents, i, [&](int axis, std::int64_t position) {
      a_place += position * plan.strides[0][axis];
      b_place += position * plan.strides[1][axis];
    });
    context.store(result + i, function(context.load(a + a_place), context.load(b + b_place)));
  }
};

/// result = mask ? a : b over operands that broadcast, in the order mask, a, b. Unit: as large as an element.
template <typename Unit, typename Plan>
struct Select {
  static constexpr int block_size = 256;

  Plan plan;
  const bool* mask = nullptr;
  const Unit* a = nullptr;
  const Unit* b = nullptr;
  Unit* result = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= plan.elements) return;
    std::int64_t mask_place = 0, a_place = 0, b_place = 0;
    for_each_axis(plan.rank, plan.extents, i, [&](int axis, std::int64_t position) {
      mask_place += position * plan.strides[0][axis];
      a_place += position * plan.strides[1][axis];
      b_place += position * plan.strides[2][axis];
    });
    context.store(result + i, context.load(mask + mask_place) ? context.load(a + a_place) : context.load(b + b_place));
  }
};

/// Moves elements between places with strides. Unit: as large as an element.
template <typename Unit>
struct StridedCopy {
  static constexpr int block_size = 256;

  StridedMove move;
  std::int64_t count = 0;
  const Unit* source = nullptr;
  Unit* target = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= count) return;
    std::int64_t from = 0, to = 0;
    for_each_axis(move.rank, move.extents, i, [&](int axis, std::int64_t position) {
      from += position * move.source_strides[axis];
      to += position * move.target_strides[axis];
    });
    context.store(target + to, context.load(source + from));
  }
};

template <typename From, typename To>
struct Cast {
  static constexpr int block_size = 256;

  std::int64_t count = 0;
  const From* from = nullptr;
  To* to = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i < count) context.store(to + i, scalar::converted<To>(context.load(from + i)));
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

template <typename Queue, typename T, typename F, typename Plan, typename Result>
void binary(Queue& queue, const F& function, const Plan& plan, const T* a, const T* b, Result* result) {
  using Body = Binary<T, F, Plan, Result>;
  launch_threads(queue, "binary", plan.elements, Body{function, plan, a, b, result});
}

template <typename Queue, typename Unit, typename Plan>
void select(Queue& queue, const Plan& plan, const bool* mask, const Unit* a, const Unit* b, Unit* result) {
  launch_threads(queue, "select", plan.elements, Select<Unit, Plan>{plan, mask, a, b, result});
}

template <typename Queue, typename Unit>
void strided_copy(Queue& queue, const StridedMove& move, const Unit* source, Unit* target) {
  const StridedMove merged = merged_axes(move);
  launch_threads(queue, "strided_copy", merged.elements(),
                 StridedCopy<Unit>{merged, merged.elements(), source, target});
}

template <typename Queue, typename From, typename To>
void cast(Queue& queue, const From* from, To* to, std::int64_t count) {
  launch_threads(queue, "cast", count, Cast<From, To>{count, from, to});
}

}  // namespace bough::simt
