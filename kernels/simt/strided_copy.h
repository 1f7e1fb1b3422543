#pragma once

#include "kernels/simt/axes.h"
#include "kernels/strided_move.h"

namespace bough::simt {

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

template <typename Queue, typename Unit>
void strided_copy(Queue& queue, const StridedMove& move, const Unit* source, Unit* target) {
  const StridedMove merged = merged_axes(move);
  launch_threads(queue, "strided_copy", merged.elements(),
                 StridedCopy<Unit>{merged, merged.elements(), source, target});
}

}  // namespace bough::simt
