// Weighted sums of rows: for the lanes of a tile over its columns, for columns over its lanes. Compiled once per
// instruction set; include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_ATTENTION_CPU_TILE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_ATTENTION_CPU_TILE_SUMS_INL_H_
#undef BOUGH_KERNELS_ATTENTION_CPU_TILE_SUMS_INL_H_
#else
#define BOUGH_KERNELS_ATTENTION_CPU_TILE_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/attention/cpu/tile-inl.h"
#include "kernels/attention/plan/attention_plan.h"
#include "kernels/cpu/row_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where the weights of an entry are: one for each sum, `stride` elements apart.
template <typename T>
struct Weights {
  const T* data;
  std::int64_t stride;
};

/// sums(r) += sum over entries e of weights(e)[r] * row(e), for `rows` rows; with from_zero = instead of +=. What
/// becomes of the sums is up to finish(r, i, v), for the vector v of row r that begins with element i of the block.
template <std::int64_t rows, std::int64_t vectors, class D, class WeightsOf, class RowOf, class SumOf, class Finish,
          typename T = hn::TFromD<D>>
HWY_INLINE void weighted_sum_block(D d, bool from_zero, std::int64_t num_entries, const WeightsOf& weights_of,
                                   const RowOf& row_of, const SumOf& sum_of, const Finish& finish) {
  using V = hn::Vec<D>;
  constexpr std::int64_t n = vector_lanes<T>;
  V sums[rows][vectors];
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* place = sum_of(r);
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] = from_zero ? hn::Zero(d) : hn::LoadU(d, place + v * n);
  }
  for (std::int64_t e = 0; e < num_entries; ++e) {
    const T* row = row_of(e);
    const Weights<T> weights = weights_of(e);
    V x[vectors];
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) x[v] = hn::LoadU(d, row + v * n);
#pragma GCC unroll 16
    for (std::int64_t r = 0; r < rows; ++r) {
      const V w = hn::Set(d, weights.data[r * weights.stride]);
#pragma GCC unroll 16
      for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(w, x[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < vectors; ++v) finish(r, v * n, sums[r][v]);
  }
}

/// The same for rows of `width` elements, a multiple of the vector's; i counts from the beginning of the row.
template <std::int64_t rows, class D, class WeightsOf, class RowOf, class SumOf, class Finish>
HWY_INLINE void weighted_sums(D d, bool from_zero, std::int64_t num_entries, std::int64_t width,
                              const WeightsOf& weights_of, const RowOf& row_of, const SumOf& sum_of,
                              const Finish& finish) {
  constexpr std::int64_t n = vector_lanes<hn::TFromD<D>>, most = many_registers ? 4 : 2;
  std::int64_t begin = 0;
  const auto row_at = [&](std::int64_t e) HWY_ATTR { return row_of(e) + begin; };
  const auto sum_at = [&](std::int64_t r) HWY_ATTR { return sum_of(r) + begin; };
  const auto finish_at = [&](std::int64_t r, std::int64_t i, hn::Vec<D> v) HWY_ATTR { finish(r, begin + i, v); };
  for (; begin + most * n <= width; begin += most * n) {
    weighted_sum_block<rows, most>(d, from_zero, num_entries, weights_of, row_at, sum_at, finish_at);
  }
  for (; begin < width; begin += n) {
    weighted_sum_block<rows, 1>(d, from_zero, num_entries, weights_of, row_at, sum_at, finish_at);
  }
}

/// The same where the sums are stored where they came from.
template <std::int64_t rows, class D, class WeightsOf, class RowOf, class SumOf>
HWY_INLINE void weighted_sums(D d, bool from_zero, std::int64_t num_entries, std::int64_t width,
                              const WeightsOf& weights_of, const RowOf& row_of, const SumOf& sum_of) {
  weighted_sums<rows>(d, from_zero, num_entries, width, weights_of, row_of, sum_of,
                      [&](std::int64_t r, std::int64_t i, hn::Vec<D> v) HWY_ATTR { hn::StoreU(v, d, sum_of(r) + i); });
}

/// sums[lane] += sum over columns of weights[column * 16 + lane] * rows[group][column], for each quad over the columns
/// that it uses, where `group` is the lane group of the quad. Rows and sums have `width` elements, a multiple of the
/// vector's.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void add_to_lanes(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block, bool from_zero,
                               const T* weights, std::array<const T**, lane_groups> rows_of_groups, std::int64_t width,
                               T* sums) {
  for (std::int64_t q = 0; q < quads; ++q) {
    const std::int64_t begin = block.quad_begin[static_cast<std::size_t>(q)],
                       end = block.quad_begin[static_cast<std::size_t>(q) + 1];
    const std::uint16_t* columns = plan.quad_columns.data() + begin;
    const T* const* rows = rows_of_groups[static_cast<std::size_t>(q * quad_lanes / lane_group_size)];
    const T* quad_weights = weights + q * quad_lanes;
    T* quad_sums = sums + q * quad_lanes * width;
    weighted_sums<quad_lanes>(
        d, from_zero, end - begin, width,
        [&](std::int64_t e) HWY_ATTR {
          return Weights<T>{quad_weights + columns[e] * tile_lanes, 1};
        },
        [&](std::int64_t e) HWY_ATTR { return rows[columns[e]]; },
        [&](std::int64_t lane) HWY_ATTR { return quad_sums + lane * width; });
  }
}

/// Where columns add their gradients.
template <typename T>
struct ColumnSums {
  T* const* rows;                   ///< of the keys or values
  T* const* relations = nullptr;    ///< besides, of the relations folded into the keys, unless null
  std::int64_t relation_width = 0;  ///< elements of the latter
};

/// sums[column] += sum over lanes of weights[column * 16 + lane] * rows[lane], column_multiple columns at a time over
/// the lanes that any of them has.
template <bool with_relations, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void add_to_columns(D d, const LaneMask* masks, std::int64_t columns, const T* weights, const T* rows,
                                 std::int64_t width, const ColumnSums<T>& sums) {
  constexpr std::int64_t together = column_multiple;
  std::int64_t c = 0;
  const auto add = [&]<std::int64_t count>(std::integral_constant<std::int64_t, count>) HWY_ATTR {
    std::uint32_t mask = 0;
    for (std::int64_t i = 0; i < count; ++i) mask |= masks[c + i];
    const std::int64_t first = std::countr_zero(mask), last = 32 - std::countl_zero(mask);
    const T* from = weights + c * tile_lanes + first;
    const T* first_row = rows + first * width;
    const auto weights_of = [&](std::int64_t lane) HWY_ATTR { return Weights<T>{from + lane, tile_lanes}; };
    const auto row_of = [&](std::int64_t lane) HWY_ATTR { return first_row + lane * width; };
    const auto sum_of = [&](std::int64_t i) HWY_ATTR { return sums.rows[c + i]; };
    if constexpr (with_relations) {
      weighted_sums<count>(d, true, last - first, width, weights_of, row_of, sum_of,
                           [&](std::int64_t r, std::int64_t i, hn::Vec<D> v) HWY_ATTR {
                             T* place = sum_of(r) + i;
                             hn::StoreU(hn::Add(hn::LoadU(d, place), v), d, place);
                             T* also = sums.relations[c + r] + i;
                             if (i + vector_lanes<T> <= sums.relation_width) {
                               hn::StoreU(hn::Add(hn::LoadU(d, also), v), d, also);
                             } else {
                               const simd::Part part{sums.relation_width - i};
                               part.store(hn::Add(part.load(d, also, T{0}), v), d, also);
                             }
                           });
    } else {
      weighted_sums<count>(d, false, last - first, width, weights_of, row_of, sum_of);
    }
  };
  for (; c + together <= columns; c += together) add(std::integral_constant<std::int64_t, together>());
  for (; c < columns; ++c) add(std::integral_constant<std::int64_t, 1>());
}

/// The same for the columns [begin, end) of a column block, which have sums for each lane group.
template <bool with_relations, class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_to_block_columns(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block,
                                     std::int64_t begin, std::int64_t end, const T* weights, const T* rows,
                                     std::int64_t width, const std::array<ColumnSums<T>, lane_groups>& sums) {
  const LaneMask* masks = plan.column_masks.data() + block.column_begin;
  const auto add = [&](std::int64_t first, std::int64_t last, const LaneMask* of_lanes, ColumnSums<T> to) HWY_ATTR {
    if (first >= last) return;
    to.rows += first;
    if constexpr (with_relations) to.relations += first;
    add_to_columns<with_relations>(d, of_lanes + first, last - first, weights + first * tile_lanes, rows, width, to);
  };
  const std::int64_t paired_begin = std::clamp<std::int64_t>(block.paired_begin, begin, end),
                     paired_end = std::clamp<std::int64_t>(block.paired_end, begin, end);
  add(begin, paired_begin, masks, sums[0]);
  for (std::size_t group = 0; group < lane_groups; ++group) {
    LaneMask of_group[AttentionPlan::most_block_columns];
    for (std::int64_t c = paired_begin; c < paired_end; ++c) {
      of_group[c] = static_cast<LaneMask>(masks[c] & lane_group_masks[group]);
    }
    add(paired_begin, paired_end, of_group, sums[group]);
  }
  add(paired_end, end, masks, sums[0]);
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
