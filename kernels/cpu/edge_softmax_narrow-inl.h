// The softmax of one row of edges whose number of columns divides that of the lanes: a vector then holds some edges
// whole, all of its lanes have the same place in every vector, and the state of a row is one register. Compiled once
// per instruction set.
#if defined(BOUGH_KERNELS_CPU_EDGE_SOFTMAX_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_EDGE_SOFTMAX_NARROW_INL_H_
#undef BOUGH_KERNELS_CPU_EDGE_SOFTMAX_NARROW_INL_H_
#else
#define BOUGH_KERNELS_CPU_EDGE_SOFTMAX_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
class NarrowSoftmax {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
  static bool takes(std::int64_t columns) { return static_cast<std::int64_t>(hn::Lanes(D())) % columns == 0; }

  explicit NarrowSoftmax(std::int64_t columns) : columns_(columns) {}

  /// `count` values: edges times columns.
  HWY_ATTR void forward(const T* scores, std::int64_t count, T* weights) const {
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    V row_max = hn::Set(d, lowest);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      row_max = hn::Max(row_max, access.load(d, scores + i, lowest));
    });
    row_max = by_column(row_max, [](V a, V b) HWY_ATTR { return hn::Max(a, b); });
    // A column of -inf alone: terms of exp(-inf - 0) = 0, and nothing to share out.
    row_max = hn::IfThenZeroElse(hn::Eq(row_max, hn::Set(d, lowest)), row_max);

    V row_sum = hn::Zero(d);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      const V term = simd::exp(d, hn::Sub(access.load(d, scores + i, lowest), row_max));
      access.store(term, d, weights + i);
      row_sum = hn::Add(row_sum, term);
    });
    row_sum = by_column(row_sum, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    const V share = hn::IfThenZeroElse(hn::Eq(row_sum, hn::Zero(d)), hn::Div(hn::Set(d, T{1}), row_sum));

    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      access.store(hn::Mul(access.load(d, weights + i, T{0}), share), d, weights + i);
    });
  }

  HWY_ATTR void backward(const T* weights, const T* gradient, std::int64_t count, T* results) const {
    V sum = hn::Zero(d);
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      sum = hn::MulAdd(access.load(d, weights + i, T{0}), access.load(d, gradient + i, T{0}), sum);
    });
    sum = by_column(sum, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
      const V difference = hn::Sub(access.load(d, gradient + i, T{0}), sum);
      access.store(hn::Mul(access.load(d, weights + i, T{0}), difference), d, results + i);
    });
  }

 private:
  /// Combines the lanes of each column; every lane gets the result of its column.
  template <class F>
  HWY_INLINE V by_column(V v, const F& f) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t shift = columns_; shift < lanes; shift *= 2) {
      const auto indices =
          hn::IndicesFromVec(d, hn::And(hn::Add(hn::Iota(places, 0), hn::Set(places, static_cast<Place>(shift))),
                                        hn::Set(places, static_cast<Place>(lanes - 1))));
      v = f(v, hn::TableLookupLanes(v, indices));
    }
    return v;
  }

  using Place = hn::TFromD<hn::RebindToSigned<D>>;
  const D d{};
  const hn::RebindToSigned<D> places{};
  std::int64_t columns_;
};

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
