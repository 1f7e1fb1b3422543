#include "kernels/cpu/softmax.h"

#include <array>

#include "bough/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/log_sum_exp-inl.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Elements that lie side by side: lanes are neighbours along the axis, and what is gathered from all of them is the
/// same in every lane.
struct Row {
  std::int64_t length;

  template <class Body>
  HWY_INLINE void for_each(auto d, const Body& body) const {
    simd::for_each_vector(d, length, body);
  }
  template <class D, class Map>
  HWY_INLINE hn::Vec<D> sum(D d, const Map& map) const {
    return hn::Set(d, simd::sum_row(d, length, map));
  }
  template <class D, typename T>
  HWY_INLINE hn::Vec<D> max(D d, const T* x) const {
    return hn::Set(d, simd::max_row(x, length));
  }
};

/// Elements `stride` apart: lanes are neighbouring columns, each with results of its own.
template <class Access>
struct Columns {
  std::int64_t length;
  std::int64_t stride;
  Access access;

  template <class Body>
  HWY_INLINE void for_each(auto /*d*/, const Body& body) const {
    for (std::int64_t i = 0; i < length; ++i) body(i * stride, access);
  }
  template <class D, class Map>
  HWY_INLINE hn::Vec<D> sum(D d, const Map& map) const {
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < length; ++i) sum = hn::Add(sum, map(i * stride, access));
    return sum;
  }
  template <class D, typename T>
  HWY_INLINE hn::Vec<D> max(D d, const T* x) const {
    auto largest = hn::Set(d, simd::minus_infinity<T>);
    for (std::int64_t i = 0; i < length; ++i) {
      largest = hn::Max(largest, access.load(d, x + i * stride, simd::minus_infinity<T>));
    }
    return largest;
  }
};

/// simd::LogSumExp in vectors.
template <class V>
struct LogSumExps {
  V row_max;
  V row_sum;
};

/// What exponentials are taken relative to: the largest element, 0 where all are -inf.
template <class D>
HWY_INLINE hn::Vec<D> finite_max(D d, hn::Vec<D> row_max) {
  return hn::IfThenZeroElse(hn::Eq(row_max, hn::Set(d, simd::minus_infinity<hn::TFromD<D>>)), row_max);
}

template <class D, typename T>
HWY_INLINE LogSumExps<hn::Vec<D>> log_sum_exps(D d, Row row, const T* x) {
  const simd::LogSumExp<T> lse = simd::log_sum_exp(x, row.length);
  return {hn::Set(d, lse.row_max), hn::Set(d, lse.row_sum)};
}
template <class D, class Access, typename T>
HWY_INLINE LogSumExps<hn::Vec<D>> log_sum_exps(D d, const Columns<Access>& columns, const T* x) {
  const auto row_max = finite_max(d, columns.max(d, x));
  const auto row_sum = columns.sum(d, [&](std::int64_t i, auto access) HWY_ATTR {
    return simd::exp_of_nonpositive(d, hn::Sub(access.load(d, x + i, simd::minus_infinity<T>), row_max));
  });
  return {row_max, row_sum};
}

/// 1 / row_sum, and 0 where all elements are -inf: there the sum is 0.
template <class D>
HWY_INLINE hn::Vec<D> reciprocal_of_sum(D d, hn::Vec<D> row_sum) {
  const auto masked = hn::Eq(row_sum, hn::Zero(d));
  return hn::IfThenZeroElse(masked, hn::Div(hn::Set(d, hn::TFromD<D>{1}), row_sum));
}

struct Softmax {
  /// Up to here a row stays in the second-level cache, and storing exponentials beats computing them twice.
  static constexpr std::int64_t cached_length = 1 << 15;

  template <class Layout, typename T>
  static void run(const Layout& layout, std::array<const T*, 1> inputs, T* y) {
    const hn::ScalableTag<T> d;
    const T* x = inputs[0];
    if (layout.length > cached_length) {
      const auto lse = log_sum_exps(d, layout, x);
      const auto scale = reciprocal_of_sum(d, lse.row_sum);
      layout.for_each(d, [&](std::int64_t i, auto access) HWY_ATTR {
        const auto e = simd::exp_of_nonpositive(d, hn::Sub(access.load(d, x + i, T{0}), lse.row_max));
        access.store(hn::Mul(e, scale), d, y + i);
      });
      return;
    }
    const auto row_max = finite_max(d, layout.max(d, x));
    const auto row_sum = layout.sum(d, [&](std::int64_t i, auto access) HWY_ATTR {
      const auto e = simd::exp_of_nonpositive(d, hn::Sub(access.load(d, x + i, simd::minus_infinity<T>), row_max));
      access.store(e, d, y + i);
      return e;
    });
    const auto scale = reciprocal_of_sum(d, row_sum);
    layout.for_each(d, [&](std::int64_t i, auto access)
                           HWY_ATTR { access.store(hn::Mul(access.load(d, y + i, T{0}), scale), d, y + i); });
  }
};

struct SoftmaxBackward {
  template <class Layout, typename T>
  static void run(const Layout& layout, std::array<const T*, 2> inputs, T* dx) {
    const hn::ScalableTag<T> d;
    const auto [y, dy] = inputs;
    const auto dot = layout.sum(d, [&, y = y, dy = dy](std::int64_t i, auto access) HWY_ATTR {
      return hn::Mul(access.load(d, y + i, T{0}), access.load(d, dy + i, T{0}));
    });
    layout.for_each(d, [&, y = y, dy = dy](std::int64_t i, auto access) HWY_ATTR {
      const auto difference = hn::Sub(access.load(d, dy + i, T{0}), dot);
      access.store(hn::Mul(access.load(d, y + i, T{0}), difference), d, dx + i);
    });
  }
};

struct LogSoftmax {
  template <class Layout, typename T>
  static void run(const Layout& layout, std::array<const T*, 1> inputs, T* y) {
    const hn::ScalableTag<T> d;
    const T* x = inputs[0];
    const auto lse = log_sum_exps(d, layout, x);
    const auto masked = hn::Eq(lse.row_sum, hn::Zero(d));
    const auto log_row_sum = simd::log(d, lse.row_sum);
    layout.for_each(d, [&](std::int64_t i, auto access) HWY_ATTR {
      // In two steps: of a large maximum plus a small logarithm, little of the logarithm would be left.
      const auto value = hn::Sub(hn::Sub(access.load(d, x + i, T{0}), lse.row_max), log_row_sum);
      access.store(hn::IfThenElse(masked, hn::Set(d, simd::minus_infinity<T>), value), d, y + i);
    });
  }
};

struct LogSoftmaxBackward {
  template <class Layout, typename T>
  static void run(const Layout& layout, std::array<const T*, 2> inputs, T* dx) {
    const hn::ScalableTag<T> d;
    const auto [y, dy] = inputs;
    const auto masked = hn::Eq(layout.max(d, y), hn::Set(d, simd::minus_infinity<T>));
    const auto sum =
        layout.sum(d, [&, dy = dy](std::int64_t i, auto access) HWY_ATTR { return access.load(d, dy + i, T{0}); });
    layout.for_each(d, [&, y = y, dy = dy](std::int64_t i, auto access) HWY_ATTR {
      const auto p = simd::exp_of_nonpositive(d, access.load(d, y + i, T{0}));
      const auto value = hn::NegMulAdd(p, sum, access.load(d, dy + i, T{0}));
      access.store(hn::IfThenZeroElse(masked, value), d, dx + i);
    });
  }
};

template <class Operation, typename T, std::size_t num_inputs>
void run_along_axis(AxisExtents extents, std::array<const T*, num_inputs> inputs, T* output) {
  const std::int64_t length = extents.length, inner = extents.inner;
  if (length == 0 || inner == 0) return;
  const auto run = [&](const auto& layout, std::int64_t start) HWY_ATTR {
    std::array<const T*, num_inputs> starts = inputs;
    for (const T*& input : starts) input += start;
    Operation::run(layout, starts, output + start);
  };
  if (inner == 1) {
    parallel_chunks(extents.outer, rows_per_chunk(length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) run(Row{length}, row * length);
    });
    return;
  }
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t vectors = num_chunks(inner, lanes);
  parallel_chunks(extents.outer * vectors, rows_per_chunk(lanes * length), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t column = unit % vectors * lanes, start = unit / vectors * length * inner + column;
      if (inner - column >= lanes) {
        run(Columns<simd::Whole>{length, inner, {}}, start);
      } else {
        run(Columns<simd::Part>{length, inner, {inner - column}}, start);
      }
    }
  });
}

}  // namespace

void softmax_float(AxisExtents extents, const float* x, float* y) {
  run_along_axis<Softmax, float, 1>(extents, {x}, y);
}
void softmax_double(AxisExtents extents, const double* x, double* y) {
  run_along_axis<Softmax, double, 1>(extents, {x}, y);
}
void softmax_backward_float(AxisExtents extents, const float* y, const float* dy, float* dx) {
  run_along_axis<SoftmaxBackward, float, 2>(extents, {y, dy}, dx);
}
void softmax_backward_double(AxisExtents extents, const double* y, const double* dy, double* dx) {
  run_along_axis<SoftmaxBackward, double, 2>(extents, {y, dy}, dx);
}
void log_softmax_float(AxisExtents extents, const float* x, float* y) {
  run_along_axis<LogSoftmax, float, 1>(extents, {x}, y);
}
void log_softmax_double(AxisExtents extents, const double* x, double* y) {
  run_along_axis<LogSoftmax, double, 1>(extents, {x}, y);
}
void log_softmax_backward_float(AxisExtents extents, const float* y, const float* dy, float* dx) {
  run_along_axis<LogSoftmaxBackward, float, 2>(extents, {y, dy}, dx);
}
void log_softmax_backward_double(AxisExtents extents, const double* y, const double* dy, double* dx) {
  run_along_axis<LogSoftmaxBackward, double, 2>(extents, {y, dy}, dx);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(softmax_float);
HWY_EXPORT(softmax_double);
HWY_EXPORT(softmax_backward_float);
HWY_EXPORT(softmax_backward_double);
HWY_EXPORT(log_softmax_float);
HWY_EXPORT(log_softmax_double);
HWY_EXPORT(log_softmax_backward_float);
HWY_EXPORT(log_softmax_backward_double);

template <>
void softmax(Cpu, AxisExtents extents, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax_float)(extents, x, y);
}
template <>
void softmax(Cpu, AxisExtents extents, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(softmax_double)(extents, x, y);
}
template <>
void softmax_backward(Cpu, AxisExtents extents, const float* y, const float* dy, float* dx) {
  HWY_DYNAMIC_DISPATCH(softmax_backward_float)(extents, y, dy, dx);
}
template <>
void softmax_backward(Cpu, AxisExtents extents, const double* y, const double* dy, double* dx) {
  HWY_DYNAMIC_DISPATCH(softmax_backward_double)(extents, y, dy, dx);
}
template <>
void log_softmax(Cpu, AxisExtents extents, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(log_softmax_float)(extents, x, y);
}
template <>
void log_softmax(Cpu, AxisExtents extents, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(log_softmax_double)(extents, x, y);
}
template <>
void log_softmax_backward(Cpu, AxisExtents extents, const float* y, const float* dy, float* dx) {
  HWY_DYNAMIC_DISPATCH(log_softmax_backward_float)(extents, y, dy, dx);
}
template <>
void log_softmax_backward(Cpu, AxisExtents extents, const double* y, const double* dy, double* dx) {
  HWY_DYNAMIC_DISPATCH(log_softmax_backward_double)(extents, y, dy, dx);
}

}  // namespace bough
#endif
