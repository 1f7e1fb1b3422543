#include "kernels/cpu/reduce.h"

#include <vector>

#include "kernels/cpu/combine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/binary_functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {

template <AxisReduction reduction>
using VectorFunction =
    std::conditional_t<reduction == AxisReduction::sum, Add,
                       std::conditional_t<reduction == AxisReduction::prod, Mul,
                                          std::conditional_t<reduction == AxisReduction::max, Maximum, Minimum>>>;

/// No chain of float32 operations is longer than this; blocks are combined in the accumulator's type.
constexpr std::int64_t longest_chain = 64;
constexpr std::int64_t block_rows = 4 * longest_chain;
/// Rows with fewer columns than this do not fill the vectors by themselves.
constexpr std::int64_t narrow = 64;

template <AxisReduction reduction, typename T>
struct Reduce {
  using A = Accumulator<T>;
  static constexpr VectorFunction<reduction> vectors{};
  static constexpr Combine<reduction, A> combine{};
  static constexpr Combine<reduction, T> combine_elements{};

  /// One run of elements, no longer than a block.
  static T block(const T* x, std::int64_t count) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    T rest = combine_elements.start();
    std::int64_t i = 0;
    if (count >= lanes) {
      auto a = hn::Set(d, combine_elements.start()), b = a, c = a, e = a;
      for (; i + 4 * lanes <= count; i += 4 * lanes) {
        a = vectors(d, a, hn::LoadU(d, x + i));
        b = vectors(d, b, hn::LoadU(d, x + i + lanes));
        c = vectors(d, c, hn::LoadU(d, x + i + 2 * lanes));
        e = vectors(d, e, hn::LoadU(d, x + i + 3 * lanes));
      }
      for (; i + lanes <= count; i += lanes) a = vectors(d, a, hn::LoadU(d, x + i));
      a = vectors(d, vectors(d, a, b), vectors(d, c, e));
      if constexpr (reduction == AxisReduction::sum) {
        rest = hn::GetLane(hn::SumOfLanes(d, a));
      } else {
        HWY_ALIGN T values[hn::MaxLanes(d)];
        hn::Store(a, d, values);
        for (std::int64_t lane = 0; lane < lanes; ++lane) rest = combine_elements(rest, values[lane]);
      }
    }
    for (; i < count; ++i) rest = combine_elements(rest, x[i]);
    return rest;
  }

  static A row(const T* x, std::int64_t count) {
    const std::int64_t length = longest_chain * 4 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    A result = combine.start();
    for (std::int64_t i = 0; i < count; i += length) {
      result = combine(result, static_cast<A>(block(x + i, std::min(length, count - i))));
    }
    return result;
  }

  /// Combines up to block_rows rows, `stride` apart, column by column.
  static void block_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, T* result) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::copy_n(x, width, result);
    std::int64_t row = 1;
    for (; row + 4 <= rows; row += 4) {
      const T *x0 = x + row * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
      std::int64_t i = 0;
      for (; i + lanes <= width; i += lanes) {
        const auto left = vectors(d, hn::LoadU(d, x0 + i), hn::LoadU(d, x1 + i));
        const auto right = vectors(d, hn::LoadU(d, x2 + i), hn::LoadU(d, x3 + i));
        hn::StoreU(vectors(d, hn::LoadU(d, result + i), vectors(d, left, right)), d, result + i);
      }
      for (; i < width; ++i) {
        const T left = combine_elements(x0[i], x1[i]), right = combine_elements(x2[i], x3[i]);
        result[i] = combine_elements(result[i], combine_elements(left, right));
      }
    }
    for (; row < rows; ++row) {
      const T* x0 = x + row * stride;
      std::int64_t i = 0;
      for (; i + lanes <= width; i += lanes) {
        hn::StoreU(vectors(d, hn::LoadU(d, result + i), hn::LoadU(d, x0 + i)), d, result + i);
      }
      for (; i < width; ++i) result[i] = combine_elements(result[i], x0[i]);
    }
  }

  /// The same for any number of rows; width <= largest_tile.
  static void columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, A* result) {
    T block[ReduceUnits::largest_tile];
    std::fill_n(result, width, combine.start());
    for (std::int64_t row = 0; row < rows; row += block_rows) {
      block_columns(x + row * stride, std::min(block_rows, rows - row), stride, width, block);
      for (std::int64_t i = 0; i < width; ++i) result[i] = combine(result[i], static_cast<A>(block[i]));
    }
  }

  /// The same where rows are narrow and next to each other: several are read as one wide row, then folded.
  static void narrow_columns(const T* x, std::int64_t rows, std::int64_t width, A* result) {
    const std::int64_t wide = 4 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
    const std::int64_t together = std::max<std::int64_t>(1, wide / width), groups = rows / together;
    A values[4 * hn::MaxLanes(hn::ScalableTag<T>()) + narrow];
    if (groups > 0) columns(x, groups, together * width, together * width, values);
    std::fill_n(result, width, combine.start());
    for (std::int64_t row = 0; row < (groups > 0 ? together : 0); ++row) {
      for (std::int64_t i = 0; i < width; ++i) result[i] = combine(result[i], values[row * width + i]);
    }
    for (std::int64_t row = groups * together; row < rows; ++row) {
      for (std::int64_t i = 0; i < width; ++i) result[i] = combine(result[i], static_cast<A>(x[row * width + i]));
    }
  }

  static void range(const ReduceShape& shape, const T* x, A* partial, T* result, std::int64_t begin, std::int64_t end) {
    const ReduceUnits units(shape);
    if (units.splits == 1 && shape.inner == 1) {
      for (std::int64_t i = begin; i < end; ++i) result[i] = static_cast<T>(row(x + i * shape.reduced, shape.reduced));
      return;
    }
    A values[ReduceUnits::largest_tile];
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t first_column = unit % units.tiles * units.tile;
      const std::int64_t first_row = unit / units.tiles % units.splits * units.rows_per_split;
      const std::int64_t outer = unit / units.tiles / units.splits;
      const std::int64_t rows = std::min(units.rows_per_split, shape.reduced - first_row);
      const std::int64_t width = std::min(units.tile, shape.inner - first_column);
      const T* corner = x + (outer * shape.reduced + first_row) * shape.inner + first_column;
      T* out = result + outer * shape.inner + first_column;
      if (units.splits == 1 && rows <= block_rows && shape.inner >= narrow) {
        block_columns(corner, rows, shape.inner, width, out);
        continue;
      }
      if (shape.inner == 1) {
        values[0] = row(corner, rows);
      } else if (shape.inner < narrow) {
        narrow_columns(corner, rows, width, values);
      } else {
        columns(corner, rows, shape.inner, width, values);
      }
      if (units.splits == 1) {
        for (std::int64_t i = 0; i < width; ++i) out[i] = static_cast<T>(values[i]);
      } else {
        std::copy_n(values, width, partial + unit / units.tiles * shape.inner + first_column);
      }
    }
  }
};

template <typename T>
void reduce_range(AxisReduction reduction, const ReduceShape& shape, const T* x, Accumulator<T>* partial, T* result,
                  std::int64_t begin, std::int64_t end) {
  switch (reduction) {
    case AxisReduction::sum:
      return Reduce<AxisReduction::sum, T>::range(shape, x, partial, result, begin, end);
    case AxisReduction::prod:
      return Reduce<AxisReduction::prod, T>::range(shape, x, partial, result, begin, end);
    case AxisReduction::max:
      return Reduce<AxisReduction::max, T>::range(shape, x, partial, result, begin, end);
    case AxisReduction::min:
      return Reduce<AxisReduction::min, T>::range(shape, x, partial, result, begin, end);
  }
}

void reduce_float(AxisReduction reduction, const ReduceShape& shape, const float* x, double* partial, float* result,
                  std::int64_t begin, std::int64_t end) {
  reduce_range(reduction, shape, x, partial, result, begin, end);
}
void reduce_double(AxisReduction reduction, const ReduceShape& shape, const double* x, double* partial, double* result,
                   std::int64_t begin, std::int64_t end) {
  reduce_range(reduction, shape, x, partial, result, begin, end);
}
void reduce_int32(AxisReduction reduction, const ReduceShape& shape, const std::int32_t* x, std::int32_t* partial,
                  std::int32_t* result, std::int64_t begin, std::int64_t end) {
  reduce_range(reduction, shape, x, partial, result, begin, end);
}
void reduce_int64(AxisReduction reduction, const ReduceShape& shape, const std::int64_t* x, std::int64_t* partial,
                  std::int64_t* result, std::int64_t begin, std::int64_t end) {
  reduce_range(reduction, shape, x, partial, result, begin, end);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {

HWY_EXPORT(reduce_float);
HWY_EXPORT(reduce_double);
HWY_EXPORT(reduce_int32);
HWY_EXPORT(reduce_int64);

namespace {

/// result[o, i] = the partial results of [o, split, i], in the order of the splits.
template <AxisReduction reduction, typename T>
void merge_splits(const ReduceShape& shape, std::int64_t splits, const Accumulator<T>* partial, T* result) {
  constexpr Combine<reduction, Accumulator<T>> combine;
  parallel_chunks(shape.results(), rows_per_chunk(splits), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Accumulator<T>* column = partial + i / shape.inner * splits * shape.inner + i % shape.inner;
      Accumulator<T> value = combine.start();
      for (std::int64_t split = 0; split < splits; ++split) value = combine(value, column[split * shape.inner]);
      result[i] = static_cast<T>(value);
    }
  });
}

}  // namespace

template <typename T>
void reduce(Cpu, AxisReduction reduction, const ReduceShape& shape, const T* x, T* result) {
  if (shape.results() == 0) return;
  if (shape.reduced == 0) {
    std::fill_n(result, shape.results(), reduction == AxisReduction::prod ? T{1} : T{0});
    return;
  }
  const auto range = [] {
    if constexpr (std::is_same_v<T, float>)
      return HWY_DYNAMIC_DISPATCH(reduce_float);
    else if constexpr (std::is_same_v<T, double>)
      return HWY_DYNAMIC_DISPATCH(reduce_double);
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return HWY_DYNAMIC_DISPATCH(reduce_int32);
    else
      return HWY_DYNAMIC_DISPATCH(reduce_int64);
  }();
  const ReduceUnits units(shape);
  std::vector<Accumulator<T>> partial(units.splits == 1 ? 0 : shape.results() * units.splits);
  parallel_chunks(units.count, units.chunk, [&](std::int64_t begin, std::int64_t end) {
    range(reduction, shape, x, partial.data(), result, begin, end);
  });
  if (units.splits == 1) return;
  switch (reduction) {
    case AxisReduction::sum:
      return merge_splits<AxisReduction::sum>(shape, units.splits, partial.data(), result);
    case AxisReduction::prod:
      return merge_splits<AxisReduction::prod>(shape, units.splits, partial.data(), result);
    case AxisReduction::max:
      return merge_splits<AxisReduction::max>(shape, units.splits, partial.data(), result);
    case AxisReduction::min:
      return merge_splits<AxisReduction::min>(shape, units.splits, partial.data(), result);
  }
}

template void reduce(Cpu, AxisReduction, const ReduceShape&, const float*, float*);
template void reduce(Cpu, AxisReduction, const ReduceShape&, const double*, double*);
template void reduce(Cpu, AxisReduction, const ReduceShape&, const std::int32_t*, std::int32_t*);
template void reduce(Cpu, AxisReduction, const ReduceShape&, const std::int64_t*, std::int64_t*);

}  // namespace bough
#endif
