// Philox 4x32-10 in vectors: the same numbers as RandomStream in bough/core/random.h. Compiled once per instruction
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

/// As many blocks as d has lanes, from `first` on, four numbers each in the order of the stream.
template <class D>
HWY_INLINE void random_blocks(D d, RandomStream stream, std::uint64_t first, std::uint32_t* numbers) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    std::ranges::copy(stream.block(first), numbers);
  } else {
    // A lane holds one word of one block in its lower half. The upper half is left to whatever comes out: products
    // only look at lower halves.
    const hn::Repartition<std::uint32_t, D> words;
    const auto left_factor = hn::BitCast(words, hn::Set(d, 0xD2511F53u));
    const auto right_factor = hn::BitCast(words, hn::Set(d, 0xCD9E8D57u));
    auto c0 = hn::Iota(d, first), c1 = hn::ShiftRight<32>(c0);
    auto c2 = hn::Set(d, stream.stream), c3 = hn::ShiftRight<32>(c2);
    auto left_key = static_cast<std::uint32_t>(stream.seed), right_key = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto left = hn::MulEven(hn::BitCast(words, c0), left_factor);
      const auto right = hn::MulEven(hn::BitCast(words, c2), right_factor);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(right), c1), hn::Set(d, left_key));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(left), c3), hn::Set(d, right_key));
      c1 = right;
      c3 = left;
      left_key += 0x9E3779B9u;
      right_key += 0xBB67AE85u;
    }
    const auto lower = hn::Set(d, 0xFFFFFFFFu);
    const auto front = hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1));
    const auto back = hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3));
    HWY_ALIGN std::uint64_t pairs[2 * hn::MaxLanes(d)];
    hn::StoreInterleaved2(front, back, d, pairs);
    std::memcpy(numbers, pairs, 2 * hn::Lanes(d) * sizeof(std::uint64_t));
  }
}

/// numbers[i] = stream(first + i) for i < random_batch_size; first is a multiple of 4.
inline void random_batch(RandomStream stream, std::uint64_t first, std::uint32_t* numbers) {
  const hn::ScalableTag<std::uint64_t> d;
  for (std::int64_t i = 0; i < random_batch_size; i += static_cast<std::int64_t>(4 * hn::Lanes(d))) {
    random_blocks(d, stream, (first + static_cast<std::uint64_t>(i)) / 4, numbers + i);
  }
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
