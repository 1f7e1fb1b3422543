#include "kernels/cpu/dropout.h"

#include <algorithm>
#include <cmath>

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/philox-inl.h"
#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Random numbers for the lanes of a vector of T, as unsigned integers of its size.
template <class D>
HWY_INLINE auto numbers_for(D /*d*/, const std::uint32_t* numbers) {
  const hn::Rebind<std::uint32_t, D> words;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(std::uint32_t)) {
    return hn::LoadU(words, numbers);
  } else {
    return hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::LoadU(words, numbers));
  }
}

template <typename T>
void drop(std::span<const T> x, double p, RandomStream stream, T* y) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> integers;
  using Integer = hn::TFromD<decltype(integers)>;
  // uniform_float(n) >= p in whole numbers: the upper 24 bits of n, a float without rounding, against p * 2^24.
  const auto last_dropped = hn::Set(integers, static_cast<Integer>(std::ceil(p * 0x1p24)) - 1);
  const auto scale = hn::Set(d, static_cast<T>(p < 1 ? 1 / (1 - p) : 0));
  const auto count = static_cast<std::int64_t>(x.size());
  parallel_chunks(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    HWY_ALIGN std::uint32_t numbers[simd::random_batch_size];
    for (std::int64_t first = begin; first < end; first += simd::random_batch_size) {
      simd::random_batch(stream, static_cast<std::uint64_t>(first), numbers);
      const std::int64_t size = std::min(simd::random_batch_size, end - first);
      simd::for_each_vector(d, size, [&](std::int64_t i, auto access) HWY_ATTR {
        const auto upper = hn::BitCast(integers, hn::ShiftRight<8>(numbers_for(d, numbers + i)));
        const auto kept = hn::RebindMask(d, hn::Gt(upper, last_dropped));
        const auto value = hn::Mul(access.load(d, x.data() + first + i, T{0}), scale);
        access.store(hn::IfThenElseZero(kept, value), d, y + first + i);
      });
    }
  });
}

}  // namespace

void dropout_float(std::span<const float> x, double p, RandomStream stream, float* y) { drop(x, p, stream, y); }
void dropout_double(std::span<const double> x, double p, RandomStream stream, double* y) { drop(x, p, stream, y); }

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(dropout_float);
HWY_EXPORT(dropout_double);

template <>
void dropout(Cpu, std::span<const float> x, double p, RandomStream stream, float* y) {
  HWY_DYNAMIC_DISPATCH(dropout_float)(x, p, stream, y);
}
template <>
void dropout(Cpu, std::span<const double> x, double p, RandomStream stream, double* y) {
  HWY_DYNAMIC_DISPATCH(dropout_double)(x, p, stream, y);
}

}  // namespace bough
#endif
