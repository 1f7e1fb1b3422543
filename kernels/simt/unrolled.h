#pragma once

#include <utility>

#include "bough/simt/context.h"

namespace bough::simt {

/// f(0), f(1), ... f(N - 1), each compiled by itself: arrays that f indexes stay in registers.
template <int N, typename F>
BOUGH_DEVICE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(I), ...); }
  (std::make_integer_sequence<int, N>());
}

}  // namespace bough::simt
