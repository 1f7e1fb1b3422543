#pragma once

#include "kernels/simt/axes.h"

namespace bough::simt {

/// result = f(a, b) over operands that broadcast. Layout: rank, elements, extents, strides of both operands.
template <typename T, typename F, typename Layout, typename Result = T>
struct Binary {
  static constexpr int block_size = 256;

  F function;
  Layout layout;
  const T* a = nullptr;
  const T* b = nullptr;
  Result* result = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= layout.elements) return;
    std::int64_t a_place = 0, b_place = 0;
    for_each_axis(layout.rank, layout.extents, i, [&](int axis, std::int64_t position) {
      a_place += position * layout.strides[0][axis];
      b_place += position * layout.strides[1][axis];
    });
    context.store(result + i, function(context.load(a + a_place), context.load(b + b_place)));
  }
};

template <typename Queue, typename T, typename F, typename Layout, typename Result>
void binary(Queue& queue, const F& function, const Layout& layout, const T* a, const T* b, Result* result) {
  using Body = Binary<T, F, Layout, Result>;
  launch_threads(queue, "binary", layout.elements, Body{function, layout, a, b, result});
}

}  // namespace bough::simt
