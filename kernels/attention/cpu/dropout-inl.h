// AttentionDropout::keeps for a vector of edges at once, with the same answers. Compiled once per instruction set;
// include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_ATTENTION_CPU_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_ATTENTION_CPU_DROPOUT_INL_H_
#undef BOUGH_KERNELS_ATTENTION_CPU_DROPOUT_INL_H_
#else
#define BOUGH_KERNELS_ATTENTION_CPU_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>

#include "kernels/attention/views.h"
#include "kernels/cpu/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sources 4b .. 4b+3 share a block of random numbers: a draw for one of them is a draw for all.
constexpr std::uint32_t sources_per_draw = 4;

/// The dropout masks of edges: bit i of result[s] tells whether the edge from source 4 * source_blocks[i] + s to
/// destinations[i] survives. d is a tag of 64-bit lanes, whose lower halves hold the counters; last_counters are those
/// of AttentionDropout.
template <class D, class V = hn::Vec<D>>
HWY_INLINE std::array<std::uint32_t, sources_per_draw> dropout_masks(D d, const AttentionDropout& dropout,
                                                                     V source_blocks, V destinations, V last_counters) {
  simd::RandomBlocks<V> numbers{source_blocks, destinations, hn::Set(d, dropout.stream.stream), last_counters};
  simd::philox4x32(d, dropout.stream.seed, numbers);
  const hn::RebindToSigned<D> integers;  // only AVX-512 compares lanes without sign
  const auto last_dropped = hn::Set(integers, std::int64_t{dropout.threshold} - 1);
  const auto bits_of = [&](V number) HWY_ATTR {
    const auto lower = hn::BitCast(integers, hn::And(number, hn::Set(d, 0xFFFFFFFFu)));
    std::uint64_t bits = 0;
    hn::StoreMaskBits(integers, hn::Gt(lower, last_dropped), reinterpret_cast<std::uint8_t*>(&bits));
    return static_cast<std::uint32_t>(bits);
  };
  return {bits_of(numbers.c0), bits_of(numbers.c1), bits_of(numbers.c2), bits_of(numbers.c3)};
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
