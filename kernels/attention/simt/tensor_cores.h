#pragma once

#include <cmath>
#include <limits>

#include "kernels/attention/simt/tile.h"
#include "kernels/attention/simt/tiles.h"
#include "kernels/simt/matrix_unit.h"

/// Graph attention on dense tiles of bfloat16 with products of matrices: of the 16 queries with the keys of 32 columns,
/// and of their weights with the values. Sums are float as elsewhere; the weights are rounded to bfloat16, which the
/// other kernels of tiles do not. Forward only: backward is that of the other tiles.
namespace bough::simt {

/// Vectors of up to Features features.
template <int Features>
struct MatrixTileShape {
  static constexpr int block_size = 128, warps = block_size / warp_size;
  static constexpr int pack = 8;  ///< numbers of bfloat16 in 16 bytes
  static constexpr int packs = Features / pack;
  /// Rows of shared memory are an odd number of packs apart, so that neighbouring ones meet different banks.
  static constexpr int stride = packs | 1;
  static constexpr int staged_at_once = warp_size / packs;
  using RowPack = Pack<bfloat16, pack>;

  /// How sums are held: see LaneSums.
  using SumShape = TileShape<bfloat16, Features / pack_size<bfloat16>>;
  using SumPack = typename SumShape::RowPack;

  static constexpr int weight_stride = step_columns + pack;
  static constexpr int score_stride = step_columns + 4;
  static constexpr int score_parts = warps / (step_columns / matrix_size);
};

template <typename Shape>
struct AttendTilesOnTensorCores {
  static constexpr int block_size = Shape::block_size;
  using SumShape = typename Shape::SumShape;

  TileView plan;
  AttentionInputs<bfloat16> in;
  AttentionOutputs<bfloat16> result;
  float* partials = nullptr;  ///< [num_partials, heads, partial_header + value_width]
  bool aligned = false;       ///< whether all vectors are whole packs

  static std::size_t shared_bytes_of(bool relations) {
    return shared_bytes<typename Shape::RowPack>((tile_lanes + step_columns) * Shape::stride) +
           shared_bytes<bfloat16>(tile_lanes * Shape::weight_stride) +
           shared_bytes<float>(Shape::score_parts * tile_lanes * Shape::score_stride) +
           shared_bytes<typename Shape::SumPack>(tile_lanes * SumShape::stride) +
           shared_bytes<TileColumn>(step_columns) + shared_bytes<std::uint32_t>(Shape::warps) +
           shared_bytes<float>(relations ? tile_lanes * step_relations : 1);
  }

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    if constexpr (MatrixUnit<Context>::available) {
      Block<Context> block(context, *this);
      const TileHeader header = context.load(plan.tiles + block.tile);
      for (std::int32_t s = header.step_begin; s < header.step_end; ++s) {
        block.take(context, context.load(plan.steps + s));
      }
      block.state.finish(context, *this, block.tile, block.head, block.lane_row);
    }
  }

 private:
  /// What a block of threads works with.
  template <typename Context>
  struct Block {
    using Unit = MatrixUnit<Context>;
    template <typename T>
    using Shared = decltype(std::declval<Context&>().template shared<T>(1));

    const AttendTilesOnTensorCores& call;
    std::int64_t tile, head;
    std::int32_t lane_row;  ///< of the lane of the tile with the number of the thread, or -1
    // Matrices stand first: all before one is a multiple of 32 bytes.
    Shared<typename Shape::RowPack> queries, rows;
    Shared<bfloat16> weights;                        ///< [16, columns of a step]
    Shared<float> scores;                            ///< [parts of the features, 16, columns]
    Shared<typename Shape::SumPack> value_products;  ///< [16, features]
    Shared<TileColumn> columns;
    Shared<std::uint32_t> finite;
    Shared<float> relation_products;  ///< [16, step_relations]
    TileState<SumShape> state;

    BOUGH_DEVICE Block(Context& context, const AttendTilesOnTensorCores& body)
        : call(body),
          tile(context.block() / body.in.heads),
          head(context.block() % body.in.heads),
          lane_row(context.load(body.plan.lane_rows + tile * tile_lanes + context.lane() % tile_lanes)),
          queries(context.template shared<typename Shape::RowPack>(tile_lanes * Shape::stride)),
          rows(context.template shared<typename Shape::RowPack>(step_columns * Shape::stride)),
          weights(context.template shared<bfloat16>(tile_lanes * Shape::weight_stride)),
          scores(context.template shared<float>(Shape::score_parts * tile_lanes * Shape::score_stride)),
          value_products(context.template shared<typename Shape::SumPack>(tile_lanes * SumShape::stride)),
          columns(context.template shared<TileColumn>(step_columns)),
          finite(context.template shared<std::uint32_t>(Shape::warps)),
          relation_products(context.template shared<float>(body.in.relation_keys ? tile_lanes * step_relations : 1)) {
      stage(context, queries, tile_lanes, body.in.width, [&](int lane) -> const bfloat16* {
        const std::int32_t row = context.shuffle(lane_row, lane % tile_lanes);
        return row < 0 ? nullptr : body.in.q(row, head);
      });
    }

    BOUGH_DEVICE void take(Context& context, const TileStep& step) {
      const AttentionInputs<bfloat16>& in = call.in;
      const bool related = static_cast<bool>(in.relation_keys), listed = related && step.num_relations > 0;
      context.sync();
      // The columns that the warp copies, by lane.
      const int own_place = context.warp() * columns_per_warp + context.lane();
      TileColumn own;
      if (context.lane() < columns_per_warp && own_place < step.num_columns) {
        own = context.load(call.plan.columns + step.column_begin + own_place);
        columns.set(own_place, own);
      }
      const auto row_of_column = [&](int column, const HeadRows<const bfloat16>& vectors) -> const bfloat16* {
        const std::int32_t source = context.shuffle(own.source, column % columns_per_warp);
        return column < step.num_columns ? vectors(source, head) : nullptr;
      };
      if (listed) multiply_relations(context, step);
      typename Unit::Sums products;
      stage(context, rows, step_columns, in.width, [&](int column) { return row_of_column(column, in.k); });
      context.sync();
      add_scores(context, products);
      const bool own_relation =
          related && context.lane() < step.num_columns && columns.get(context.lane()).relation >= 0;
      const bool any_relation = context.ballot(own_relation) != 0;
      context.sync();
      if (any_relation) {
        stage(context, rows, step_columns, in.width, [&](int column) -> const bfloat16* {
          const std::int32_t relation = context.shuffle(own.relation, column % columns_per_warp);
          return column < step.num_columns && relation >= 0 ? in.relation_keys(relation, head) : nullptr;
        });
        context.sync();
        add_scores(context, products);
        context.sync();
      }
      store_scores(context, products);
      const bool all_finite =
          stage(context, rows, step_columns, in.value_width, [&](int column) { return row_of_column(column, in.v); });
      const bool warp_finite = context.ballot(all_finite) == 0xFFFFFFFFu;
      if (context.lane() == 0) finite.set(context.warp(), warp_finite);
      context.sync();
      weigh(context, step, listed);
      context.sync();
      bool plain = true;
      for (int warp = 0; warp < Shape::warps; ++warp) plain = plain && finite.get(warp) != 0;
      if (plain) {
        add_values(context);
      } else {
        add_edges(context, step.num_columns);
      }
    }

    /// Rows of shared memory, those that a warp has; null stands for zeros, which also fill up the last matrix. row_at
    /// is called by all lanes together. True if all numbers that the thread copied are finite.
    template <typename RowAt>
    BOUGH_DEVICE bool stage(Context& context, const Shared<typename Shape::RowPack>& to, int count, std::int64_t width,
                            const RowAt& row_at) const {
      const int number = context.lane() % Shape::packs, per_warp = count / Shape::warps;
      float zeros = 0;  // 0 * x is 0 for every finite x
      for (int i = context.lane() / Shape::packs; i < per_warp; i += Shape::staged_at_once) {
        const int row = context.warp() * per_warp + i;
        const bfloat16* vector = row_at(row);
        if (number * Shape::pack >= matrices_of(width) * matrix_size) continue;
        typename Shape::RowPack pack;
        for (int j = 0; j < Shape::pack; ++j) pack.values[j] = bfloat16(0.f);
        if (vector != nullptr && number * Shape::pack < width) {
          pack = loaded(context, vector + number * Shape::pack, width - number * Shape::pack);
        }
        for (int j = 0; j < Shape::pack; ++j) zeros += 0.f * pack.values[j];
        to.set(row * Shape::stride + number, pack);
      }
      return zeros == 0;
    }
    BOUGH_DEVICE typename Shape::RowPack loaded(Context& context, const bfloat16* from, std::int64_t left) const {
      if (call.aligned) return context.load(reinterpret_cast<const typename Shape::RowPack*>(from));
      typename Shape::RowPack pack;
      for (int j = 0; j < Shape::pack; ++j) pack.values[j] = j < left ? context.load(from + j) : bfloat16(0.f);
      return pack;
    }

    BOUGH_DEVICE static int matrices_of(std::int64_t width) {
      return static_cast<int>((width + matrix_size - 1) / matrix_size);
    }

    /// Products of the queries with the rows that are staged: a warp takes 16 of them and every other 16 features.
    BOUGH_DEVICE void add_scores(Context& context, typename Unit::Sums& products) const {
      constexpr int per_matrix = matrix_size / Shape::pack, columns_of_matrices = step_columns / matrix_size;
      const int first_row = context.warp() % columns_of_matrices * matrix_size;
      for (int i = context.warp() / columns_of_matrices; i < matrices_of(call.in.width); i += Shape::score_parts) {
        const auto left = Unit::left(context, queries, i * per_matrix, Shape::stride);
        const auto right =
            Unit::right_of_rows(context, rows, first_row * Shape::stride + i * per_matrix, Shape::stride);
        Unit::add_product(context, products, left, right);
      }
    }
    BOUGH_DEVICE void store_scores(Context& context, const typename Unit::Sums& products) const {
      constexpr int columns_of_matrices = step_columns / matrix_size;
      const int part = context.warp() / columns_of_matrices;
      Unit::store(context, products, scores,
                  part * tile_lanes * Shape::score_stride + context.warp() % columns_of_matrices * matrix_size,
                  Shape::score_stride);
    }
    BOUGH_DEVICE float score(int lane, int column) const {
      float sum = 0;
      for (int part = 0; part < Shape::score_parts; ++part) {
        sum += scores.get((part * tile_lanes + lane) * Shape::score_stride + column);
      }
      return sum;
    }

    BOUGH_DEVICE void multiply_relations(Context& context, const TileStep& step) const {
      const AttentionInputs<bfloat16>& in = call.in;
      for (int first = 0; first < step.num_relations; first += step_columns) {
        const int count = step.num_relations - first;
        const std::int32_t own = context.lane() < count
                                     ? context.load(call.plan.relations + step.relation_begin + first + context.lane())
                                     : 0;
        stage(context, rows, step_columns, in.width, [&](int listed) -> const bfloat16* {
          const std::int32_t relation = context.shuffle(own, listed % warp_size);
          return listed < count ? in.relation_keys(relation, head) : nullptr;
        });
        context.sync();
        typename Unit::Sums products;
        add_scores(context, products);
        store_scores(context, products);
        context.sync();
        for (int i = 0; i < quad_lanes; ++i) {
          const int lane = context.warp() * quad_lanes + i;
          relation_products.set(lane * step_relations + first + context.lane(), score(lane, context.lane()));
        }
        context.sync();
      }
    }

    /// Turns scores into weights relative to the largest score so far: a thread for each column, for four lanes.
    BOUGH_DEVICE void weigh(Context& context, const TileStep& step, bool listed) {
      const AttentionInputs<bfloat16>& in = call.in;
      const bool inside = context.lane() < step.num_columns;
      const TileColumn column = inside ? columns.get(context.lane()) : TileColumn{};
      RelationPlaces places = no_relation_places;
      if (listed && inside) {
        places = context.load(call.plan.relation_places + std::int64_t{step.column_begin} * quads +
                              context.warp() * step.num_columns + context.lane());
      }
      for (int i = 0; i < quad_lanes; ++i) {
        const int lane = context.warp() * quad_lanes + i;
        const bool edge = inside && (column.mask >> lane & 1u) != 0;
        float sum = 0;
        if (edge) {
          sum = score(lane, context.lane());
          const RelationPlaces place = place_of_lane(places, i);
          if (place < step_relations) sum += relation_products.get(lane * step_relations + static_cast<int>(place));
        }
        const float p = state.take(context, i, edge, sum * in.scale);
        const std::int32_t row = context.shuffle(lane_row, lane);
        const bool stays =
            edge && (!in.dropout.active() || keeps_weight(context, in.dropout, column.source, row, head, 0));
        const float factor = in.dropout.active() ? static_cast<float>(in.dropout.scale) : 1.f;
        weights.set(lane * Shape::weight_stride + context.lane(), bfloat16(stays ? p * factor : 0.f));
      }
    }

    /// Weights times values: a warp takes every fourth 16 features for all lanes, then the lanes that are its own.
    BOUGH_DEVICE void add_values(Context& context) {
      constexpr int in_rows = matrix_size / Shape::pack, in_sums = matrix_size / SumShape::pack;
      for (int i = context.warp(); i < matrices_of(call.in.value_width); i += Shape::warps) {
        typename Unit::Sums products;
        for (int first = 0; first < step_columns; first += matrix_size) {
          const auto left = Unit::left(context, weights, first, Shape::weight_stride);
          const auto right = Unit::right(context, rows, first * Shape::stride + i * in_rows, Shape::stride);
          Unit::add_product(context, products, left, right);
        }
        Unit::store(context, products, value_products, i * in_sums, SumShape::stride);
      }
      context.sync();
      const int number = context.lane() % SumShape::packs, group = context.lane() / SumShape::packs;
      if (number * SumShape::pack >= call.in.value_width) return;
      for (int i = 0; i < quad_lanes; ++i) {
        if (i % SumShape::groups != group) continue;
        const auto product = value_products.get((context.warp() * quad_lanes + i) * SumShape::stride + number);
        for (int j = 0; j < SumShape::pack; ++j) state.sums.sums[i].values[j] += product.values[j];
      }
    }

    /// Where a value is not finite, 0 times it would spoil lanes that do not have the edge.
    BOUGH_DEVICE void add_edges(Context& context, int count) {
      constexpr int halves = Shape::pack / SumShape::pack;
      static_assert(halves == 2);
      const int number = context.lane() % SumShape::packs;
      if (number * SumShape::pack >= call.in.value_width) return;
      for (int row = context.lane() / SumShape::packs; row < count; row += SumShape::groups) {
        const auto pack = rows.get(row * Shape::stride + number / halves);
        const std::uint32_t edges = columns.get(row).mask >> context.warp() * quad_lanes;
        for (int i = 0; i < quad_lanes; ++i) {
          if ((edges >> i & 1u) == 0) continue;
          const float weight = weights.get((context.warp() * quad_lanes + i) * Shape::weight_stride + row);
          for (int j = 0; j < SumShape::pack; ++j) {
            const float lower = pack.values[j], upper = pack.values[j + SumShape::pack];
            state.sums.sums[i].values[j] += weight * (number % halves == 0 ? lower : upper);
          }
        }
      }
    }
  };
};

/// Writes the rows that tiles have. The widths fit. DeviceError where tensor cores do not take bfloat16.
template <typename Queue>
void attend_tiles_on_tensor_cores(Queue& queue, const TileView& plan, const AttentionInputs<bfloat16>& in,
                                  const AttentionOutputs<bfloat16>& result) {
  const auto partials = queue.template scratch<float>(plan.split_rows.num_partials * in.heads *
                                                      (partial_header<bfloat16> + in.value_width));
  const auto launch = [&]<typename Shape>(Shape) {
    using Body = AttendTilesOnTensorCores<Shape>;
    static_assert(shared_bytes<typename Shape::RowPack>(tile_lanes * Shape::stride) % 32 == 0 &&
                  shared_bytes<bfloat16>(tile_lanes * Shape::weight_stride) % 32 == 0 &&
                  shared_bytes<float>(Shape::score_parts * tile_lanes * Shape::score_stride) % 32 == 0);
    if (!queue.template has_matrix_unit<Body>()) {
      throw DeviceError("graph_attention",
                        "has no tensor cores for bfloat16 on this GPU in this build; they need compute capability 8.0 "
                        "and an entry of CMAKE_CUDA_ARCHITECTURES from 80 on; leave tensor_cores out");
    }
    constexpr std::int64_t pack = Shape::pack;
    const auto in_whole_packs = [](const auto& rows) {
      return reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && rows.row_stride % pack == 0 &&
             rows.head_stride % pack == 0;
    };
    const bool aligned = in.width % pack == 0 && in.value_width % pack == 0 && in_whole_packs(in.q) &&
                         in_whole_packs(in.k) && in_whole_packs(in.v) && in_whole_packs(in.relation_keys) &&
                         in_whole_packs(result.out);
    queue.launch({.name = "graph_attention_tensor_cores",
                  .num_blocks = plan.num_tiles * in.heads,
                  .block_size = Body::block_size,
                  .shared_bytes = Body::shared_bytes_of(static_cast<bool>(in.relation_keys))},
                 Body{plan, in, result, partials.data(), aligned});
  };
  static_assert(most_tile_features<bfloat16> == 128);
  if (in.width <= 64 && in.value_width <= 64) {
    launch(MatrixTileShape<64>{});
  } else {
    launch(MatrixTileShape<128>{});
  }
  merge_attention(queue, plan.split_rows, in, result, partials.data());
}

}  // namespace bough::simt
