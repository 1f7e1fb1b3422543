#pragma once

#include "kernels/simt/axes.h"

namespace bough::simt {

/// result = mask ? a : b over operands that broadcast, in the order mask, a, b. Unit: as large as an element.
template <typename Unit, typename Layout>
struct Select {
  static constexpr int block_size = 256;

  Layout layout;
  const bool* mask = nullptr;
  const Unit* a = nullptr;
  const Unit* b = nullptr;
  Unit* result = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= layout.elements) return;
    std::int64_t mask_place = 0, a_place = 0, b_place = 0;
    for_each_axis(layout.rank, layout.extents, i, [&](int axis, std::int64_t position) {
      mask_place += position * layout.strides[0][axis];
      a_place += position * layout.strides[1][axis];
      b_place += position * layout.strides[2][axis];
    });
    context.store(result + i, context.load(mask + mask_place) ? context.load(a + a_place) : context.load(b + b_place));
  }
};

template <typename Queue, typename Unit, typename Layout>
void select(Queue& queue, const Layout& layout, const bool* mask, const Unit* a, const Unit* b, Unit* result) {
  launch_threads(queue, "select", layout.elements, Select<Unit, Layout>{layout, mask, a, b, result});
}

}  // namespace bough::simt
