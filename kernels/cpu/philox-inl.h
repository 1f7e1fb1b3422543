// Philox 4x32-10 in vectors: the same numbers as philox4x32 in bough/core/random.h. Compiled once per instruction
// set; no #pragma once, the toggle below replaces it.
#if defined(BOUGH_KERNELS_CPU_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_PHILOX_INL_H_
#undef BOUGH_KERNELS_CPU_PHILOX_INL_H_
#else
#define BOUGH_KERNELS_CPU_PHILOX_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bough/core/random.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::simd {
namespace hn = hwy::HWY_NAMESPACE;

/// Numbers that random_batch makes at once: a multiple of every vector's lanes.
constexpr std::int64_t random_batch_size = 256;

/// The words of as many blocks as there are lanes, one in the lower half of each lane: of their counters before
/// philox4x32, of their numbers after it. Upper halves hold whatever comes out: products look at lower halves only.
template <class V>
struct RandomBlocks {
  V c0, c1, c2, c3;

  template <class D>
  HWY_INLINE void round(D, V left_factor, V right_factor, V left_key, V right_key) {
    const auto product = [](V a, V b) HWY_ATTR {
      if constexpr (HWY_TARGET == HWY_SCALAR) {  // a vector has no room for two words
        const V lower = hn::Set(D(), 0xFFFFFFFFu);
        return hn::Mul(hn::And(a, lower), hn::And(b, lower));
      } else {
        const hn::Repartition<std::uint32_t, D> words;
        return hn::MulEven(hn::BitCast(words, a), hn::BitCast(words, b));
      }
    };
    const V left = product(c0, left_factor), right = product(c2, right_factor);
    c0 = hn::Xor3(hn::ShiftRight<32>(right), c1, left_key);
    c2 = hn::Xor3(hn::ShiftRight<32>(left), c3, right_key);
    c1 = right;
    c3 = left;
  }
  template <class D>
  HWY_INLINE void store(D d, std::uint32_t* numbers) const {
    const V lower = hn::Set(d, 0xFFFFFFFFu);
    HWY_ALIGN std::uint64_t pairs[2 * hn::MaxLanes(d)];
    hn::StoreInterleaved2(hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1)),
                          hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3)), d, pairs);
    std::memcpy(numbers, pairs, 2 * hn::Lanes(d) * sizeof(std::uint64_t));
  }
};

/// Turns counters into numbers. Give it two vectors of blocks at a time where there are as many, because each waits for
/// its own multiplications.
template <class D, class... Blocks>
HWY_INLINE void philox4x32(D d, std::uint64_t seed, Blocks&... blocks) {
  const auto left_factor = hn::Set(d, 0xD2511F53u), right_factor = hn::Set(d, 0xCD9E8D57u);
  auto left_key = static_cast<std::uint32_t>(seed), right_key = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const auto left = hn::Set(d, left_key), right = hn::Set(d, right_key);
    (blocks.round(d, left_factor, right_factor, left, right), ...);
    left_key += 0x9E3779B9u;
    right_key += 0xBB67AE85u;
  }
}

/// Twice as many blocks as d has lanes, from `first` on, four numbers each in the order of the stream.
template <class D>
HWY_INLINE void random_blocks(D d, RandomStream stream, std::uint64_t first, std::uint32_t* numbers) {
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    for (std::uint64_t i : {0, 1}) std::ranges::copy(stream.block(first + i), numbers + 4 * i);
  } else {
    using V = hn::Vec<D>;
    const V index = hn::Add(hn::Iota(d, 0), hn::Set(d, first)), next_index = hn::Add(index, hn::Set(d, lanes));
    const V c2 = hn::Set(d, stream.stream), c3 = hn::ShiftRight<32>(c2);
    RandomBlocks<V> a{index, hn::ShiftRight<32>(index), c2, c3}, b{next_index, hn::ShiftRight<32>(next_index), c2, c3};
    philox4x32(d, stream.seed, a, b);
    a.store(d, numbers);
    b.store(d, numbers + 4 * lanes);
  }
}

/// numbers[i] = stream(first + i) for i < random_batch_size; first is a multiple of 4.
inline void random_batch(RandomStream stream, std::uint64_t first, std::uint32_t* numbers) {
  const hn::ScalableTag<std::uint64_t> d;
  for (std::int64_t i = 0; i < random_batch_size; i += static_cast<std::int64_t>(8 * hn::Lanes(d))) {
    random_blocks(d, stream, (first + static_cast<std::uint64_t>(i)) / 4, numbers + i);
  }
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
