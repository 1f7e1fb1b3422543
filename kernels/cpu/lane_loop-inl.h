// One loop for every element-wise function: whole vectors first, the rest through a padded vector, so that an element's
// value does not depend on where it stands. Compiled once per instruction set.
#if defined(BOUGH_KERNELS_CPU_LANE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_LANE_LOOP_INL_H_
#undef BOUGH_KERNELS_CPU_LANE_LOOP_INL_H_
#else
#define BOUGH_KERNELS_CPU_LANE_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE::simd {
namespace hn = hwy::HWY_NAMESPACE;

/// An operand with one value an element.
template <typename T>
struct Stream {
  const T* values;

  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t i) const {
    return hn::LoadU(d, values + i);
  }
  /// The first `count` lanes; the others repeat the first one, which can do no harm.
  template <class D>
  HWY_INLINE hn::Vec<D> load_part(D d, std::int64_t i, std::int64_t count) const {
    HWY_ALIGN T padded[hn::MaxLanes(d)];
    std::fill_n(padded, hn::MaxLanes(d), values[i]);
    std::copy_n(values + i, count, padded);
    return hn::Load(d, padded);
  }
};

/// An operand with one value for all elements.
template <typename T>
struct Repeat {
  T value;

  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t) const {
    return hn::Set(d, value);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> load_part(D d, std::int64_t, std::int64_t) const {
    return hn::Set(d, value);
  }
};

/// result[i] = f(d, operands[i]...) for i < count.
template <typename T, class F, class... Operands>
HWY_INLINE void for_each_lane(const F& f, T* result, std::int64_t count, Operands... operands) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(d, operands.load(d, i)...), d, result + i);
  if (i == count) return;
  HWY_ALIGN T padded[hn::MaxLanes(d)];
  hn::Store(f(d, operands.load_part(d, i, count - i)...), d, padded);
  std::copy_n(padded, count - i, result + i);
}

}  // namespace bough::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif
