// The log-sum-exp of a row, as its largest element and the sum of exponentials relative to it, for softmax and cross
// entropy. Compiled once per instruction set; no #pragma once, the toggle below replaces it.
#if defined(BOUGH_KERNELS_CPU_LOG_SUM_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_LOG_SUM_EXP_INL_H_
#undef BOUGH_KERNELS_CPU_LOG_SUM_EXP_INL_H_
#else
#define BOUGH_KERNELS_CPU_LOG_SUM_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::simd {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

/// The largest element, -inf for none. A NaN may get lost here; exponentials bring it back.
template <typename T>
HWY_INLINE T max_row(const T* x, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto largest = reduce_vectors(
      d, width, minus_infinity<T>,
      [&](std::int64_t i, auto access) HWY_ATTR { return access.load(d, x + i, minus_infinity<T>); },
      [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

/// log(sum(exp(x))) = row_max + log(row_sum) with row_sum = sum(exp(x - row_max)). Where all elements are -inf, row_max
/// is 0: then the exponentials are 0 and not NaN.
template <typename T>
struct LogSumExp {
  T row_max = 0;
  T row_sum = 0;

  /// All elements were -inf, or there were none: otherwise the largest alone counts 1.
  bool masked() const { return row_sum == 0; }
};

/// Reads the row once, in blocks that stay in the first-level cache: whenever a block has a larger element than all
/// before it, the sum so far is scaled down.
template <typename T>
LogSumExp<T> log_sum_exp(const T* x, std::int64_t width) {
  constexpr std::int64_t block = 4096;
  const hn::ScalableTag<T> d;
  LogSumExp<T> result;
  for (std::int64_t begin = 0; begin < width; begin += block) {
    const T* part = x + begin;
    const std::int64_t count = std::min(block, width - begin);
    const T part_max = max_row(part, count);
    const T largest = result.masked() ? part_max : std::max(result.row_max, part_max);
    const T row_max = largest == minus_infinity<T> ? T{0} : largest;
    const auto base = hn::Set(d, row_max);
    const T part_sum = sum_row(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      return exp_of_nonpositive(d, hn::Sub(access.load(d, part + i, minus_infinity<T>), base));
    });
    const bool same_max = result.masked() || result.row_max == row_max;
    result.row_sum =
        same_max ? result.row_sum + part_sum : result.row_sum * std::exp(result.row_max - row_max) + part_sum;
    result.row_max = row_max;
  }
  return result;
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
