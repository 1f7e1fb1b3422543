#pragma once

#include <cmath>
#include <limits>

#include "kernels/attention/simt/rows.h"
#include "kernels/attention/simt/tile.h"

/// Graph attention on dense tiles: a block for each tile and head reads every source of its 16 rows once. Takes
/// relation keys and dropout, no other options.
namespace bough::simt {

/// What is known of a warp's lanes after some steps. Every thread has the row_sum of its own columns only.
template <typename Shape>
struct TileState {
  using T = typename Shape::Number;
  T row_max[quad_lanes], row_sum[quad_lanes];
  LaneSums<Shape> sums;

  BOUGH_DEVICE TileState() {
    for (int i = 0; i < quad_lanes; ++i) {
      row_max[i] = -std::numeric_limits<T>::infinity();
      row_sum[i] = 0;
    }
  }

  /// Takes the score of the thread's column for lane i, if there is that edge; gives its weight relative to the largest
  /// score so far. All lanes of the warp together.
  template <typename Context>
  BOUGH_DEVICE T take(Context& context, int i, bool edge, T score_of_edge) {
    const T score = edge ? score_of_edge : -std::numeric_limits<T>::infinity();
    const T new_max = mp::Max{}(row_max[i], warp_max(context, score));
    const T base = score_base(new_max), factor = std::exp(row_max[i] - base);
    const T p = edge ? std::exp(score - base) : T{0};
    row_sum[i] = row_sum[i] * factor + p;
    sums.scale(i, factor);
    row_max[i] = new_max;
    return p;
  }

  /// Results of complete rows, states of parts of split rows. `call` is the kernel with its plan, inputs and results;
  /// `lane_row` is the row of the tile's lane with the number of the thread, or -1.
  template <typename Context, typename Call>
  BOUGH_DEVICE void finish(Context& context, const Call& call, std::int64_t tile, std::int64_t head,
                           std::int32_t lane_row) {
    const TileView& plan = call.plan;
    const auto& in = call.in;
    const auto& result = call.result;
    const bool aligned = call.aligned;
    sums.merge(context);
    const int number = context.lane() % Shape::packs, group = context.lane() / Shape::packs;
    const bool stores = number * Shape::pack < in.value_width;
    const bool split = plan.split_rows.num_partials > 0;
    for (int i = 0; i < quad_lanes; ++i) {
      const T whole = warp_sum(context, row_sum[i]);
      const std::int32_t row = context.shuffle(lane_row, context.warp() * quad_lanes + i);
      if (row < 0 || group != i % Shape::groups) continue;
      const std::int32_t partial =
          split ? context.load(plan.lane_partials + tile * tile_lanes + context.warp() * quad_lanes + i) : -1;
      if (partial < 0) {
        const bool empty = whole == T{0};
        if (stores) {
          store_pack<Shape>(context, result.out(row, head), number, in.value_width, aligned, sums.sums[i],
                            empty ? T{0} : 1 / whole);
        }
        if (number == 0) {
          context.store(result.lse(row, head),
                        empty ? std::numeric_limits<T>::infinity() : row_max[i] + std::log(whole));
        }
        continue;
      }
      T* part = call.partials + (partial * in.heads + head) * (partial_header<T> + in.value_width);
      if (stores) {
        store_pack<Shape>(context, part + partial_header<T>, number, in.value_width, aligned, sums.sums[i], T{1});
      }
      if (number == 0) {
        context.store(part, row_max[i]);
        context.store(part + 1, whole);
      }
    }
  }
};

template <typename Shape>
struct AttendTiles {
  static constexpr int block_size = Shape::block_size;
  using Stored = typename Shape::Stored;
  using T = typename Shape::Number;

  TileView plan;
  AttentionInputs<Stored> in;
  AttentionOutputs<Stored> result;
  T* partials = nullptr;  ///< [num_partials, heads, partial_header + value_width]
  bool aligned = false;

  static std::size_t shared_bytes_of(bool relations) {
    return tile_inputs_bytes<Shape>(relations) + shared_bytes<Quad<T>>(quad_lanes * step_columns) +
           shared_bytes<std::uint32_t>(block_size / warp_size);
  }

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t tile = context.block() / in.heads, head = context.block() % in.heads;
    const TileHeader header = context.load(plan.tiles + tile);
    TileInputs<Shape, Context> inputs(context, plan, in, aligned, tile, head);
    const auto weights = context.template shared<Quad<T>>(quad_lanes * step_columns);
    const auto finite = context.template shared<std::uint32_t>(block_size / warp_size);
    TileState<Shape> state;
    for (std::int32_t s = header.step_begin; s < header.step_end; ++s) {
      const TileStep step = context.load(plan.steps + s);
      context.sync();
      inputs.begin_step(context, step);
      inputs.stage_keys(context);
      context.sync();
      weigh(context, inputs, weights, state);
      context.sync();
      const bool all_finite = context.ballot(inputs.stage_values(context)) == 0xFFFFFFFFu;
      if (context.lane() == 0) finite.set(context.warp(), all_finite);
      context.sync();
      bool plain = true;
      for (int warp = 0; warp < block_size / warp_size; ++warp) plain = plain && finite.get(warp) != 0;
      if (plain) {
        state.sums.add(context, inputs.rows, step.num_columns, in.value_width, weights);
      } else {
        add_edges(context, inputs, step.num_columns, weights, state);
      }
    }
    state.finish(context, *this, tile, head, inputs.lane_row());
  }

 private:
  /// Turns scores into weights relative to the largest score so far.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void weigh(Context& context, const TileInputs<Shape, Context>& inputs, const Weights& weights,
                          TileState<Shape>& state) const {
    const auto scores = inputs.scores(context);
    Quad<T> weight;
    for (int i = 0; i < quad_lanes; ++i) {
      const bool edge = (scores.edges >> i & 1u) != 0;
      const T p = state.take(context, i, edge, scores.values.values[i]);
      const std::int32_t row = inputs.row(context, i);
      weight.values[i] = edge ? p * inputs.dropout_factor(context, scores.column.source, row) : T{0};
    }
    weights.set(context.warp() * step_columns + context.lane(), weight);
  }

  /// Where a value is not finite, 0 times it would spoil lanes that do not have the edge.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void add_edges(Context& context, const TileInputs<Shape, Context>& inputs, int count,
                              const Weights& weights, TileState<Shape>& state) const {
    const int number = context.lane() % Shape::packs;
    if (number * Shape::pack >= in.value_width) return;
    for (int row = context.lane() / Shape::packs; row < count; row += Shape::groups) {
      const Quad<T> weight = weights.get(context.warp() * step_columns + row);
      const auto pack = inputs.rows.get(row * Shape::stride + number);
      const std::uint32_t edges = inputs.columns.get(row).mask >> context.warp() * quad_lanes;
      for (int i = 0; i < quad_lanes; ++i) {
        if ((edges >> i & 1u) == 0) continue;
        for (int j = 0; j < Shape::pack; ++j) state.sums.sums[i].values[j] += weight.values[i] * pack.values[j];
      }
    }
  }
};

/// Writes the rows that tiles have. The widths fit.
template <typename Queue, typename T>
void attend_tiles(Queue& queue, const TileView& plan, const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
  const auto partials = queue.template scratch<AccumType<T>>(plan.split_rows.num_partials * in.heads *
                                                             (partial_header<T> + in.value_width));
  const auto launch = [&]<typename Shape>(Shape, bool aligned) {
    using Body = AttendTiles<Shape>;
    queue.launch({.name = "graph_attention_tiles",
                  .num_blocks = plan.num_tiles * in.heads,
                  .block_size = Body::block_size,
                  .shared_bytes = Body::shared_bytes_of(static_cast<bool>(in.relation_keys))},
                 Body{plan, in, result, partials.data(), aligned});
  };
  with_tile_shape(in, launch, result.out);
  merge_attention(queue, plan.split_rows, in, result, partials.data());
}

}  // namespace bough::simt
