// Loops over one row of numbers in vectors, for operations that look at a row several times. Compiled once per
// instruction set: include it after <hwy/highway.h>; no #pragma once, the toggle below replaces it.
#if defined(BOUGH_KERNELS_CPU_ROW_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_ROW_LOOP_INL_H_
#undef BOUGH_KERNELS_CPU_ROW_LOOP_INL_H_
#else
#define BOUGH_KERNELS_CPU_ROW_LOOP_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::simd {
namespace hn = hwy::HWY_NAMESPACE;

/// Access to a whole vector of a row.
struct Whole {
  template <class D, typename T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from, T /*pad*/) const {
    return hn::LoadU(d, from);
  }
  template <class D, typename T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    hn::StoreU(v, d, to);
  }
};

/// Access to what is left at the end of a row: the first `count` lanes. The others read as `pad` and are not written.
struct Part {
  std::int64_t count;

  template <class D, typename T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from, T pad) const {
    if constexpr (HWY_ARCH_X86) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
      return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, pad));
    } else {
      // Elsewhere a masked load may touch memory behind the row.
      HWY_ALIGN T lanes[hn::MaxLanes(d)];
      std::fill(std::copy_n(from, count, lanes), lanes + hn::MaxLanes(d), pad);
      return hn::Load(d, lanes);
    }
  }
  template <class D, typename T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    if constexpr (HWY_ARCH_X86) {
      hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
    } else {
      HWY_ALIGN T lanes[hn::MaxLanes(d)];
      hn::Store(v, d, lanes);
      std::copy_n(lanes, count, to);
    }
  }
};

/// Calls body(i, access) for the vectors of a row that begin at elements i.
template <class D, class Body>
HWY_INLINE void for_each_vector(D d, std::int64_t width, const Body& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) body(i, Whole{});
  if (i < width) body(i, Part{width - i});
}

/// target = factor * source
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_scaled(D d, T factor, const T* source, T* target, std::int64_t count) {
  const auto f = hn::Set(d, factor);
  for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
    access.store(hn::Mul(f, access.load(d, source + i, T{0})), d, target + i);
  });
}

/// y += factor * x
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_scaled(D d, T factor, const T* x, T* y, std::int64_t count) {
  const auto f = hn::Set(d, factor);
  for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
    access.store(hn::MulAdd(f, access.load(d, x + i, T{0}), access.load(d, y + i, T{0})), d, y + i);
  });
}

/// target = factor * source for a result that is too large to stay in the cache until it is read: with
/// `stream` it goes to memory without being read first, and the caller runs hwy::FlushStream() at the end. Rows
/// that are not made of whole cache lines are stored as usual.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void stream_scaled(D d, bool stream, T factor, const T* source, T* target, std::int64_t width) {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  if (!stream || width % line != 0 || reinterpret_cast<std::uintptr_t>(target) % 64 != 0) {
    store_scaled(d, factor, source, target, width);
    return;
  }
  const auto f = hn::Set(d, factor);
  for (std::int64_t i = 0; i < width; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::Stream(hn::Mul(f, hn::LoadU(d, source + i)), d, target + i);
  }
}

/// Combines map(i, access) over the vectors of a row, lane by lane, starting from `neutral`, in four chains so that the
/// next vector need not wait for the last. Padding lanes of map must be neutral too.
template <class D, class Map, class Combine>
HWY_INLINE hn::Vec<D> reduce_vectors(D d, std::int64_t width, hn::TFromD<D> neutral, const Map& map,
                                     const Combine& combine) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto first = hn::Set(d, neutral), second = first, third = first, fourth = first;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    first = combine(first, map(i, Whole{}));
    second = combine(second, map(i + lanes, Whole{}));
    third = combine(third, map(i + 2 * lanes, Whole{}));
    fourth = combine(fourth, map(i + 3 * lanes, Whole{}));
  }
  for (; i + lanes <= width; i += lanes) first = combine(first, map(i, Whole{}));
  if (i < width) second = combine(second, map(i, Part{width - i}));
  return combine(combine(first, second), combine(third, fourth));
}

/// The sum of all lanes of map(i, access) over a row.
template <class D, class Map>
HWY_INLINE hn::TFromD<D> sum_row(D d, std::int64_t width, const Map& map) {
  const auto sums =
      reduce_vectors(d, width, hn::TFromD<D>{0}, map, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
