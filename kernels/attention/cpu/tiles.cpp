#include "kernels/attention/cpu/tiles.h"

#include <array>
#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/cpu/streaming.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/cpu/tiles.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention/cpu/tile-inl.h"
#include "kernels/attention/cpu/tile_inputs-inl.h"
#include "kernels/attention/cpu/tile_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What is known of the rows of a tile after some of its columns: 16 largest scores, 16 sums of exponentials relative
/// to them, 16 weighted sums.
template <typename T>
struct TileState {
  T* row_max;
  T* row_sum;
  T* sums;

  static std::int64_t size(std::int64_t padded_value_width) { return tile_lanes * (2 + padded_value_width); }
  static TileState at(T* memory) { return {memory, memory + tile_lanes, memory + 2 * tile_lanes}; }
};

/// Scores of the column block; where there is no edge they may be anything. Raises row_max to the largest of each lane.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void block_scores(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block,
                             const TileInputs<T>& tile, T* row_max) {
  const LaneMask* masks = plan.column_masks.data() + block.column_begin;
  const bool mixed = add_mixed_relations(d, plan, block, tile);
  tile.multiply_keys(d, block, mixed);
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    auto most = hn::LoadU(d, row_max + lane);
    for (std::int64_t c = 0; c < block.num_columns; ++c) {
      const auto score = hn::LoadU(d, tile.scores + c * tile_lanes + lane);
      most = hn::IfThenElse(mask_of_vector(d, masks[c], v), hn::Max(most, score), most);
    }
    hn::StoreU(most, d, row_max + lane);
  }
}

/// Replaces scores by exponentials relative to the new largest score and rescales what was summed before.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void exponentiate(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block, T* scores,
                             const T* new_max, std::int64_t value_width, const TileState<T>& state) {
  const LaneMask* masks = plan.column_masks.data() + block.column_begin;
  const std::int64_t columns = block.num_columns;
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    // All scores so far may be -infinity; what they are relative to must be finite.
    const auto base = hn::Max(hn::LoadU(d, new_max + lane), hn::Set(d, std::numeric_limits<T>::lowest()));
    auto row_sum = hn::Zero(d);
    for (std::int64_t c = 0; c < columns; ++c) {
      T* place = scores + c * tile_lanes + lane;
      const auto p = hn::IfThenElseZero(mask_of_vector(d, masks[c], v),
                                        simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, place), base)));
      row_sum = hn::Add(row_sum, p);
      hn::StoreU(p, d, place);
    }
    if (!block.first) {
      const auto factor = simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, state.row_max + lane), base));
      row_sum = hn::MulAdd(factor, hn::LoadU(d, state.row_sum + lane), row_sum);
      T factors[vector_lanes<T>];
      hn::StoreU(factor, d, factors);
      for (std::int64_t i = 0; i < vector_lanes<T>; ++i) {
        T* sum = state.sums + (lane + i) * value_width;
        const auto f = hn::Set(d, factors[i]);
        for (std::int64_t j = 0; j < value_width; j += vector_lanes<T>) {
          hn::StoreU(hn::Mul(f, hn::LoadU(d, sum + j)), d, sum + j);
        }
      }
    }
    hn::StoreU(row_sum, d, state.row_sum + lane);
  }
  std::copy(new_max, new_max + tile_lanes, state.row_max);
}

/// sums += weights times values, edge by edge: where a value is not finite, 0 times it would spoil lanes that do not
/// have the edge.
template <class D, typename T = hn::TFromD<D>>
void add_values_of_edges(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block, const T* weights,
                         const T* values, std::int64_t value_width, T* sums) {
  if (block.first) std::fill(sums, sums + tile_lanes * value_width, T{0});
  for_edges_of_block(plan, block, [&](std::int64_t c, std::int64_t lane) HWY_ATTR {
    const T* value = values + row_of_lane(plan, block.column_begin + c, lane) * value_width;
    simd::add_scaled(d, weights[c * tile_lanes + lane], value, sums + lane * value_width, value_width);
  });
}

/// Drops weights of one head: sets them to 0 or scales them.
template <class D, typename T = hn::TFromD<D>>
void drop_weights(D d, const AttentionPlan& plan, const TilePass& pass, const AttentionPlan::ColumnBlock& block,
                  const AttentionDropout& dropout, T* weights) {
  std::array<LaneMask, AttentionPlan::most_block_columns> dropout_masks;
  find_dropout_masks(plan, pass, block, dropout, dropout_masks.data());
  const auto scale = hn::Set(d, static_cast<T>(dropout.scale));
  for (std::int64_t c = 0; c < block.num_columns; ++c) {
    for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
      T* weight = weights + c * tile_lanes + v * vector_lanes<T>;
      const auto mask = mask_of_vector(d, dropout_masks[static_cast<std::size_t>(c)], v);
      hn::StoreU(hn::IfThenElseZero(mask, hn::Mul(scale, hn::LoadU(d, weight))), d, weight);
    }
  }
}

/// What the tiles of a work item are computed with, for some heads.
template <typename T>
struct ForwardWork {
  template <class D>
  ForwardWork(D d, const AttentionPlan& plan, const AttentionPlan::WorkItem& item, const AttentionInputs<T>& in,
              HeadBlock heads)
      : tile(d, plan, item, in, heads),
        value_width(round_up(in.value_width, vector_lanes<T>)),
        first_tile(item.tile_begin),
        one_block(item.staged_end - item.staged_begin == 1),
        values(heads.count * tile.block_capacity * value_width),
        value_row_memory(lane_groups * TileInputs<T>::most_columns),
        value_rows{value_row_memory.data(), value_row_memory.data() + TileInputs<T>::most_columns},
        states((one_block ? 1 : (item.tile_end - item.tile_begin) * heads.count) * TileState<T>::size(value_width)),
        stream(streams_results(plan, in.heads * in.value_width * static_cast<std::int64_t>(sizeof(T)))) {}

  TileState<T> state(const TilePass& pass) const {
    const std::int64_t place = one_block ? 0 : (pass.tile_number - first_tile) * tile.heads.count + pass.h;
    return TileState<T>::at(states.data() + place * TileState<T>::size(value_width));
  }

  TileInputs<T> tile;
  std::int64_t value_width;  ///< whole vectors
  std::int64_t first_tile;
  bool one_block;
  Scratch<T> values;  ///< of the staged block, [head, capacity, value_width]
  Scratch<const T*> value_row_memory;
  std::array<const T**, lane_groups> value_rows;  ///< of the columns at hand, for each lane group
  Scratch<T> states;   ///< of one tile, or of all tiles and heads of a work item with several staged blocks
  bool stream;         ///< results go past the cache
  bool finite = true;  ///< all values of the staged block
};

/// Results of complete rows, partial results of split rows.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void finish_tile(D d, const TileForward<T>& call, const TilePass& pass, const TileState<T>& state,
                            const ForwardWork<T>& work) {
  HWY_ALIGN T factors[tile_lanes];
  HWY_ALIGN T lse[tile_lanes];
  const std::int64_t head = pass.head(), value_width = call.in.value_width;
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    const auto row_sum = hn::LoadU(d, state.row_sum + lane);
    const auto nothing = hn::Eq(row_sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(nothing, hn::Div(hn::Set(d, T{1}), row_sum)), d, factors + lane);
    hn::Store(hn::IfThenElse(nothing, hn::Set(d, std::numeric_limits<T>::infinity()),
                             hn::Add(hn::LoadU(d, state.row_max + lane), simd::log(d, row_sum))),
              d, lse + lane);
  }
  for (std::int64_t lane = 0; lane < pass.tile.num_lanes; ++lane) {
    const T* sum = state.sums + lane * work.value_width;
    if (const std::int64_t number = pass.tile.partials[static_cast<std::size_t>(lane)]; number >= 0) {
      T* partial = call.partial(number, head);
      partial[0] = state.row_max[lane];
      partial[1] = state.row_sum[lane];
      std::copy(sum, sum + value_width, partial + 2);
      continue;
    }
    const std::int64_t row = pass.tile.rows[static_cast<std::size_t>(lane)];
    simd::stream_scaled(d, work.stream, factors[lane], sum, call.result.out(row, head), value_width);
    *call.result.lse(row, head) = lse[lane];
  }
}

template <class D, typename T = hn::TFromD<D>>
void attend_tile(D d, const TileForward<T>& call, const TilePass& pass, NextBlock<T>& next_block,
                 const ForwardWork<T>& work) {
  const AttentionPlan& plan = call.plan;
  const AttentionInputs<T>& in = call.in;
  const TileInputs<T>& tile = work.tile;
  const TileState<T> state = work.state(pass);
  const std::int64_t value_width = work.value_width;
  const T* values = work.values.data() + pass.h * tile.block_capacity * value_width;
  tile.load_queries(d, plan, pass.tile, in, pass.h);
  pass.prefetch_next(in.q, in.width);
  for (std::int32_t b = pass.block_begin; b < pass.block_end; ++b) {
    const AttentionPlan::ColumnBlock& block = plan.column_blocks[static_cast<std::size_t>(b)];
    HWY_ALIGN T row_max[tile_lanes];
    if (block.first) {
      std::fill(row_max, row_max + tile_lanes, -std::numeric_limits<T>::infinity());
    } else {
      std::copy(state.row_max, state.row_max + tile_lanes, row_max);
    }
    tile.load_key_rows(d, plan, block, in, pass.h);
    next_block.prefetch_some(in);
    block_scores(d, plan, block, tile, row_max);
    exponentiate(d, plan, block, tile.scores, row_max, value_width, state);
    next_block.prefetch_some(in);
    if (in.dropout.active()) drop_weights(d, plan, pass, block, in.dropout, tile.scores);
    if (work.finite) {
      find_rows(plan, block, values, value_width, work.value_rows);
      add_to_lanes(d, plan, block, block.first, tile.scores, work.value_rows, value_width, state.sums);
    } else {
      add_values_of_edges(d, plan, block, tile.scores, values, value_width, state.sums);
    }
    next_block.prefetch_some(in);
  }
  if (plan.column_blocks[static_cast<std::size_t>(pass.block_end) - 1].last) finish_tile(d, call, pass, state, work);
}

template <typename T>
void attend_work_item(const TileForward<T>& call, const TileTask& task, const TileTask& next) {
  const TileTag<T> d;
  const auto& [plan, in, result, partials] = call;
  const HeadBlock heads = task.heads;
  const AttentionPlan::WorkItem& item = plan.work_items[static_cast<std::size_t>(task.work_item)];
  ForwardWork<T> work(d, plan, item, in, heads);
  for (std::int32_t s = item.staged_begin; s < item.staged_end; ++s) {
    const AttentionPlan::StagedBlock& staged = plan.staged_blocks[static_cast<std::size_t>(s)];
    work.tile.load_keys(d, plan, staged, in);
    work.finite =
        stage_block(d, plan, staged, in.v, heads, in.value_width, work.tile.block_capacity, work.values.data());
    const bool last = s + 1 == item.staged_end, again = next.work_item == task.work_item;
    NextBlock<T> next_block(plan, last && again ? item.staged_begin : s + 1, last ? next.heads : heads,
                            heads.count * (staged.column_block_end - staged.column_block_begin));
    for_tiles_of_block(plan, staged, heads,
                       [&](const TilePass& pass) HWY_ATTR { attend_tile(d, call, pass, next_block, work); });
  }
  hwy::FlushStream();
}

/// Puts the partial results of a split row together, in their order.
template <typename T>
void merge_partials(const TileForward<T>& call, const SplitAttentionRow& row, std::int64_t head) {
  const TileTag<T> d;
  const std::int64_t value_width = call.in.value_width;
  const auto partial = [&](std::int32_t i) { return call.partial(row.first_partial + i, head); };
  T row_max = -std::numeric_limits<T>::infinity(), row_sum = 0;
  for (std::int32_t i = 0; i < row.num_partials; ++i) row_max = std::max(row_max, partial(i)[0]);
  const T base = std::max(row_max, std::numeric_limits<T>::lowest());
  T* out = call.result.out(row.row, head);
  std::fill(out, out + value_width, T{0});
  for (std::int32_t i = 0; i < row.num_partials; ++i) {
    const T factor = std::exp(partial(i)[0] - base);
    row_sum += factor * partial(i)[1];
    simd::add_scaled(d, factor, partial(i) + 2, out, value_width);
  }
  simd::store_scaled(d, row_sum == 0 ? T{0} : 1 / row_sum, out, out, value_width);
  *call.result.lse(row.row, head) = row_sum == 0 ? std::numeric_limits<T>::infinity() : row_max + std::log(row_sum);
}

TileFunctions<float> tile_functions_float() { return {attend_work_item<float>, merge_partials<float>}; }
TileFunctions<double> tile_functions_double() { return {attend_work_item<double>, merge_partials<double>}; }

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(tile_functions_float);
HWY_EXPORT(tile_functions_double);

template <typename T>
TileFunctions<T> tile_functions() {
  if constexpr (std::is_same_v<T, float>)
    return HWY_DYNAMIC_DISPATCH(tile_functions_float)();
  else
    return HWY_DYNAMIC_DISPATCH(tile_functions_double)();
}

/// What the staged blocks of a task may take: half of the second-level cache of a large core.
constexpr std::int64_t cache_bytes = std::int64_t{1} << 20;
/// Tasks that each thread should get, so that they finish together.
constexpr std::int64_t tasks_per_thread = 16;

}  // namespace

std::int64_t heads_per_task(const AttentionPlan& plan, std::int64_t parts, std::int64_t heads,
                            std::int64_t bytes_per_source) {
  const std::int64_t sources = static_cast<std::int64_t>(plan.staged_sources.size()),
                     blocks_of_plan = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.staged_blocks.size()));
  const std::int64_t block_bytes = std::max<std::int64_t>(1, sources / blocks_of_plan * bytes_per_source);
  const std::int64_t fit = std::clamp<std::int64_t>(cache_bytes / block_bytes, 1, std::max<std::int64_t>(1, heads));
  const std::int64_t blocks = num_chunks(tasks_per_thread * num_threads(), std::max<std::int64_t>(1, parts));
  return std::clamp<std::int64_t>(heads / std::max<std::int64_t>(1, blocks), 1, fit);
}

bool streams_results(const AttentionPlan& plan, std::int64_t bytes_per_row) {
  return static_cast<std::int64_t>(plan.tiles.size()) * tile_lanes * bytes_per_row >= streamed_bytes;
}

template <typename T>
void attend_tiles(Cpu, const AttentionPlan& plan, const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
  const TileFunctions<T> functions = tile_functions<T>();
  const Scratch<T> partials(plan.num_partials * in.heads * (2 + in.value_width));
  const TileForward<T> call{plan, in, result, partials.data()};
  const auto items = static_cast<std::int64_t>(plan.work_items.size());
  const std::int64_t together = heads_per_task(plan, items, in.heads, (in.width + in.value_width) * sizeof(T));
  const std::int64_t blocks = num_chunks(in.heads, together);
  const auto task = [&](std::int64_t i) -> TileTask {
    const std::int64_t first = i % blocks * together;
    return {i / blocks, {first, std::min(together, in.heads - first)}};
  };
  parallel_chunks(items * blocks, 1,
                  [&](std::int64_t i, std::int64_t) { functions.attend_work_item(call, task(i), task(i + 1)); });
  parallel_chunks(static_cast<std::int64_t>(plan.split_rows.size()), 8, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t head = 0; head < in.heads; ++head) {
        functions.merge_partials(call, plan.split_rows[static_cast<std::size_t>(i)], head);
      }
    }
  });
}

template void attend_tiles(Cpu, const AttentionPlan&, const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attend_tiles(Cpu, const AttentionPlan&, const AttentionInputs<double>&, const AttentionOutputs<double>&);

}  // namespace bough
#endif
