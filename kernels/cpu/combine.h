#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernels/cpu/reduce.h"
#include "kernels/functors/binary.h"

namespace bough {

/// What partial results of blocks are kept in.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// Integers wrap around.
template <typename A, typename F>
A wrapping(A a, A b, const F& f) {
  using Number = typename scalar::Wrapping<A>::Number;
  return static_cast<A>(f(static_cast<Number>(a), static_cast<Number>(b)));
}

/// A reduction on accumulators: where it starts and how two partial results become one.
template <AxisReduction reduction, typename A>
struct Combine {
  static constexpr A start() {
    using Limits = std::numeric_limits<A>;
    if constexpr (reduction == AxisReduction::sum)
      return A{0};
    else if constexpr (reduction == AxisReduction::prod)
      return A{1};
    else if constexpr (reduction == AxisReduction::max)
      return Limits::has_infinity ? -Limits::infinity() : Limits::min();
    else
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  A operator()(A a, A b) const {
    if constexpr (reduction == AxisReduction::sum)
      return wrapping(a, b, std::plus<>());
    else if constexpr (reduction == AxisReduction::prod)
      return wrapping(a, b, std::multiplies<>());
    else if constexpr (reduction == AxisReduction::max)
      return a >= b || a != a ? a : b;
    else
      return a <= b || a != a ? a : b;
  }
};

}  // namespace bough
