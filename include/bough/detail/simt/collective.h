#pragma once

#include "bough/detail/host_device.h"
#include "bough/detail/simt/context.h"
#include "bough/mp/functors.h"

/// Reductions over the lanes of a warp and the threads of a block. Every thread gets the result, and the order of the
/// additions is fixed.
namespace bough::simt {

/// Combines values of `width` neighbouring lanes (a power of two).
template <typename Context, typename T, typename Combine>
BOUGH_DEVICE T warp_reduce(Context& context, T value, const Combine& combine, int width = warp_size) {
  for (int distance = width / 2; distance > 0; distance /= 2) {
    value = combine(value, context.shuffle_xor(value, distance));
  }
  return value;
}

template <typename Context, typename T>
BOUGH_DEVICE T warp_sum(Context& context, T value, int width = warp_size) {
  return warp_reduce(context, value, mp::Sum{}, width);
}
/// NaN if one of them is.
template <typename Context, typename T>
BOUGH_DEVICE T warp_max(Context& context, T value, int width = warp_size) {
  return warp_reduce(context, value, mp::Max{}, width);
}

/// Shared memory that block_reduce<T> takes.
template <typename T>
constexpr std::size_t block_reduce_bytes() {
  return shared_bytes<T>(warp_size);
}

/// Combines one value of each thread. `partials` is shared memory of one element for each warp; it can be used again at
/// once.
template <typename Context, typename T, typename Partials, typename Combine>
BOUGH_DEVICE T block_reduce(Context& context, const Partials& partials, T value, const Combine& combine) {
  value = warp_reduce(context, value, combine);
  if (context.lane() == 0) partials.set(context.warp(), value);
  context.sync();
  T total = partials.get(0);
  for (int warp = 1; warp < context.block_size() / warp_size; ++warp) total = combine(total, partials.get(warp));
  context.sync();
  return total;
}

}  // namespace bough::simt
