#pragma once

#include <cmath>
#include <limits>

#include "kernels/simt/attention_tile.h"
#include "kernels/simt/graph_attention.h"

/// Graph attention on dense tiles: a block for each tile and head reads every source of its 16 rows once. Takes
/// relation keys and dropout, no other options.
namespace bough::simt {

template <typename Shape>
struct AttendTiles {
  static constexpr int block_size = Shape::block_size;
  using T = typename Shape::Number;

  TileView plan;
  AttentionInputs<T> in;
  AttentionOutputs<T> result;
  T* partials = nullptr;  ///< [num_partials, heads, partial_header + value_width]
  bool aligned = false;

  static std::size_t shared_bytes_of(bool relations) {
    return tile_inputs_bytes<Shape>(relations) + shared_bytes<Quad<T>>(quad_lanes * step_columns) +
           shared_bytes<std::uint32_t>(block_size / warp_size);
  }

  /// What is known of the warp's lanes after some steps. Every thread has the total of its own columns.
  struct State {
    T top[quad_lanes], total[quad_lanes];
    LaneSums<Shape> sums;
  };

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t tile = context.block() / in.heads, head = context.block() % in.heads;
    const TileHeader header = context.load(plan.tiles + tile);
    TileInputs<Shape, Context> inputs(context, plan, in, aligned, tile, head);
    const auto weights = context.template shared<Quad<T>>(quad_lanes * step_columns);
    const auto finite = context.template shared<std::uint32_t>(block_size / warp_size);
    State state;
    for (int i = 0; i < quad_lanes; ++i) {
      state.top[i] = -std::numeric_limits<T>::infinity();
      state.total[i] = 0;
    }
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
    finish(context, inputs, tile, head, state);
  }

 private:
  /// Turns scores into weights relative to the largest score so far.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void weigh(Context& context, const TileInputs<Shape, Context>& inputs, const Weights& weights,
                          State& state) const {
    const auto scores = inputs.scores(context);
    Quad<T> weight;
    for (int i = 0; i < quad_lanes; ++i) {
      const bool edge = (scores.edges >> i & 1u) != 0;
      const T score = edge ? scores.values.values[i] : -std::numeric_limits<T>::infinity();
      const T top = mp::Max{}(state.top[i], warp_max(context, score));
      const T base = score_base(top), factor = std::exp(state.top[i] - base);
      const T p = edge ? std::exp(score - base) : T{0};
      state.total[i] = state.total[i] * factor + p;
      state.sums.scale(i, factor);
      state.top[i] = top;
      const std::int32_t row = inputs.row(context, i);
      weight.values[i] = edge ? p * inputs.kept(context, scores.column.source, row) : T{0};
    }
    weights.set(context.warp() * step_columns + context.lane(), weight);
  }

  /// Where a value is not finite, 0 times it would spoil lanes that do not have the edge.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void add_edges(Context& context, const TileInputs<Shape, Context>& inputs, int count,
                              const Weights& weights, State& state) const {
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

  /// Results of complete rows, states of partial ones.
  template <typename Context>
  BOUGH_DEVICE void finish(Context& context, const TileInputs<Shape, Context>& inputs, std::int64_t tile,
                           std::int64_t head, State& state) const {
    state.sums.merge(context);
    const int number = context.lane() % Shape::packs, group = context.lane() / Shape::packs;
    const bool stores = number * Shape::pack < in.value_width;
    const bool cut = plan.cut_rows.num_partials > 0;
    for (int i = 0; i < quad_lanes; ++i) {
      const T total = warp_sum(context, state.total[i]);
      const std::int32_t row = inputs.row(context, i);
      if (row < 0 || group != i % Shape::groups) continue;
      const std::int32_t partial =
          cut ? context.load(plan.lane_partials + tile * tile_lanes + context.warp() * quad_lanes + i) : -1;
      if (partial < 0) {
        const bool empty = total == T{0};
        if (stores) {
          store_pack<Shape>(context, result.out(row, head), number, in.value_width, aligned, state.sums.sums[i],
                            empty ? T{0} : 1 / total);
        }
        if (number == 0) {
          context.store(result.log_sum(row, head),
                        empty ? std::numeric_limits<T>::infinity() : state.top[i] + std::log(total));
        }
        continue;
      }
      T* part = partials + (partial * in.heads + head) * (partial_header<T> + in.value_width);
      if (stores) {
        store_pack<Shape>(context, part + partial_header<T>, number, in.value_width, aligned, state.sums.sums[i], T{1});
      }
      if (number == 0) {
        context.store(part, state.top[i]);
        context.store(part + 1, total);
      }
    }
  }
};

/// Writes the rows that tiles have. The widths fit.
template <typename Queue, typename T>
void attend_tiles(Queue& queue, const TileView& plan, const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
  const auto partials =
      queue.template scratch<T>(plan.cut_rows.num_partials * in.heads * (partial_header<T> + in.value_width));
  with_tile_shape<T>(in, {result.out}, [&]<typename Shape>(Shape, bool aligned) {
    using Body = AttendTiles<Shape>;
    queue.launch({.name = "graph_attention_tiles",
                  .num_blocks = plan.num_tiles * in.heads,
                  .block_size = Body::block_size,
                  .shared_bytes = Body::shared_bytes_of(static_cast<bool>(in.relation_keys))},
                 Body{plan, in, result, partials.data(), aligned});
  });
  using Merge = MergeAttention<T>;
  launch_warps(queue, "graph_attention_merge", plan.cut_rows.num_cut_rows * in.heads,
               Merge{plan.cut_rows, in.heads, in.value_width, result, partials.data()});
}

}  // namespace bough::simt
