#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"
#include "kernels/functors/cast.h"

namespace bough::simt {

/// to[i] = from[i] converted: a thread for each element.
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

template <typename Queue, typename From, typename To>
void cast(Queue& queue, const From* from, To* to, std::int64_t count) {
  launch_threads(queue, "cast", count, Cast<From, To>{count, from, to});
}

}  // namespace bough::simt
