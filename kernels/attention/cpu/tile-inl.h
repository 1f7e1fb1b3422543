// Small matrix products on tiles of 16 destinations (lanes), for any number of vector lanes. Compiled once per
// instruction set; include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_ATTENTION_CPU_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_ATTENTION_CPU_TILE_INL_H_
#undef BOUGH_KERNELS_ATTENTION_CPU_TILE_INL_H_
#else
#define BOUGH_KERNELS_ATTENTION_CPU_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/attention/tile_size.h"
#include "kernels/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using TileTag = hn::CappedTag<T, tile_lanes>;

template <typename T>
constexpr std::int64_t vector_lanes = static_cast<std::int64_t>(hn::MaxLanes(TileTag<T>()));
/// Vectors that hold one number for each lane of a tile.
template <typename T>
constexpr std::int64_t tile_vectors = tile_lanes / vector_lanes<T>;
/// AVX-512 has 32 registers, AVX2 has 16.
constexpr bool many_registers = HWY_TARGET <= HWY_AVX3;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Transposes groups of vectors in place, as many as a block of 128 bits has lanes, inside each of their blocks.
template <std::size_t count, class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_in_blocks([[maybe_unused]] D d, [[maybe_unused]] V* v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    for (std::size_t i = 0; i < count; i += 2) {
      const V a = v[i], b = v[i + 1];
      v[i] = hn::InterleaveLower(d, a, b);
      v[i + 1] = hn::InterleaveUpper(d, a, b);
    }
  } else {
    const hn::Repartition<double, D> pairs;
    const auto lower = [&](V a, V b) {
      return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    const auto upper = [&](V a, V b) {
      return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    for (std::size_t i = 0; i < count; i += 4) {
      const V a = hn::InterleaveLower(d, v[i], v[i + 1]), b = hn::InterleaveUpper(d, v[i], v[i + 1]);
      const V e = hn::InterleaveLower(d, v[i + 2], v[i + 3]), f = hn::InterleaveUpper(d, v[i + 2], v[i + 3]);
      v[i] = lower(a, e);
      v[i + 1] = upper(a, e);
      v[i + 2] = lower(b, f);
      v[i + 3] = upper(b, f);
    }
  }
#endif
}

/// Transposes N vectors of N lanes in place.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_square([[maybe_unused]] D d, [[maybe_unused]] V* v) {
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t size = hn::MaxLanes(D());
  constexpr std::size_t per_block = 16 / sizeof(hn::TFromD<D>), blocks = size / per_block;
  // Inside blocks of 128 bits, then the blocks among each other.
  transpose_in_blocks<size>(d, v);
  if constexpr (blocks == 2) {
    for (std::size_t i = 0; i < per_block; ++i) {
      const V a = v[i], b = v[i + per_block];
      v[i] = hn::ConcatLowerLower(d, b, a);
      v[i + per_block] = hn::ConcatUpperUpper(d, b, a);
    }
  } else if constexpr (blocks == 4) {
    for (std::size_t i = 0; i < per_block; ++i) {
      V* w[4] = {v + i, v + i + per_block, v + i + 2 * per_block, v + i + 3 * per_block};
      const V even_low = hn::ConcatLowerLower(d, *w[2], *w[0]), odd_low = hn::ConcatLowerLower(d, *w[3], *w[1]);
      const V even_high = hn::ConcatUpperUpper(d, *w[2], *w[0]), odd_high = hn::ConcatUpperUpper(d, *w[3], *w[1]);
      *w[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd_low), even_low);
      *w[1] = hn::OddEvenBlocks(odd_low, hn::SwapAdjacentBlocks(even_low));
      *w[2] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd_high), even_high);
      *w[3] = hn::OddEvenBlocks(odd_high, hn::SwapAdjacentBlocks(even_high));
    }
  }
#endif
}

/// A vector whose lower half stands at `low` and whose upper half stands at `high`: the two lane groups.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_lane_groups(D d, [[maybe_unused]] const T* low, [[maybe_unused]] const T* high) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Zero(d);
#else
  const hn::Half<D> half;
  return hn::Combine(d, hn::LoadU(half, high), hn::LoadU(half, low));
#endif
}

/// Adds the lower half of a vector to what stands at `low` and the upper half to what stands at `high`.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_to_lane_groups(D d, hn::Vec<D> v, T* low, T* high) {
  const hn::Vec<D> sums = hn::Add(load_lane_groups(d, low, high), v);
#if HWY_TARGET != HWY_SCALAR
  const hn::Half<D> half;
  hn::StoreU(hn::LowerHalf(half, sums), half, low);
  hn::StoreU(hn::UpperHalf(half, sums), half, high);
#endif
}

/// Transposes lane_group_size vectors of tile_lanes lanes in place, the low lane group and the high one each as a
/// square.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_lane_groups(D d, V* v) {
  constexpr std::size_t per_block = 16 / sizeof(hn::TFromD<D>);
  static_assert(lane_group_size == 2 * per_block, "a lane group is two blocks of 128 bits, which change places");
  transpose_in_blocks<lane_group_size>(d, v);
  for (std::size_t i = 0; i < per_block; ++i) {
    const V a = v[i], b = v[i + per_block];
    v[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    v[i + per_block] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  }
}

/// target[i * 16 + lane] = rows[lane * stride + i] for 16 lanes and i < width; width is a multiple of the vector's.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void transpose_lanes(D d, const T* rows, std::int64_t stride, std::int64_t width, T* target) {
  constexpr std::int64_t n = vector_lanes<T>;
  for (std::int64_t i = 0; i < width; i += n) {
    for (std::int64_t lane = 0; lane < tile_lanes; lane += n) {
      hn::Vec<D> v[n];
      for (std::int64_t j = 0; j < n; ++j) v[j] = hn::LoadU(d, rows + (lane + j) * stride + i);
      transpose_square(d, v);
      for (std::int64_t j = 0; j < n; ++j) hn::StoreU(v[j], d, target + (i + j) * tile_lanes + lane);
    }
  }
}

// Arrays of vectors stay in registers only if the loops over them are unrolled early, which the pragmas below ask for.

/// Products of `columns` rows with the lanes of some vectors: sums[c * stride + v * n] = sum over i < width of
/// rows[c][i] * lanes[v][i * 16], for vectors of n lanes; with `accumulate` += instead of =.
template <std::int64_t columns, std::int64_t vectors, class D, typename T = hn::TFromD<D>>
HWY_INLINE void product_block(D d, const T* const* lanes, const T* const* rows, std::int64_t width, bool accumulate,
                              T* sums, std::int64_t stride) {
  using V = hn::Vec<D>;
  constexpr std::int64_t n = vector_lanes<T>;
  V sum[columns][vectors];
  const T* HWY_RESTRICT row[columns];
  const T* HWY_RESTRICT lane[vectors];
#pragma GCC unroll 16
  for (std::int64_t v = 0; v < vectors; ++v) lane[v] = lanes[v];
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < columns; ++c) {
    row[c] = rows[c];
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) {
      sum[c][v] = accumulate ? hn::LoadU(d, sums + c * stride + v * n) : hn::Zero(d);
    }
  }
  for (std::int64_t i = 0; i < width; ++i) {
    V x[vectors];
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) x[v] = hn::LoadU(d, lane[v] + i * tile_lanes);
#pragma GCC unroll 16
    for (std::int64_t c = 0; c < columns; ++c) {
      const V k = hn::Set(d, row[c][i]);
#pragma GCC unroll 16
      for (std::int64_t v = 0; v < vectors; ++v) sum[c][v] = hn::MulAdd(k, x[v], sum[c][v]);
    }
  }
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < columns; ++c) {
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) hn::StoreU(sum[c][v], d, sums + c * stride + v * n);
  }
}

/// The same for any number of rows that is a multiple of column_multiple.
template <std::int64_t vectors, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void products_with_vectors(D d, const T* const* lanes, const T* const* rows, std::int64_t num_rows,
                                        std::int64_t width, bool accumulate, T* sums, std::int64_t stride) {
  constexpr std::int64_t block = vectors == 1 || many_registers ? 8 : 4;
  std::int64_t c = 0;
  for (; c + block <= num_rows; c += block) {
    product_block<block, vectors>(d, lanes, rows + c, width, accumulate, sums + c * stride, stride);
  }
  for (; c < num_rows; c += column_multiple) {
    product_block<column_multiple, vectors>(d, lanes, rows + c, width, accumulate, sums + c * stride, stride);
  }
}

/// True if one vector holds all lanes. An element of a row would then be loaded for each multiplication, so lanes are
/// packed, and elements loaded, two by two.
template <typename T>
constexpr bool packs_pairs = tile_vectors<T> == 1;

/// Packs rows[lane * stride + i] for tile_products; width is a multiple of the vector's.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void pack_lanes(D d, const T* rows, std::int64_t stride, std::int64_t width, T* lanes) {
  if constexpr (packs_pairs<T>) {
    transpose_lanes(hn::Repartition<double, D>(), reinterpret_cast<const double*>(rows), stride / 2, width / 2,
                    reinterpret_cast<double*>(lanes));
  } else {
    transpose_lanes(d, rows, stride, width, lanes);
  }
}

/// Products of `columns` rows with packed pairs of lanes, as products_with_lanes; unless `paired`, high_rows are not
/// read.
template <std::int64_t columns, bool paired, class D, typename T = hn::TFromD<D>>
HWY_INLINE void pair_product_block([[maybe_unused]] D d, [[maybe_unused]] const T* HWY_RESTRICT lanes,
                                   [[maybe_unused]] const T* const* low_rows,
                                   [[maybe_unused]] const T* const* high_rows, [[maybe_unused]] std::int64_t width,
                                   [[maybe_unused]] bool accumulate, [[maybe_unused]] T* sums,
                                   [[maybe_unused]] std::int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  using V = hn::Vec<D>;
  const hn::Repartition<double, D> pairs;
  const auto pair_at = [&](const T* place) HWY_ATTR {
    double pair;
    std::memcpy(&pair, place, sizeof(pair));
    return hn::BitCast(d, hn::Set(pairs, pair));
  };
  V low[columns], high[columns];  // the lane groups; even and odd elements in turns
  const T* HWY_RESTRICT low_row[columns];
  const T* HWY_RESTRICT high_row[columns];
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < columns; ++c) {
    low_row[c] = low_rows[c];
    high_row[c] = paired ? high_rows[c] : nullptr;
    low[c] = high[c] = hn::Zero(d);
  }
  for (std::int64_t i = 0; i < width; i += 2) {
    const V x = hn::LoadU(d, lanes + i * tile_lanes), y = hn::LoadU(d, lanes + (i + 1) * tile_lanes);
#pragma GCC unroll 16
    for (std::int64_t c = 0; c < columns; ++c) {
      const V k = pair_at(low_row[c] + i);
      low[c] = hn::MulAdd(k, x, low[c]);
      high[c] = hn::MulAdd(paired ? pair_at(high_row[c] + i) : k, y, high[c]);
    }
  }
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < columns; ++c) {
    T* sum = sums + c * stride;
    V sum_of_pairs = hn::Add(hn::ConcatEven(d, high[c], low[c]), hn::ConcatOdd(d, high[c], low[c]));
    if (accumulate) sum_of_pairs = hn::Add(sum_of_pairs, hn::LoadU(d, sum));
    hn::StoreU(sum_of_pairs, d, sum);
  }
#endif
}

/// Products of rows with 16 lanes as pack_lanes leaves them, into sums[row * stride + lane]; width is a multiple of the
/// vector's, num_rows of column_multiple. The low lane group is multiplied with low_rows, the high one with
/// high_rows, which are the same unless `paired`.
template <bool paired, class D, typename T = hn::TFromD<D>>
HWY_INLINE void products_with_lanes(D d, const T* lanes, const T* const* low_rows, const T* const* high_rows,
                                    std::int64_t num_rows, std::int64_t width, bool accumulate, T* sums,
                                    std::int64_t stride) {
  if constexpr (packs_pairs<T>) {
    const auto multiply = [&]<std::int64_t count>(std::int64_t c) HWY_ATTR {
      pair_product_block<count, paired>(d, lanes, low_rows + c, high_rows + c, width, accumulate, sums + c * stride,
                                        stride);
    };
    std::int64_t c = 0;
    for (; c + 8 <= num_rows; c += 8) multiply.template operator()<8>(c);
    for (; c < num_rows; c += column_multiple) multiply.template operator()<column_multiple>(c);
  } else {
    constexpr std::int64_t group_vectors = std::max<std::int64_t>(1, tile_vectors<T> / lane_groups);
    constexpr std::int64_t together = std::min<std::int64_t>(paired ? group_vectors : tile_vectors<T>, 2);
    for (std::int64_t v = 0; v < tile_vectors<T>; v += together) {
      const T* at[together];
      for (std::int64_t i = 0; i < together; ++i) at[i] = lanes + (v + i) * vector_lanes<T>;
      products_with_vectors<together>(d, at, v < group_vectors ? low_rows : high_rows, num_rows, width, accumulate,
                                      sums + v * vector_lanes<T>, stride);
    }
  }
}

/// Rows for the low lane group of a tile, and for the high one, one for each column. They are the same except for
/// columns between paired_begin and paired_end.
template <typename T>
struct ColumnRows {
  std::array<const T**, lane_groups> rows = {};
  std::int64_t paired_begin = 0, paired_end = 0;
};

/// Products of the rows of columns with the 16 lanes of a tile, into sums[column * 16 + lane]; num_columns is a
/// multiple of column_multiple.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void tile_products(D d, const T* lanes, const ColumnRows<T>& columns, std::int64_t num_columns,
                                std::int64_t width, bool accumulate, T* sums) {
  const auto multiply = [&]<bool paired>(std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (begin >= end) return;
    products_with_lanes<paired>(d, lanes, columns.rows[0] + begin, columns.rows[1] + begin, end - begin, width,
                                accumulate, sums + begin * tile_lanes, tile_lanes);
  };
  const bool paired = columns.paired_begin < columns.paired_end;
  const std::int64_t begin = paired ? columns.paired_begin / column_multiple * column_multiple : num_columns;
  const std::int64_t end = paired ? round_up(columns.paired_end, column_multiple) : num_columns;
  multiply.template operator()<false>(0, begin);
  multiply.template operator()<true>(begin, end);
  multiply.template operator()<false>(end, num_columns);
}

/// The lanes of a mask that one of the tile's vectors holds.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Mask<D> mask_of_vector(D d, LaneMask mask, std::int64_t vector) {
  const std::uint64_t bits = static_cast<std::uint64_t>(mask) >> (vector * vector_lanes<T>);
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
