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
  T* top;
  T* total;
  T* sums;

  static std::int64_t size(std::int64_t padded_value_width) { return tile_lanes * (2 + padded_value_width); }
  static TileState at(T* memory) { return {memory, memory + tile_lanes, memory + 2 * tile_lanes}; }
};

/// Scores of the piece; where there is no edge they may be anything. Raises `top` to the largest of each lane.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void piece_scores(D d, const AttentionPlan& plan, const AttentionPlan::Piece& piece,
                             const TileInputs<T>& tile, T* top) {
  const std::uint16_t* masks = plan.column_masks.data() + piece.column_begin;
  const bool mixed = add_mixed_relations(d, plan, piece, tile);
  tile.multiply_keys(d, piece, mixed);
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    auto most = hn::LoadU(d, top + lane);
    for (std::int64_t c = 0; c < piece.num_columns; ++c) {
      const auto score = hn::LoadU(d, tile.scores + c * tile_lanes + lane);
      most = hn::IfThenElse(mask_of_vector(d, masks[c], v), hn::Max(most, score), most);
    }
    hn::StoreU(most, d, top + lane);
  }
}

/// Replaces scores by exponentials relative to the new largest score and rescales what was summed before.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void exponentiate(D d, std::int64_t columns, const std::uint16_t* masks, T* scores, const T* new_top,
                             bool first, std::int64_t value_width, const TileState<T>& state) {
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    // All scores so far may be -infinity; what they are relative to must be finite.
    const auto base = hn::Max(hn::LoadU(d, new_top + lane), hn::Set(d, std::numeric_limits<T>::lowest()));
    auto total = hn::Zero(d);
    for (std::int64_t c = 0; c < columns; ++c) {
      T* place = scores + c * tile_lanes + lane;
      const auto p = hn::IfThenElseZero(mask_of_vector(d, masks[c], v),
                                        simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, place), base)));
      total = hn::Add(total, p);
      hn::StoreU(p, d, place);
    }
    if (!first) {
      const auto factor = simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, state.top + lane), base));
      total = hn::MulAdd(factor, hn::LoadU(d, state.total + lane), total);
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
    hn::StoreU(total, d, state.total + lane);
  }
  std::copy(new_top, new_top + tile_lanes, state.top);
}

/// sums += weights times values, edge by edge: where a value is not finite, 0 times it would spoil lanes that do not
/// have the edge.
template <class D, typename T = hn::TFromD<D>>
void add_values_of_edges(D d, const AttentionPlan& plan, const AttentionPlan::Piece& piece, const T* weights,
                         const T* values, std::int64_t value_width, T* sums) {
  for (std::int64_t c = 0; c < piece.num_columns; ++c) {
    const auto column = static_cast<std::size_t>(piece.column_begin + c);
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
      if ((plan.column_masks[column] >> lane & 1) == 0) continue;
      const T* value = values + row_of_lane(plan, column, lane) * value_width;
      const auto w = hn::Set(d, weights[c * tile_lanes + lane]);
      T* sum = sums + lane * value_width;
      for (std::int64_t j = 0; j < value_width; j += vector_lanes<T>) {
        hn::StoreU(hn::MulAdd(w, hn::LoadU(d, value + j), hn::LoadU(d, sum + j)), d, sum + j);
      }
    }
  }
}

/// Results of complete rows, states of partial ones.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void finish_tile(D d, const AttentionPlan::Tile& tile, const AttentionInputs<T>& in, std::int64_t head,
                            const TileState<T>& state, std::int64_t value_width, T* partials,
                            const AttentionOutputs<T>& result, bool stream) {
  HWY_ALIGN T factors[tile_lanes];
  HWY_ALIGN T log_sums[tile_lanes];
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    const auto total = hn::LoadU(d, state.total + lane);
    const auto nothing = hn::Eq(total, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(nothing, hn::Div(hn::Set(d, T{1}), total)), d, factors + lane);
    hn::Store(hn::IfThenElse(nothing, hn::Set(d, std::numeric_limits<T>::infinity()),
                             hn::Add(hn::LoadU(d, state.top + lane), simd::log(d, total))),
              d, log_sums + lane);
  }
  for (std::int64_t lane = 0; lane < tile.num_lanes; ++lane) {
    const T* sum = state.sums + lane * value_width;
    if (const std::int64_t partial = tile.partials[static_cast<std::size_t>(lane)]; partial >= 0) {
      T* part = partials + (partial * in.heads + head) * (2 + in.value_width);
      part[0] = state.top[lane];
      part[1] = state.total[lane];
      std::copy(sum, sum + in.value_width, part + 2);
      continue;
    }
    const std::int64_t row = tile.rows[static_cast<std::size_t>(lane)];
    simd::stream_scaled(d, stream, factors[lane], sum, result.out(row, head), in.value_width);
    *result.log_sum(row, head) = log_sums[lane];
  }
}

/// What the tiles of a range are computed with, for some heads.
template <typename T>
struct RangeOfTiles {
  template <class D>
  RangeOfTiles(D d, const AttentionPlan& plan, const AttentionPlan::Range& range, const AttentionInputs<T>& in,
               HeadBlock heads)
      : tile(d, plan, range, in, heads),
        value_width(round_up(in.value_width, vector_lanes<T>)),
        first_tile(range.tile_begin),
        one_window(range.window_end - range.window_begin == 1),
        values(heads.count * tile.window_capacity * value_width),
        value_row_memory(2 * TileInputs<T>::most_columns),
        value_rows{value_row_memory.data(), value_row_memory.data() + TileInputs<T>::most_columns},
        states((one_window ? 1 : (range.tile_end - range.tile_begin) * heads.count) * TileState<T>::size(value_width)),
        stream(streams_results(plan, in.heads * in.value_width * static_cast<std::int64_t>(sizeof(T)))) {}

  TileState<T> state(std::int64_t number, std::int64_t head) const {
    const std::int64_t place = one_window ? 0 : (number - first_tile) * tile.heads.count + head;
    return TileState<T>::at(states.data() + place * TileState<T>::size(value_width));
  }

  TileInputs<T> tile;
  std::int64_t value_width;  ///< whole vectors
  std::int64_t first_tile;
  bool one_window;
  Scratch<T> values;  ///< of the window, [head, capacity, value_width]
  Scratch<const T*> value_row_memory;
  std::array<const T**, 2> value_rows;  ///< of the columns of the piece at hand, for each half of the lanes
  Scratch<T> states;                    ///< of one tile, or of all tiles and heads of a range with several windows
  bool stream;                          ///< results go past the cache
  bool finite = true;                   ///< all values of the window
};

/// One tile and head in one window: pieces [begin, end).
template <class D, typename T = hn::TFromD<D>>
void attend_tile(D d, const AttentionPlan& plan, const AttentionPlan::Window& window, std::int32_t begin,
                 std::int32_t end, const AttentionInputs<T>& in, std::int64_t h, const TileOfHead& next,
                 NextWindow<T>& next_window, const RangeOfTiles<T>& work, T* partials,
                 const AttentionOutputs<T>& result) {
  const std::int32_t number = plan.pieces[static_cast<std::size_t>(begin)].tile;
  const AttentionPlan::Tile& lanes = plan.tiles[static_cast<std::size_t>(number)];
  const TileInputs<T>& tile = work.tile;
  const TileState<T> state = work.state(number, h);
  const std::int64_t head = tile.heads.first + h, value_width = work.value_width;
  const T* values = work.values.data() + h * tile.window_capacity * value_width;
  tile.load_queries(d, plan, lanes, in, h);
  next.prefetch(in.q, tile.heads, in.width);
  for (std::int32_t p = begin; p < end; ++p) {
    const AttentionPlan::Piece& piece = plan.pieces[static_cast<std::size_t>(p)];
    HWY_ALIGN T top[tile_lanes];
    if (piece.first) {
      std::fill(top, top + tile_lanes, -std::numeric_limits<T>::infinity());
    } else {
      std::copy(state.top, state.top + tile_lanes, top);
    }
    tile.load_key_rows(d, plan, piece, in, h);
    next_window.prefetch_some(in);
    piece_scores(d, plan, piece, tile, top);
    exponentiate(d, piece.num_columns, plan.column_masks.data() + piece.column_begin, tile.scores, top, piece.first,
                 value_width, state);
    next_window.prefetch_some(in);
    if (in.dropout.active()) drop_weights(d, plan, window, piece, lanes, in.dropout, head, tile.scores);
    if (work.finite) {
      find_rows(plan, piece, values, value_width, work.value_rows);
      add_to_lanes(d, plan, piece, piece.first, tile.scores, work.value_rows, value_width, state.sums);
    } else {
      if (piece.first) std::fill(state.sums, state.sums + tile_lanes * value_width, T{0});
      add_values_of_edges(d, plan, piece, tile.scores, values, value_width, state.sums);
    }
    next_window.prefetch_some(in);
  }
  if (plan.pieces[static_cast<std::size_t>(end) - 1].last) {
    finish_tile(d, lanes, in, head, state, value_width, partials, result, work.stream);
  }
}

template <typename T>
void attend_range(const AttentionPlan& plan, const AttentionInputs<T>& in, const TileTask& task, const TileTask& next,
                  T* partials, const AttentionOutputs<T>& result) {
  const TileTag<T> d;
  const HeadBlock heads = task.heads;
  const AttentionPlan::Range& range = plan.ranges[static_cast<std::size_t>(task.range)];
  RangeOfTiles<T> work(d, plan, range, in, heads);
  for (std::int32_t w = range.window_begin; w < range.window_end; ++w) {
    const AttentionPlan::Window& window = plan.windows[static_cast<std::size_t>(w)];
    work.tile.load_keys(d, plan, window, in);
    work.finite =
        load_window(d, plan, window, in.v, heads, in.value_width, work.tile.window_capacity, work.values.data());
    const bool last = w + 1 == range.window_end, again = next.range == task.range;
    NextWindow<T> next_window(plan, last && again ? range.window_begin : w + 1, last ? next.heads : heads,
                              heads.count * (window.piece_end - window.piece_begin));
    for_tiles_of_window(
        plan, window, heads,
        [&](std::int32_t begin, std::int32_t end, std::int64_t h, const TileOfHead& next_tile) HWY_ATTR {
          attend_tile(d, plan, window, begin, end, in, h, next_tile, next_window, work, partials, result);
        });
  }
  hwy::FlushStream();
}

/// Puts the parts of a row together, in their order.
template <typename T>
void merge_parts(const SplitRow& row, const AttentionInputs<T>& in, std::int64_t head, const T* partials,
                 const AttentionOutputs<T>& result) {
  const TileTag<T> d;
  const std::int64_t size = 2 + in.value_width;
  const auto part = [&](std::int32_t i) { return partials + ((row.first_partial + i) * in.heads + head) * size; };
  T top = -std::numeric_limits<T>::infinity(), total = 0;
  for (std::int32_t i = 0; i < row.num_partials; ++i) top = std::max(top, part(i)[0]);
  const T base = std::max(top, std::numeric_limits<T>::lowest());
  T* out = result.out(row.row, head);
  std::fill(out, out + in.value_width, T{0});
  for (std::int32_t i = 0; i < row.num_partials; ++i) {
    const T factor = std::exp(part(i)[0] - base);
    total += factor * part(i)[1];
    simd::add_scaled(d, factor, part(i) + 2, out, in.value_width);
  }
  simd::store_scaled(d, total == 0 ? T{0} : 1 / total, out, out, in.value_width);
  *result.log_sum(row.row, head) = total == 0 ? std::numeric_limits<T>::infinity() : top + std::log(total);
}

TileFunctions<float> tile_functions_float() { return {attend_range<float>, merge_parts<float>}; }
TileFunctions<double> tile_functions_double() { return {attend_range<double>, merge_parts<double>}; }

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

/// What a task's windows may take: half of the second-level cache of a large core.
constexpr std::int64_t cache_bytes = std::int64_t{1} << 20;
/// Tasks that each thread should get, so that they finish together.
constexpr std::int64_t tasks_per_thread = 16;

}  // namespace

std::int64_t heads_per_task(const AttentionPlan& plan, std::int64_t parts, std::int64_t heads,
                            std::int64_t bytes_per_source) {
  const std::int64_t sources = static_cast<std::int64_t>(plan.window_sources.size()),
                     windows = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.windows.size()));
  const std::int64_t window_bytes = std::max<std::int64_t>(1, sources / windows * bytes_per_source);
  const std::int64_t fit = std::clamp<std::int64_t>(cache_bytes / window_bytes, 1, std::max<std::int64_t>(1, heads));
  const std::int64_t blocks = num_chunks(tasks_per_thread * num_threads(), std::max<std::int64_t>(1, parts));
  return std::clamp<std::int64_t>(heads / std::max<std::int64_t>(1, blocks), 1, fit);
}

bool streams_results(const AttentionPlan& plan, std::int64_t bytes_per_row) {
  return static_cast<std::int64_t>(plan.tiles.size()) * AttentionPlan::lanes * bytes_per_row >= streamed_bytes;
}

template <typename T>
void attend_tiles(Cpu, const AttentionPlan& plan, const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
  const TileFunctions<T> functions = tile_functions<T>();
  const Scratch<T> partials(plan.num_partials * in.heads * (2 + in.value_width));
  const auto ranges = static_cast<std::int64_t>(plan.ranges.size());
  const std::int64_t together = heads_per_task(plan, ranges, in.heads, (in.width + in.value_width) * sizeof(T));
  const std::int64_t blocks = num_chunks(in.heads, together);
  const auto task = [&](std::int64_t i) -> TileTask {
    const std::int64_t first = i % blocks * together;
    return {i / blocks, {first, std::min(together, in.heads - first)}};
  };
  parallel_chunks(ranges * blocks, 1, [&](std::int64_t i, std::int64_t) {
    functions.attend_range(plan, in, task(i), task(i + 1), partials.data(), result);
  });
  parallel_chunks(static_cast<std::int64_t>(plan.split_rows.size()), 8, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t head = 0; head < in.heads; ++head) {
        functions.merge_parts(plan.split_rows[static_cast<std::size_t>(i)], in, head, partials.data(), result);
      }
    }
  });
}

template void attend_tiles(Cpu, const AttentionPlan&, const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attend_tiles(Cpu, const AttentionPlan&, const AttentionInputs<double>&, const AttentionOutputs<double>&);

}  // namespace bough
#endif
