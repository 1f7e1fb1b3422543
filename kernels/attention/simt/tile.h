#pragma once

#include <cstdint>

#include "bough/detail/simt/collective.h"
#include "bough/detail/simt/context.h"
#include "kernels/attention/simt/fragment.h"
#include "kernels/attention/simt/share.h"
#include "kernels/attention/simt/tile_view.h"
#include "kernels/attention/views.h"

/// What the kernels of tiles have in common: a block of four warps for a tile of 16 lanes, a warp for each four of
/// them. Vectors of features go through shared memory in packs of 16 bytes, whose rows are an odd number of packs
/// apart: eight threads that read the same pack of neighbouring rows, or neighbouring packs of a row, meet all banks
/// once.
namespace bough::simt {

/// Vectors of up to Packs packs. Where a warp works on rows of features, each group of Packs threads takes one.
template <typename T, int Packs>
struct TileShape {
  using Stored = T;
  using Number = AccumType<T>;
  static constexpr int pack = pack_size<T>;
  static constexpr int packs = Packs;
  static constexpr int stride = Packs | 1;
  static constexpr int groups = warp_size / Packs;
  static constexpr int most_features = Packs * pack;
  static constexpr int block_size = 128;
  using RowPack = Pack<Number, pack>;
};

/// One number for each lane of the quad that a warp has.
template <typename T>
struct alignas(16) Quad {
  T values[quad_lanes] = {};
};
inline constexpr int columns_per_warp = step_columns * quad_lanes / tile_lanes;

/// Pack `number` of a vector in memory, zeros behind its end. Whole packs are read where all vectors are `aligned`.
template <typename Shape, typename Context, typename T>
BOUGH_DEVICE typename Shape::RowPack load_pack(Context& context, const T* vector, int number, std::int64_t width,
                                               bool aligned) {
  const std::int64_t first = number * Shape::pack;
  typename Shape::RowPack result{};
  if (aligned) {
    const auto loaded = context.load(reinterpret_cast<const Pack<T, Shape::pack>*>(vector + first));
    for (int i = 0; i < Shape::pack; ++i) result.values[i] = loaded.values[i];
    return result;
  }
  for (int i = 0; i < Shape::pack; ++i) {
    if (first + i < width) result.values[i] = context.load(vector + first + i);
  }
  return result;
}

/// Writes factor * pack.
template <typename Shape, typename Context, typename T>
BOUGH_DEVICE void store_pack(Context& context, T* vector, int number, std::int64_t width, bool aligned,
                             const typename Shape::RowPack& pack, typename Shape::Number factor) {
  const std::int64_t first = number * Shape::pack;
  Pack<T, Shape::pack> scaled;
  for (int i = 0; i < Shape::pack; ++i) scaled.values[i] = static_cast<T>(factor * pack.values[i]);
  if (aligned) return context.store(reinterpret_cast<Pack<T, Shape::pack>*>(vector + first), scaled);
  for (int i = 0; i < Shape::pack; ++i) {
    if (first + i < width) context.store(vector + first + i, scaled.values[i]);
  }
}

/// Where a vector of features is, and one to add to it; null for zeros.
template <typename T>
struct StagedRow {
  const T* vector = nullptr;
  const T* added = nullptr;
};

/// Copies rows begin .. end - 1, those of the calling warp, into shared memory. row_at(row) is called by all lanes
/// together. True if all numbers that the thread copied are finite.
template <typename Shape, typename Context, typename Rows, typename RowAt>
BOUGH_DEVICE bool stage_rows(Context& context, const Rows& rows, int begin, int end, std::int64_t width, bool aligned,
                             const RowAt& row_at) {
  using T = typename Shape::Number;
  using Stored = typename Shape::Stored;
  const int number = context.lane() % Shape::packs;
  T zeros = 0;  // 0 * x is 0 for every finite x
  for (int first = begin; first < end; first += Shape::groups) {
    const int row = first + context.lane() / Shape::packs;
    const StagedRow<Stored> from = row_at(row);
    if (row >= end || number * Shape::pack >= width) continue;
    typename Shape::RowPack pack{};
    if (from.vector != nullptr) pack = load_pack<Shape>(context, from.vector, number, width, aligned);
    if (from.added != nullptr) {
      const auto added = load_pack<Shape>(context, from.added, number, width, aligned);
      for (int i = 0; i < Shape::pack; ++i) pack.values[i] += added.values[i];
    }
    for (int i = 0; i < Shape::pack; ++i) zeros += T{0} * pack.values[i];
    rows.set(row * Shape::stride + number, pack);
  }
  return zeros == T{0};
}

/// Products of four lanes, whose vectors begin at row `lane_row` of `lanes`, with one row.
template <typename Shape, typename Rows>
BOUGH_DEVICE Quad<typename Shape::Number> lane_products(const Rows& lanes, int lane_row, const Rows& rows, int row,
                                                        std::int64_t width) {
  Quad<typename Shape::Number> sums;
  for (int number = 0; number * Shape::pack < width; ++number) {
    const auto b = rows.get(row * Shape::stride + number);
    for (int i = 0; i < quad_lanes; ++i) {
      const auto a = lanes.get((lane_row + i) * Shape::stride + number);
      for (int j = 0; j < Shape::pack; ++j) sums.values[i] += a.values[j] * b.values[j];
    }
  }
  return sums;
}

/// One pack of the weighted sums of rows, for each lane of a warp: every group of threads takes its own rows, and
/// `merge` adds the groups up.
template <typename Shape>
struct LaneSums {
  using T = typename Shape::Number;
  typename Shape::RowPack sums[quad_lanes] = {};

  BOUGH_DEVICE void scale(int lane, T factor) {
    for (int i = 0; i < Shape::pack; ++i) sums[lane].values[i] *= factor;
  }

  /// sums += weights * rows over the first `count` rows; weight(row) is that of the four lanes.
  template <typename Context, typename Rows, typename Weights>
  BOUGH_DEVICE void add(Context& context, const Rows& rows, int count, std::int64_t width, const Weights& weights) {
    const int number = context.lane() % Shape::packs;
    if (number * Shape::pack >= width) return;
    for (int row = context.lane() / Shape::packs; row < count; row += Shape::groups) {
      const Quad<T> weight = weights.get(context.warp() * step_columns + row);
      const auto pack = rows.get(row * Shape::stride + number);
      for (int i = 0; i < quad_lanes; ++i) {
        for (int j = 0; j < Shape::pack; ++j) sums[i].values[j] += weight.values[i] * pack.values[j];
      }
    }
  }

  template <typename Context>
  BOUGH_DEVICE void merge(Context& context) {
    for (int distance = Shape::packs; distance < warp_size; distance *= 2) {
      for (int i = 0; i < quad_lanes; ++i) {
        for (int j = 0; j < Shape::pack; ++j) {
          sums[i].values[j] += context.shuffle_xor(sums[i].values[j], distance);
        }
      }
    }
  }
};

/// For each of the warp's columns: the sum over all lanes of weight * the lane's vector. All threads of the warp call
/// use(column, number of the pack, pack, whether there is such a column and pack) together.
template <typename Shape, typename Context, typename Rows, typename Weights, typename Use>
BOUGH_DEVICE void column_sums(Context& context, const Rows& lanes, int count, std::int64_t width,
                              const Weights& weights, const Use& use) {
  using T = typename Shape::Number;
  constexpr int columns = columns_per_warp / Shape::groups;
  const int number = context.lane() % Shape::packs;
  const int first = context.warp() * columns_per_warp + context.lane() / Shape::packs * columns;
  const bool inside = number * Shape::pack < width;
  if (context.warp() * columns_per_warp >= count) return;
  typename Shape::RowPack sums[columns] = {};
  for (int quad = 0; quad < quads && inside; ++quad) {
    Quad<T> weight[columns];
    for (int c = 0; c < columns; ++c) weight[c] = weights.get(quad * step_columns + first + c);
    for (int i = 0; i < quad_lanes; ++i) {
      const auto pack = lanes.get((quad * quad_lanes + i) * Shape::stride + number);
      for (int c = 0; c < columns; ++c) {
        for (int j = 0; j < Shape::pack; ++j) sums[c].values[j] += weight[c].values[i] * pack.values[j];
      }
    }
  }
  unrolled<columns>([&](int c) { use(first + c, number, sums[c], inside && first + c < count); });
}

/// Shared memory of TileInputs.
template <typename Shape>
constexpr std::size_t tile_inputs_bytes(bool relations) {
  using RowPack = typename Shape::RowPack;
  return shared_bytes<RowPack>(tile_lanes * Shape::stride) + shared_bytes<RowPack>(step_columns * Shape::stride) +
         shared_bytes<TileColumn>(step_columns) +
         shared_bytes<typename Shape::Number>(relations ? tile_lanes * step_relations : 1);
}

/// What the scores of a tile are computed from.
template <typename Shape, typename Context>
class TileInputs {
  using T = typename Shape::Number;
  using Stored = typename Shape::Stored;
  using Rows = decltype(std::declval<Context&>().template shared<typename Shape::RowPack>(1));
  using Columns = decltype(std::declval<Context&>().template shared<TileColumn>(1));
  using Numbers = decltype(std::declval<Context&>().template shared<T>(1));

 public:
  BOUGH_DEVICE TileInputs(Context& context, const TileView& plan, const AttentionInputs<Stored>& in, bool aligned,
                          std::int64_t tile, std::int64_t head)
      : queries(context.template shared<typename Shape::RowPack>(tile_lanes * Shape::stride)),
        rows(context.template shared<typename Shape::RowPack>(step_columns * Shape::stride)),
        columns(context.template shared<TileColumn>(step_columns)),
        relation_products(context.template shared<T>(in.relation_keys ? tile_lanes * step_relations : 1)),
        plan_(plan),
        in_(in),
        aligned_(aligned),
        head_(head),
        lane_row_(context.load(plan.lane_rows + tile * tile_lanes + context.lane() % tile_lanes)) {
    stage_lanes(context, queries, in.q, in.width);
  }

  /// The row of the tile's lane with the number of the thread, or -1.
  BOUGH_DEVICE std::int32_t lane_row() const { return lane_row_; }
  /// The row of lane i of the warp's four, or -1.
  BOUGH_DEVICE std::int32_t row(Context& context, int i) const {
    return context.shuffle(lane_row_, context.warp() * quad_lanes + i);
  }

  /// Vectors of the warp's lanes.
  BOUGH_DEVICE void stage_lanes(Context& context, const Rows& lanes, const HeadRows<const Stored>& vectors,
                                std::int64_t width) const {
    const int begin = context.warp() * quad_lanes;
    stage_rows<Shape>(context, lanes, begin, begin + quad_lanes, width, aligned_, [&](int lane) {
      const std::int32_t row = context.shuffle(lane_row_, lane % tile_lanes);
      return StagedRow<Stored>{row < 0 ? nullptr : vectors(row, head_)};
    });
  }

  /// Columns, and products of queries with listed relations. Behind a barrier after the last use of `rows`.
  BOUGH_DEVICE void begin_step(Context& context, const TileStep& step) {
    step_ = step;
    own_ = TileColumn{};
    relation_places_ = no_relation_places;
    const int own = context.warp() * columns_per_warp + context.lane();
    if (context.lane() < columns_per_warp && own < step.num_columns) {
      own_ = context.load(plan_.columns + step.column_begin + own);
      columns.set(own, own_);
    }
    if (step.num_relations == 0 || !in_.relation_keys) return;
    if (context.lane() < step.num_columns) {
      relation_places_ = context.load(plan_.relation_places + std::int64_t{step.column_begin} * quads +
                                      context.warp() * step.num_columns + context.lane());
    }
    for (int first = 0; first < step.num_relations; first += step_columns) {
      const int count = stage_relations(context, first);
      context.sync();
      if (context.lane() < count) {
        const Quad<T> products =
            lane_products<Shape>(queries, context.warp() * quad_lanes, rows, context.lane(), in_.width);
        for (int i = 0; i < quad_lanes; ++i) {
          relation_products.set((context.warp() * quad_lanes + i) * step_relations + first + context.lane(),
                                products.values[i]);
        }
      }
      context.sync();
    }
  }

  /// Relations first, first + 1, ... of the step's list into `rows`; gives their number.
  BOUGH_DEVICE int stage_relations(Context& context, int first) const {
    const int count = step_.num_relations - first < step_columns ? step_.num_relations - first : step_columns;
    const std::int32_t own =
        context.lane() < count ? context.load(plan_.relations + step_.relation_begin + first + context.lane()) : 0;
    stage_rows<Shape>(context, rows, warp_begin(context), warp_end(context, count), in_.width, aligned_, [&](int row) {
      return StagedRow<Stored>{in_.relation_keys(context.shuffle(own, row % warp_size), head_)};
    });
    return count;
  }

  BOUGH_DEVICE void stage_keys(Context& context) const {
    stage_rows<Shape>(
        context, rows, warp_begin(context), warp_end(context, step_.num_columns), in_.width, aligned_, [&](int row) {
          const int from = row % columns_per_warp;
          const std::int32_t source = context.shuffle(own_.source, from);
          const std::int32_t relation = context.shuffle(own_.relation, from);
          const bool related = in_.relation_keys && relation >= 0;
          return StagedRow<Stored>{in_.k(source, head_), related ? in_.relation_keys(relation, head_) : nullptr};
        });
  }
  /// True if all that the thread copied are finite.
  BOUGH_DEVICE bool stage_values(Context& context) const {
    return stage_rows<Shape>(
        context, rows, warp_begin(context), warp_end(context, step_.num_columns), in_.value_width, aligned_,
        [&](int row) { return StagedRow<Stored>{in_.v(context.shuffle(own_.source, row % columns_per_warp), head_)}; });
  }

  /// The thread's column and the scores of the warp's four lanes; `edges` are the lanes that have one. Keys are staged.
  struct Scores {
    TileColumn column;
    unsigned edges = 0;
    Quad<T> values;
  };
  BOUGH_DEVICE Scores scores(Context& context) const {
    Scores result;
    if (context.lane() >= step_.num_columns) return result;
    const int lane_row = context.warp() * quad_lanes;
    result.column = columns.get(context.lane());
    result.edges = result.column.mask >> lane_row & quad_mask;
    result.values = lane_products<Shape>(queries, lane_row, rows, context.lane(), in_.width);
    for (int i = 0; i < quad_lanes; ++i) {
      const RelationPlaces place = place_of_lane(relation_places_, i);
      if (place < step_relations) {
        result.values.values[i] += relation_products.get((lane_row + i) * step_relations + place);
      }
      result.values.values[i] *= in_.scale;
    }
    return result;
  }

  /// Of the thread's column and the warp's lanes.
  BOUGH_DEVICE RelationPlaces relation_places() const { return relation_places_; }

  /// 0 where dropout takes the edge, else its scale.
  BOUGH_DEVICE T dropout_factor(Context& context, std::int32_t source, std::int32_t row) const {
    // No row of a tile has parallel edges.
    if (!in_.dropout.active()) return T{1};
    return keeps_weight(context, in_.dropout, source, row, head_, 0) ? static_cast<T>(in_.dropout.scale) : T{0};
  }

  Rows queries, rows;
  Columns columns;
  Numbers relation_products;  ///< [16, step_relations]

 private:
  BOUGH_DEVICE static int warp_begin(const Context& context) { return context.warp() * columns_per_warp; }
  BOUGH_DEVICE static int warp_end(const Context& context, int count) {
    const int end = (context.warp() + 1) * columns_per_warp;
    return end < count ? end : count;
  }

  const TileView& plan_;
  const AttentionInputs<Stored>& in_;
  bool aligned_;
  std::int64_t head_;
  std::int32_t lane_row_;
  TileStep step_;
  TileColumn own_;  ///< of the columns that the warp copies, by lane
  RelationPlaces relation_places_ = no_relation_places;
};

/// Calls f(TileShape, whether all vectors begin at packs, those of `others` too) for the widths of the vectors, which
/// fit.
template <typename T, typename F, typename... Others>
void with_tile_shape(const AttentionInputs<T>& in, const F& f, const HeadRows<Others>&... others) {
  const std::int64_t width = in.width > in.value_width ? in.width : in.value_width;
  const bool packs = vectors_in_packs(in, others...);
  using Narrow = TileShape<T, 16>;
  if constexpr (Narrow::most_features < most_tile_features<T>) {
    using Wide = TileShape<T, 32>;
    static_assert(Wide::most_features == most_tile_features<T>);
    if (width > Narrow::most_features) return f(Wide{}, packs);
  }
  f(Narrow{}, packs);
}

}  // namespace bough::simt
