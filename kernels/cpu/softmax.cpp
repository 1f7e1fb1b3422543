#include "kernels/cpu/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/cpu/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/log_sum_exp-inl.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Up to here a row stays in the second-level cache, and storing exponentials beats computing them twice.
constexpr std::int64_t cached_width = 1 << 15;

template <typename T>
struct SoftmaxRow {
  static constexpr std::size_t num_inputs = 1;

  static void run(std::array<const T*, 1> inputs, T* y, std::int64_t width) {
    const auto [x] = inputs;
    const hn::ScalableTag<T> d;
    if (width > cached_width) return run_wide(x, y, width);
    const T max = simd::row_max(x, width);
    if (simd::is_masked(x, width, max)) {
      std::fill_n(y, width, T{0});
      return;
    }
    const auto shift = hn::Set(d, max);
    const T sum = simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      const auto e = simd::exp(d, hn::Sub(access.load(d, x + i, simd::minus_infinity<T>), shift));
      access.store(e, d, y + i);
      return e;
    });
    const auto scale = hn::Set(d, T{1} / sum);
    simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      access.store(hn::Mul(access.load(d, y + i, T{0}), scale), d, y + i);
    });
  }

  /// Reads twice and writes once.
  static void run_wide(const T* x, T* y, std::int64_t width) {
    const hn::ScalableTag<T> d;
    const simd::ExpSum<T> total = simd::exp_sum(x, width);
    if (total.masked()) {
      std::fill_n(y, width, T{0});
      return;
    }
    const auto shift = hn::Set(d, total.max), scale = hn::Set(d, T{1} / total.sum);
    simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      const auto e = simd::exp(d, hn::Sub(access.load(d, x + i, T{0}), shift));
      access.store(hn::Mul(e, scale), d, y + i);
    });
  }
};

template <typename T>
struct SoftmaxBackwardRow {
  static constexpr std::size_t num_inputs = 2;

  static void run(std::array<const T*, 2> inputs, T* dx, std::int64_t width) {
    const auto [y, dy] = inputs;
    const hn::ScalableTag<T> d;
    const T dot = simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      return hn::Mul(access.load(d, y + i, T{0}), access.load(d, dy + i, T{0}));
    });
    const auto mean = hn::Set(d, dot);
    simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      const auto difference = hn::Sub(access.load(d, dy + i, T{0}), mean);
      access.store(hn::Mul(access.load(d, y + i, T{0}), difference), d, dx + i);
    });
  }
};

template <typename T>
struct LogSoftmaxRow {
  static constexpr std::size_t num_inputs = 1;

  static void run(std::array<const T*, 1> inputs, T* y, std::int64_t width) {
    const auto [x] = inputs;
    const hn::ScalableTag<T> d;
    const simd::ExpSum<T> total = simd::exp_sum(x, width);
    if (total.masked()) {
      std::fill_n(y, width, simd::minus_infinity<T>);
      return;
    }
    // In two steps: of a large maximum plus a small logarithm, little of the logarithm would be left.
    const auto shift = hn::Set(d, total.max), log_sum = hn::Set(d, std::log(total.sum));
    simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      access.store(hn::Sub(hn::Sub(access.load(d, x + i, T{0}), shift), log_sum), d, y + i);
    });
  }
};

template <typename T>
struct LogSoftmaxBackwardRow {
  static constexpr std::size_t num_inputs = 2;

  static void run(std::array<const T*, 2> inputs, T* dx, std::int64_t width) {
    const auto [y, dy] = inputs;
    const hn::ScalableTag<T> d;
    const auto is_minus_infinity = [](T value) { return value == simd::minus_infinity<T>; };
    if (std::all_of(y, y + width, is_minus_infinity)) {
      std::fill_n(dx, width, T{0});
      return;
    }
    const auto total = hn::Set(
        d, simd::sum_row(d, width, [&](std::int64_t i, auto access) HWY_ATTR { return access.load(d, dy + i, T{0}); }));
    simd::for_each_vector(d, width, [&](std::int64_t i, auto access) HWY_ATTR {
      const auto p = simd::exp(d, access.load(d, y + i, T{0}));
      access.store(hn::NegMulAdd(p, total, access.load(d, dy + i, T{0})), d, dx + i);
    });
  }
};

/// Runs Row along the axis. Where elements along it do not lie side by side, columns are copied into rows, a tile at a
/// time, so that every cache line is used whole.
template <template <typename> class Row, typename T>
void run_along_axis(AxisExtents extents, std::array<const T*, Row<T>::num_inputs> inputs, T* output) {
  constexpr std::size_t num_inputs = Row<T>::num_inputs;
  const std::int64_t length = extents.length, inner = extents.inner;
  if (length == 0 || inner == 0) return;
  if (inner == 1) {
    parallel_chunks(extents.outer, rows_per_chunk(length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::array<const T*, num_inputs> rows = inputs;
        for (const T*& start : rows) start += row * length;
        Row<T>::run(rows, output + row * length, length);
      }
    });
    return;
  }
  const std::int64_t tile = std::clamp<std::int64_t>((1 << 18) / length, 1, 16), tiles = num_chunks(inner, tile);
  parallel_chunks(extents.outer * tiles, rows_per_chunk(tile * length), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t tile_elements = tile * length;
    const Scratch<T> buffer(static_cast<std::int64_t>(num_inputs + 1) * tile_elements);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t column = unit % tiles * tile, columns = std::min(tile, inner - column);
      const std::int64_t start = unit / tiles * length * inner + column;
      for (std::size_t input = 0; input < num_inputs; ++input) {
        T* rows = buffer.data() + static_cast<std::int64_t>(input) * tile_elements;
        for (std::int64_t i = 0; i < length; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) rows[j * length + i] = inputs[input][start + i * inner + j];
        }
      }
      T* results = buffer.data() + static_cast<std::int64_t>(num_inputs) * tile_elements;
      for (std::int64_t j = 0; j < columns; ++j) {
        std::array<const T*, num_inputs> rows;
        for (std::size_t input = 0; input < num_inputs; ++input) {
          rows[input] = buffer.data() + static_cast<std::int64_t>(input) * tile_elements + j * length;
        }
        Row<T>::run(rows, results + j * length, length);
      }
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) output[start + i * inner + j] = results[j * length + i];
      }
    }
  });
}

void softmax_float(AxisExtents extents, const float* x, float* y) {
  run_along_axis<SoftmaxRow, float>(extents, {x}, y);
}
void softmax_double(AxisExtents extents, const double* x, double* y) {
  run_along_axis<SoftmaxRow, double>(extents, {x}, y);
}
void softmax_backward_float(AxisExtents extents, const float* y, const float* dy, float* dx) {
  run_along_axis<SoftmaxBackwardRow, float>(extents, {y, dy}, dx);
}
void softmax_backward_double(AxisExtents extents, const double* y, const double* dy, double* dx) {
  run_along_axis<SoftmaxBackwardRow, double>(extents, {y, dy}, dx);
}
void log_softmax_float(AxisExtents extents, const float* x, float* y) {
  run_along_axis<LogSoftmaxRow, float>(extents, {x}, y);
}
void log_softmax_double(AxisExtents extents, const double* x, double* y) {
  run_along_axis<LogSoftmaxRow, double>(extents, {x}, y);
}
void log_softmax_backward_float(AxisExtents extents, const float* y, const float* dy, float* dx) {
  run_along_axis<LogSoftmaxBackwardRow, float>(extents, {y, dy}, dx);
}
void log_softmax_backward_double(AxisExtents extents, const double* y, const double* dy, double* dx) {
  run_along_axis<LogSoftmaxBackwardRow, double>(extents, {y, dy}, dx);
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
