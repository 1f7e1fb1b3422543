#include "kernels/cpu/arg_reduce.h"

#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/arg_reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether a later value replaces the best so far: more extreme, or the first NaN.
template <AxisReduction extreme, typename T>
struct Better {
  template <class V>
  HWY_INLINE auto operator()(V value, V best) const {
    const auto beyond = extreme == AxisReduction::max ? hn::Gt(value, best) : hn::Lt(value, best);
    if constexpr (hwy::IsFloat<T>()) {
      return hn::Or(beyond, hn::AndNot(hn::IsNaN(best), hn::IsNaN(value)));
    } else {
      return beyond;
    }
  }
};

template <AxisReduction extreme, typename T>
struct ArgReduce {
  static constexpr Better<extreme, T> better{};

  /// Each lane follows its own column; rows are `stride` apart. Column i of `width` goes to values[i], positions[i].
  static void columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, T* values,
                      std::int64_t* positions) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < width; i += lanes) {
      follow(x + i, rows, stride, std::min(lanes, width - i), values + i, positions + i);
    }
  }

  /// A row of its own: each lane follows every lanes-th element, then the best lane is taken, the earliest among
  /// equals.
  static void row(const T* x, std::int64_t count, T* value, std::int64_t* position) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    T values[hn::MaxLanes(d)];
    std::int64_t positions[hn::MaxLanes(d)];
    const std::int64_t rows = count / lanes;
    std::int64_t best_at = 0;
    T best = x[0];
    if (rows > 0) {
      follow(x, rows, lanes, lanes, values, positions);
      best = values[0];
      best_at = positions[0] * lanes;
      for (std::int64_t lane = 1; lane < lanes; ++lane) {
        const std::int64_t at = positions[lane] * lanes + lane;
        const bool equal = values[lane] == best || (values[lane] != values[lane] && best != best);
        if (one_better(values[lane], best) || (equal && at < best_at)) {
          best = values[lane];
          best_at = at;
        }
      }
    }
    for (std::int64_t i = rows * lanes; i < count; ++i) {
      if (one_better(x[i], best)) {
        best = x[i];
        best_at = i;
      }
    }
    *value = best;
    *position = best_at;
  }

  static void range(const ReduceShape& shape, const T* x, T* values, std::int64_t* positions, std::int64_t begin,
                    std::int64_t end) {
    const ReduceUnits units(shape);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first_column = unit % units.tiles * units.tile;
      const std::int64_t first_row = unit / units.tiles % units.splits * units.rows_per_split;
      const std::int64_t outer = unit / units.tiles / units.splits;
      const std::int64_t rows = std::min(units.rows_per_split, shape.reduced - first_row);
      const std::int64_t width = std::min(units.tile, shape.inner - first_column);
      const T* corner = x + (outer * shape.reduced + first_row) * shape.inner + first_column;
      const std::int64_t target = unit / units.tiles * shape.inner + first_column;
      if (shape.inner == 1) {
        row(corner, rows, values + target, positions + target);
      } else {
        columns(corner, rows, shape.inner, width, values + target, positions + target);
      }
      for (std::int64_t i = target; i < target + width; ++i) positions[i] += first_row;
    }
  }

 private:
  static bool one_better(T value, T best) {
    const bool beyond = extreme == AxisReduction::max ? value > best : value < best;
    return beyond || (value != value && best == best);
  }

  /// Positions are counted in lanes of the element's size: units have far fewer than 2^31 rows.
  static void follow(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, T* values,
                     std::int64_t* positions) {
    const hn::ScalableTag<T> d;
    const hn::RebindToSigned<decltype(d)> di;
    using Index = hn::TFromD<decltype(di)>;
    if (width < static_cast<std::int64_t>(hn::Lanes(d))) {
      for (std::int64_t i = 0; i < width; ++i) {
        values[i] = x[i];
        positions[i] = 0;
        for (std::int64_t r = 1; r < rows; ++r) {
          if (!one_better(x[r * stride + i], values[i])) continue;
          values[i] = x[r * stride + i];
          positions[i] = r;
        }
      }
      return;
    }
    auto best = hn::LoadU(d, x);
    auto at = hn::Zero(di);
    for (std::int64_t r = 1; r < rows; ++r) {
      const auto value = hn::LoadU(d, x + r * stride);
      const auto replace = better(value, best);
      best = hn::IfThenElse(replace, value, best);
      at = hn::IfThenElse(hn::RebindMask(di, replace), hn::Set(di, static_cast<Index>(r)), at);
    }
    hn::StoreU(best, d, values);
    HWY_ALIGN Index rows_of_lanes[hn::MaxLanes(di)];
    hn::Store(at, di, rows_of_lanes);
    for (std::int64_t i = 0; i < width; ++i) positions[i] = rows_of_lanes[i];
  }
};

template <typename T>
void arg_reduce_range(AxisReduction extreme, const ReduceShape& shape, const T* x, T* values, std::int64_t* positions,
                      std::int64_t begin, std::int64_t end) {
  if (extreme == AxisReduction::max) {
    ArgReduce<AxisReduction::max, T>::range(shape, x, values, positions, begin, end);
  } else {
    ArgReduce<AxisReduction::min, T>::range(shape, x, values, positions, begin, end);
  }
}

void arg_reduce_float(AxisReduction extreme, const ReduceShape& shape, const float* x, float* values,
                      std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  arg_reduce_range(extreme, shape, x, values, positions, begin, end);
}
void arg_reduce_double(AxisReduction extreme, const ReduceShape& shape, const double* x, double* values,
                       std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  arg_reduce_range(extreme, shape, x, values, positions, begin, end);
}
void arg_reduce_int32(AxisReduction extreme, const ReduceShape& shape, const std::int32_t* x, std::int32_t* values,
                      std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  arg_reduce_range(extreme, shape, x, values, positions, begin, end);
}
void arg_reduce_int64(AxisReduction extreme, const ReduceShape& shape, const std::int64_t* x, std::int64_t* values,
                      std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  arg_reduce_range(extreme, shape, x, values, positions, begin, end);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(arg_reduce_float);
HWY_EXPORT(arg_reduce_double);
HWY_EXPORT(arg_reduce_int32);
HWY_EXPORT(arg_reduce_int64);

template <typename T>
void arg_reduce(Cpu, AxisReduction extreme, const ReduceShape& shape, const T* x, T* values, std::int64_t* positions) {
  if (shape.results() == 0) return;
  const auto range = [] {
    if constexpr (std::is_same_v<T, float>)
      return HWY_DYNAMIC_DISPATCH(arg_reduce_float);
    else if constexpr (std::is_same_v<T, double>)
      return HWY_DYNAMIC_DISPATCH(arg_reduce_double);
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return HWY_DYNAMIC_DISPATCH(arg_reduce_int32);
    else
      return HWY_DYNAMIC_DISPATCH(arg_reduce_int64);
  }();
  const ReduceUnits units(shape);
  const auto run = [&](T* to, std::int64_t* at) {
    parallel_chunks(units.count, units.chunk,
                    [&](std::int64_t begin, std::int64_t end) { range(extreme, shape, x, to, at, begin, end); });
  };
  if (units.splits == 1) return run(values, positions);

  const std::int64_t candidates = shape.results() * units.splits;
  std::vector<T> candidate_values(candidates);
  std::vector<std::int64_t> candidate_positions(candidates);
  run(candidate_values.data(), candidate_positions.data());
  // Splits in order: a later one is taken only if it is better, so the first of equals stays.
  const ReduceShape merge{shape.outer, units.splits, shape.inner};
  for (std::int64_t outer = 0; outer < merge.outer; ++outer) {
    for (std::int64_t i = 0; i < merge.inner; ++i) {
      std::int64_t arg_index = outer * merge.reduced * merge.inner + i;
      for (std::int64_t split = 1; split < merge.reduced; ++split) {
        const std::int64_t candidate = (outer * merge.reduced + split) * merge.inner + i;
        const T value = candidate_values[candidate], best = candidate_values[arg_index];
        const bool beyond = extreme == AxisReduction::max ? value > best : value < best;
        if (beyond || (value != value && best == best)) arg_index = candidate;
      }
      positions[outer * merge.inner + i] = candidate_positions[arg_index];
      values[outer * merge.inner + i] = candidate_values[arg_index];
    }
  }
}

template <typename T>
void arg_reduce_backward(Cpu, const ReduceShape& shape, const std::int64_t* positions, const T* dy, T* dx) {
  const std::int64_t plane = shape.reduced * shape.inner;
  parallel_chunks(shape.outer * plane, 1 << 16,
                  [&](std::int64_t begin, std::int64_t end) { std::fill(dx + begin, dx + end, T{0}); });
  parallel_chunks(shape.results(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t outer = i / shape.inner, column = i % shape.inner;
      dx[outer * plane + positions[i] * shape.inner + column] = dy[i];
    }
  });
}

template void arg_reduce(Cpu, AxisReduction, const ReduceShape&, const float*, float*, std::int64_t*);
template void arg_reduce(Cpu, AxisReduction, const ReduceShape&, const double*, double*, std::int64_t*);
template void arg_reduce(Cpu, AxisReduction, const ReduceShape&, const std::int32_t*, std::int32_t*, std::int64_t*);
template void arg_reduce(Cpu, AxisReduction, const ReduceShape&, const std::int64_t*, std::int64_t*, std::int64_t*);

template void arg_reduce_backward(Cpu, const ReduceShape&, const std::int64_t*, const float*, float*);
template void arg_reduce_backward(Cpu, const ReduceShape&, const std::int64_t*, const double*, double*);

}  // namespace bough
#endif
