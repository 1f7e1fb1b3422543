#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "bough/core/random.h"
#include "bough/detail/simt/context.h"

namespace bough::simt {

/// y[i] = x[i] / (1 - p) where uniform_float(stream(i)) >= p, 0 elsewhere: the mask of the CPU. A thread takes the four
/// elements of one block of random numbers.
template <typename T, int Packed>
struct Dropout {
  static constexpr int block_size = 256;

  std::int64_t count = 0;
  const T* x = nullptr;
  T* y = nullptr;
  double p = 0;
  RandomStream stream;
  const std::uint64_t* stream_shift = nullptr;  ///< added to the number of the stream, if there is one

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t block = thread_number<block_size>(context), first = 4 * block;
    if (first >= count) return;
    RandomStream shifted = stream;
    if (stream_shift != nullptr) shifted.stream += context.load(stream_shift);
    const std::array<std::uint32_t, 4> numbers = shifted.block(static_cast<std::uint64_t>(block));
    const T scale = static_cast<T>(p < 1 ? 1 / (1 - p) : 0);
    const auto dropped = [&](T value, std::uint32_t bits) {
      return static_cast<double>(uniform_float(bits)) >= p ? value * scale : T{0};
    };
    if (first + 4 > count) {
      for (int i = 0; i < 4; ++i) {
        if (first + i < count) context.store(y + first + i, dropped(context.load(x + first + i), numbers[i]));
      }
      return;
    }
    for (int i = 0; i < 4; i += Packed) {
      using Values = Pack<T, Packed>;
      Values values = context.load(reinterpret_cast<const Values*>(x + first + i));
      for (int j = 0; j < Packed; ++j) values.values[j] = dropped(values.values[j], numbers[i + j]);
      context.store(reinterpret_cast<Values*>(y + first + i), values);
    }
  }
};

template <typename Queue, typename T>
void dropout(Queue& queue, std::int64_t count, const T* x, double p, RandomStream stream, T* y) {
  const auto launch = [&](const auto& body) { launch_threads(queue, "dropout", blocks_for(count, 4), body); };
  constexpr int packed = 16 / sizeof(T);
  const auto in_packs = [](const T* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
  if (in_packs(x) && in_packs(y)) return launch(Dropout<T, packed>{count, x, y, p, stream, queue.random_shift()});
  launch(Dropout<T, 1>{count, x, y, p, stream, queue.random_shift()});
}

}  // namespace bough::simt
