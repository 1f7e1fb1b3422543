#include <array>
#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/attention/cpu/tiles.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/cpu/tiles_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention/cpu/tile-inl.h"
#include "kernels/attention/cpu/tile_inputs-inl.h"
#include "kernels/attention/cpu/tile_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What backward needs besides the inputs of the tiles: memory of one task.
template <typename T>
struct BackwardWork {
  template <class D>
  BackwardWork(D d, const AttentionPlan& plan, const AttentionPlan::WorkItem& item, const AttentionInputs<T>& in,
               const TileInputs<T>& tile)
      : width(tile.padded_width),
        value_width(round_up(in.value_width, vector_lanes<T>)),
        staged_rows(tile.heads.count * tile.block_capacity),
        first_tile(item.tile_begin),
        tiles(item.staged_end - item.staged_begin == 1 ? 1 : (item.tile_end - item.tile_begin) * tile.heads.count),
        dictionary_length(tile.has_relations ? item.dictionary_end - item.dictionary_begin : 0),
        dictionaries(tile.dictionaries),
        heads(tile.heads.count),
        num_relation_products(tile.has_relations ? tile_lanes * tile.relation_stride : 0) {
    MemoryParts<T> count(nullptr);
    place(count);
    memory = Scratch<T>(count.used());
    MemoryParts<T> parts(memory.data());
    place(parts);
    constexpr std::int64_t columns = TileInputs<T>::most_columns;
    rows_memory = Scratch<const T*>(2 * columns);
    value_rows = {rows_memory.data(), rows_memory.data() + columns};
    sums_memory = Scratch<T*>(4 * columns);
    sum_rows = {sums_memory.data(), sums_memory.data() + columns};
    relation_rows = {sums_memory.data() + 2 * columns, sums_memory.data() + 3 * columns};
    std::fill(d_dictionary, d_dictionary + heads * dictionary_length * width, T{0});
    for (std::int64_t b = 0; b < (dictionary_length > 0 ? dictionaries : 0); ++b) {
      for (std::int64_t i = 0; i < dictionary_length; ++i) {
        const std::int64_t relation = plan.dictionary_relations[static_cast<std::size_t>(item.dictionary_begin + i)];
        load_row(d, T{1}, in.relation_keys(relation, tile.heads.first + b),
                 dictionary_rows + (b * dictionary_length + i) * width, in.width);
      }
    }
  }

  void place(MemoryParts<T>& parts) {
    const std::int64_t columns = TileInputs<T>::most_columns;
    d_keys = parts.take(staged_rows * width);
    values = parts.take(staged_rows * value_width);
    d_values = parts.take(staged_rows * value_width);
    d_scores = parts.take(columns * tile_lanes);
    d_outs = parts.take(tile_lanes * value_width);
    lanes = parts.take(tile_lanes * value_width);
    d_queries = parts.take(tiles * tile_lanes * width);
    lse = parts.take(tile_lanes);
    deltas = parts.take(tile_lanes);
    dictionary_rows = parts.take(dictionaries * dictionary_length * width);
    d_dictionary = parts.take(heads * dictionary_length * width);
    d_relation_products = parts.take(num_relation_products);
  }

  T* d_queries_of(const TilePass& pass) const {
    return tiles == 1 ? d_queries : d_queries + ((pass.tile_number - first_tile) * heads + pass.h) * tile_lanes * width;
  }

  std::int64_t width, value_width;  ///< whole vectors
  std::int64_t staged_rows, first_tile, tiles, dictionary_length, dictionaries, heads, num_relation_products;
  Scratch<T> memory;
  Scratch<const T*> rows_memory;
  Scratch<T*> sums_memory;
  T* d_keys = nullptr;               ///< of the staged block, [head, capacity, width]
  T* values = nullptr;               ///< of the staged block
  T* d_values = nullptr;             ///< of the staged block
  T* d_scores = nullptr;             ///< [column * 16 + lane]
  T* d_outs = nullptr;               ///< gradients of the tile's results, row by row
  T* lanes = nullptr;                ///< the same as pack_lanes leaves them
  T* d_queries = nullptr;            ///< of one tile, or of all tiles and heads where there are several staged blocks
  T* lse = nullptr;                  ///< of the tile's rows
  T* deltas = nullptr;               ///< of the tile's rows
  T* dictionary_rows = nullptr;      ///< relations of the dictionary, row by row
  T* d_dictionary = nullptr;         ///< gradients of the dictionary's relations, for each head
  T* d_relation_products = nullptr;  ///< like TileInputs::relation_products
  std::array<const T**, lane_groups> value_rows = {};  ///< of the columns at hand, for each lane group
  std::array<T**, lane_groups> sum_rows = {};          ///< where gradients of these columns are added
  std::array<T**, lane_groups> relation_rows = {};     ///< and those of relations folded into their keys
};

/// Where all edges of its rows are at hand, the sum of p * dp over them is that of out * d_out, and the results need
/// not be read.
template <typename T>
HWY_INLINE bool needs_results(const AttentionPlan::Tile& tile, const AttentionInputs<T>& in) {
  return !tile.whole || in.dropout.active();
}

/// work.deltas[lane] = sum of out * d_out for each lane, after work.d_outs are there.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void compute_deltas(D d, const AttentionPlan::Tile& tile, const AttentionInputs<T>& in, std::int64_t head,
                               const AttentionGradients<T>& gradients, const BackwardWork<T>& work) {
  constexpr std::int64_t n = vector_lanes<T>;
  const std::int64_t whole = in.value_width / n * n;
  for (std::int64_t lane = 0; lane < tile_lanes; lane += n) {
    hn::Vec<D> sums[n];
    for (std::int64_t j = 0; j < n; ++j) {
      sums[j] = hn::Zero(d);
      if (lane + j >= tile.num_lanes) continue;
      const T* out = gradients.out(tile.rows[static_cast<std::size_t>(lane + j)], head);
      const T* d_out = work.d_outs + (lane + j) * work.value_width;
      for (std::int64_t i = 0; i < whole; i += n) {
        sums[j] = hn::MulAdd(hn::LoadU(d, out + i), hn::LoadU(d, d_out + i), sums[j]);
      }
      if (whole == in.value_width) continue;
      const simd::Part rest{in.value_width - whole};
      sums[j] = hn::MulAdd(rest.load(d, out + whole, T{0}), hn::LoadU(d, d_out + whole), sums[j]);
    }
    transpose_square(d, sums);
    for (std::int64_t j = 1; j < n; ++j) sums[0] = hn::Add(sums[0], sums[j]);
    hn::StoreU(sums[0], d, work.deltas + lane);
  }
}

/// Loads what belongs to the rows of a tile.
template <class D, typename T = hn::TFromD<D>>
void load_tile(D d, const TileBackward<T>& call, const TilePass& pass, const TileInputs<T>& inputs,
               const BackwardWork<T>& work) {
  const AttentionInputs<T>& in = call.in;
  const std::int64_t head = pass.head();
  inputs.load_queries(d, call.plan, pass.tile, in, pass.h);
  for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
    T* d_out = work.d_outs + lane * work.value_width;
    const std::int64_t row = pass.tile.rows[static_cast<std::size_t>(lane)];
    if (lane < pass.tile.num_lanes) {
      load_row(d, T{1}, call.gradients.d_out(row, head), d_out, in.value_width);
      work.lse[lane] = *call.gradients.lse(row, head);
    } else {
      std::fill(d_out, d_out + work.value_width, T{0});
      work.lse[lane] = std::numeric_limits<T>::infinity();
    }
  }
  if (needs_results(pass.tile, in)) compute_deltas(d, pass.tile, in, head, call.gradients, work);
  pack_lanes(d, work.d_outs, work.value_width, work.value_width, work.lanes);
  if (inputs.has_relations) {
    std::fill(work.d_relation_products, work.d_relation_products + tile_lanes * inputs.relation_stride, T{0});
  }
}

/// Weights of the column block (dropout included) into inputs.scores and gradients of scores into work.d_scores:
///   p = exp(score - lse),   d_score = p (dropout * d_out.v - delta),   weight = dropout * p.
/// False if the delta of a row is not finite: then its query, d_out, or a key or value of one of its edges may be so.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE bool block_gradients(D d, const TileBackward<T>& call, const TilePass& pass,
                                const AttentionPlan::ColumnBlock& block, const TileInputs<T>& inputs,
                                const BackwardWork<T>& work) {
  const AttentionPlan& plan = call.plan;
  const AttentionInputs<T>& in = call.in;
  const LaneMask* masks = plan.column_masks.data() + block.column_begin;
  const std::int64_t columns = block.num_columns;
  inputs.load_key_rows(d, plan, block, in, pass.h);
  find_rows(plan, block, work.values + pass.h * inputs.block_capacity * work.value_width, work.value_width,
            work.value_rows);
  const bool mixed = add_mixed_relations(d, plan, block, inputs), drops = in.dropout.active();
  inputs.multiply_keys(d, block, mixed);
  tile_products(d, work.lanes, {work.value_rows, block.paired_begin, block.paired_end},
                round_up(columns, column_multiple), work.value_width, false, work.d_scores);
  std::array<LaneMask, AttentionPlan::most_block_columns> dropout_masks;
  if (drops) find_dropout_masks(plan, pass, block, in.dropout, dropout_masks.data());
  const auto scale = hn::Set(d, static_cast<T>(in.dropout.scale));
  const bool knows_deltas = needs_results(pass.tile, in);
  auto zeros = hn::Zero(d);  // 0 * x is 0 for every finite x
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    T* scores = inputs.scores + lane;
    T* d_scores = work.d_scores + lane;
    const auto lse = hn::LoadU(d, work.lse + lane);
    auto delta = hn::Zero(d);
    // Where there is no edge, the score and dp may be anything.
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto mask = mask_of_vector(d, masks[c], v);
      const auto p =
          hn::IfThenElseZero(mask, simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, scores + c * tile_lanes), lse)));
      const auto dp = hn::IfThenElseZero(mask, hn::LoadU(d, d_scores + c * tile_lanes));
      delta = hn::MulAdd(p, dp, delta);
      hn::StoreU(p, d, scores + c * tile_lanes);
      hn::StoreU(dp, d, d_scores + c * tile_lanes);
    }
    if (knows_deltas) delta = hn::LoadU(d, work.deltas + lane);
    zeros = hn::MulAdd(delta, hn::Zero(d), zeros);
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto p = hn::LoadU(d, scores + c * tile_lanes);
      auto dp = hn::LoadU(d, d_scores + c * tile_lanes);
      if (drops) {
        const LaneMask dropout_mask = dropout_masks[static_cast<std::size_t>(c)];
        const auto factor = hn::IfThenElseZero(mask_of_vector(d, dropout_mask, v), scale);
        hn::StoreU(hn::Mul(p, factor), d, scores + c * tile_lanes);
        dp = hn::Mul(dp, factor);
      }
      // p is 0 where there is no edge, but the row's delta may be infinite or NaN.
      const auto d_score = hn::IfThenElseZero(mask_of_vector(d, masks[c], v), hn::Mul(p, hn::Sub(dp, delta)));
      hn::StoreU(d_score, d, d_scores + c * tile_lanes);
    }
  }
  return hn::AllTrue(d, hn::Eq(zeros, hn::Zero(d)));
}

/// Where the gradients of one tile and head are added: those of keys and values to rows of the staged block.
template <typename T>
struct GradientTargets {
  T* queries;  ///< [16, width]
  T* keys;
  T* values;
  T* relations;  ///< table of the head, [relations, width]; null if it is not wanted
};

/// Gradients of queries.keys + relations folded into keys, and of values, from those of scores and from weights.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_key_gradients(D d, const TileBackward<T>& call, const AttentionPlan::ColumnBlock& block,
                                  const TileInputs<T>& inputs, const BackwardWork<T>& work,
                                  const GradientTargets<T>& targets) {
  const AttentionPlan& plan = call.plan;
  const std::int64_t width = call.in.width;
  find_rows(plan, block, targets.keys, work.width, work.sum_rows);
  const std::int64_t folded = targets.relations == nullptr ? block.num_columns : block.fold_begin;
  std::array<ColumnSums<T>, lane_groups> sums;
  for (std::size_t group = 0; group < lane_groups; ++group) {
    for (std::int64_t c = folded; c < block.num_columns; ++c) {
      const std::size_t place = lane_groups * static_cast<std::size_t>(block.column_begin + c) + group;
      work.relation_rows[group][c] = targets.relations + plan.column_relations[place] * width;
    }
    sums[group] = {work.sum_rows[group], work.relation_rows[group], width};
  }
  add_to_block_columns<false>(d, plan, block, 0, folded, work.d_scores, inputs.queries, work.width, sums);
  add_to_block_columns<true>(d, plan, block, folded, block.num_columns, work.d_scores, inputs.queries, work.width,
                             sums);
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_value_gradients(D d, const TileBackward<T>& call, const AttentionPlan::ColumnBlock& block,
                                    const TileInputs<T>& inputs, const BackwardWork<T>& work,
                                    const GradientTargets<T>& targets) {
  find_rows(call.plan, block, targets.values, work.value_width, work.sum_rows);
  add_to_block_columns<false>(d, call.plan, block, 0, block.num_columns, inputs.scores, work.d_outs, work.value_width,
                              {ColumnSums<T>{work.sum_rows[0]}, ColumnSums<T>{work.sum_rows[1]}});
}

/// The gradients of queries, keys, folded relations and values, edge by edge: where a query, d_out or key is not
/// finite, 0 times it would spoil the gradients of sources and rows that have no edge with it.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void add_gradients_of_edges(D d, const TileBackward<T>& call, const AttentionPlan::ColumnBlock& block,
                                         const TileInputs<T>& inputs, const BackwardWork<T>& work,
                                         const GradientTargets<T>& targets) {
  const AttentionPlan& plan = call.plan;
  const std::int64_t width = call.in.width, value_width = call.in.value_width;
  if (block.first) std::fill(targets.queries, targets.queries + tile_lanes * work.width, T{0});
  for_edges_of_block(plan, block, [&](std::int64_t c, std::int64_t lane) HWY_ATTR {
    const std::int64_t column = block.column_begin + c, row = row_of_lane(plan, column, lane);
    const auto group = static_cast<std::size_t>(lane / lane_group_size);
    const T d_score = work.d_scores[c * tile_lanes + lane], weight = inputs.scores[c * tile_lanes + lane];
    const T* query = inputs.queries + lane * work.width;
    simd::add_scaled(d, d_score, inputs.key_rows[group][c], targets.queries + lane * work.width, width);
    simd::add_scaled(d, d_score, query, targets.keys + row * work.width, width);
    if (targets.relations != nullptr && c >= block.fold_begin) {
      const std::size_t place = lane_groups * static_cast<std::size_t>(column) + group;
      simd::add_scaled(d, d_score, query, targets.relations + plan.column_relations[place] * width, width);
    }
    simd::add_scaled(d, weight, work.d_outs + lane * work.value_width, targets.values + row * work.value_width,
                     value_width);
  });
}

/// From the gradients of the products of queries and relations of the dictionary to those of both.
template <class D, typename T = hn::TFromD<D>>
void add_dictionary_gradients(D d, const TileBackward<T>& call, const TilePass& pass, const TileInputs<T>& inputs,
                              const BackwardWork<T>& work, T* d_queries) {
  constexpr std::int64_t size = AttentionPlan::dictionary_block, together = 4;
  const std::int64_t elements = work.dictionary_length * work.width;
  const T* dictionary_rows = work.dictionary_rows + (work.dictionaries == 1 ? 0 : pass.h) * elements;
  T* d_dictionary = work.d_dictionary + pass.h * elements;
  for (std::int32_t b = pass.tile.dictionary_block_begin; b < pass.tile.dictionary_block_end; ++b) {
    const std::int64_t begin = call.plan.dictionary_blocks[static_cast<std::size_t>(b)] * size;
    const T* products =
        work.d_relation_products + TileInputs<T>::margin + (b - pass.tile.dictionary_block_begin) * size;
    for (std::int64_t lane = 0; lane < tile_lanes; lane += together) {
      const T* of_lanes = products + lane * inputs.relation_stride;
      weighted_sums<together>(
          d, false, size, work.width,
          [&](std::int64_t r) HWY_ATTR {
            return Weights<T>{of_lanes + r, inputs.relation_stride};
          },
          [&](std::int64_t r) HWY_ATTR { return dictionary_rows + (begin + r) * work.width; },
          [&](std::int64_t i) HWY_ATTR { return d_queries + (lane + i) * work.width; });
    }
    for (std::int64_t r = 0; r < size; r += together) {
      weighted_sums<together>(
          d, false, tile_lanes, work.width,
          [&](std::int64_t lane) HWY_ATTR {
            return Weights<T>{products + lane * inputs.relation_stride + r, 1};
          },
          [&](std::int64_t lane) HWY_ATTR { return inputs.queries + lane * work.width; },
          [&](std::int64_t i) HWY_ATTR { return d_dictionary + (begin + r + i) * work.width; });
    }
  }
}

/// Gradients of keys, or of values, of the sources of a staged block, and where partitions collect them.
template <typename T>
struct StagedGradients {
  std::int64_t width, capacity;
  const T* rows;  ///< [head, capacity, whole vectors]
  HeadRows<T> target;
  T* buffers;  ///< partial buffers of shared sources
};

/// Adds the gradients of a staged block's sources to where the partition collects them.
template <class D, typename T = hn::TFromD<D>>
void scatter_add_block(D d, const TileBackward<T>& call, const AttentionPlan::StagedBlock& staged, HeadBlock heads,
                       const StagedGradients<T>& from) {
  const std::int64_t all_heads = call.in.heads, width = from.width;
  const bool stream = streams_results(call.plan, all_heads * width * static_cast<std::int64_t>(sizeof(T)));
  if (!from.target) return;
  const std::int64_t padded = round_up(width, vector_lanes<T>);
  const auto scatter_add_of = [&](std::int64_t i) -> const AttentionPlan::ScatterAdd& {
    return call.plan.scatter_adds[static_cast<std::size_t>(staged.source_begin + i)];
  };
  const auto place_of = [&](const AttentionPlan::ScatterAdd& add, std::int64_t head) {
    return add.shared ? from.buffers + (add.target * all_heads + head) * width : from.target(add.target, head);
  };
  constexpr std::int64_t ahead = 8;
  for (std::int64_t i = 0; i < staged.num_sources; ++i) {
    const AttentionPlan::ScatterAdd& add = scatter_add_of(i);
    // What is added to went past the cache when it was written.
    if (i + ahead < staged.num_sources && !scatter_add_of(i + ahead).first) {
      mp::prefetch_row(place_of(scatter_add_of(i + ahead), heads.first), heads.count * width * std::int64_t{sizeof(T)});
    }
    for (std::int64_t h = 0; h < heads.count; ++h) {
      const T* row = from.rows + (h * from.capacity + i) * padded;
      T* place = place_of(add, heads.first + h);
      if (add.first) {
        simd::stream_scaled(d, stream, T{1}, row, place, width);
      } else {
        simd::add_scaled(d, T{1}, row, place, width);
      }
    }
  }
}

/// Gradients of one tile and head in one staged block; those of relations go to relation_table unless that is null.
template <class D, typename T = hn::TFromD<D>>
void attend_tile_backward(D d, const TileBackward<T>& call, const TilePass& pass, NextBlock<T>& next_block,
                          const TileInputs<T>& inputs, const BackwardWork<T>& work, T* relation_table) {
  const AttentionPlan& plan = call.plan;
  const AttentionInputs<T>& in = call.in;
  const std::int64_t first_row = pass.h * inputs.block_capacity;
  const GradientTargets<T> targets{work.d_queries_of(pass), work.d_keys + first_row * work.width,
                                   work.d_values + first_row * work.value_width, relation_table};
  const bool mixed = inputs.has_relations && pass.tile.dictionary_block_begin < pass.tile.dictionary_block_end;
  load_tile(d, call, pass, inputs, work);
  pass.prefetch_next(in.q, in.width);
  pass.prefetch_next(call.gradients.d_out, in.value_width);
  if (pass.next_tile != nullptr && needs_results(*pass.next_tile, in)) {
    pass.prefetch_next(call.gradients.out, in.value_width);
  }
  for (std::int32_t b = pass.block_begin; b < pass.block_end; ++b) {
    const AttentionPlan::ColumnBlock& block = plan.column_blocks[static_cast<std::size_t>(b)];
    const bool finite = block_gradients(d, call, pass, block, inputs, work);
    next_block.prefetch_some(in);
    if (finite) {
      add_to_lanes(d, plan, block, block.first, work.d_scores, inputs.key_rows, work.width, targets.queries);
      next_block.prefetch_some(in);
      add_key_gradients(d, call, block, inputs, work, targets);
      next_block.prefetch_some(in);
      add_value_gradients(d, call, block, inputs, work, targets);
    } else {
      add_gradients_of_edges(d, call, block, inputs, work, targets);
    }
    if (!mixed) continue;
    for_mixed_columns(
        plan, block, inputs, [&](std::int64_t column, std::int64_t count, const std::int64_t* places) HWY_ATTR {
          add_mixed_columns(d, work.d_scores + column * tile_lanes, count, places, work.d_relation_products);
        });
  }
  if (mixed) add_dictionary_gradients(d, call, pass, inputs, work, targets.queries);
  if (!plan.column_blocks[static_cast<std::size_t>(pass.block_end) - 1].last || !call.gradients.q) return;
  const std::int64_t head = pass.head();
  const bool stream = streams_results(plan, in.heads * in.width * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t lane = 0; lane < pass.tile.num_lanes; ++lane) {
    const std::int64_t partial = pass.tile.partials[static_cast<std::size_t>(lane)];
    T* target = partial >= 0 ? call.query_partials + (partial * in.heads + head) * in.width
                             : call.gradients.q(pass.tile.rows[static_cast<std::size_t>(lane)], head);
    simd::stream_scaled(d, stream, in.scale, targets.queries + lane * work.width, target, in.width);
  }
}

template <typename T>
void attend_work_item_backward(const TileBackward<T>& call, const TileTask& task, T* relation_tables) {
  const TileTag<T> d;
  const AttentionPlan& plan = call.plan;
  const AttentionInputs<T>& in = call.in;
  const HeadBlock heads = task.heads;
  const AttentionPlan::WorkItem& item = plan.work_items[static_cast<std::size_t>(task.work_item)];
  const TileInputs<T> inputs(d, plan, item, in, heads);
  const BackwardWork<T> work(d, plan, item, in, inputs);
  const std::int64_t capacity = inputs.block_capacity, table_size = call.gradients.num_relations * in.width;
  for (std::int32_t s = item.staged_begin; s < item.staged_end; ++s) {
    const AttentionPlan::StagedBlock& staged = plan.staged_blocks[static_cast<std::size_t>(s)];
    inputs.load_keys(d, plan, staged, in);
    stage_block(d, plan, staged, in.v, heads, in.value_width, capacity, work.values);
    std::fill(work.d_keys, work.d_keys + work.staged_rows * work.width, T{0});
    std::fill(work.d_values, work.d_values + work.staged_rows * work.value_width, T{0});
    NextBlock<T> next_block(plan, s + 1, heads, heads.count * (staged.column_block_end - staged.column_block_begin));
    for_tiles_of_block(plan, staged, heads, [&](const TilePass& pass) HWY_ATTR {
      T* table = relation_tables == nullptr ? nullptr : relation_tables + pass.h * table_size;
      attend_tile_backward(d, call, pass, next_block, inputs, work, table);
    });
    scatter_add_block<TileTag<T>, T>(d, call, staged, heads,
                                     {in.width, capacity, work.d_keys, call.gradients.k, call.key_buffers});
    scatter_add_block<TileTag<T>, T>(d, call, staged, heads,
                                     {in.value_width, capacity, work.d_values, call.gradients.v, call.value_buffers});
  }
  hwy::FlushStream();
  if (relation_tables == nullptr) return;
  for (std::int64_t h = 0; h < heads.count; ++h) {
    for (std::int64_t i = 0; i < work.dictionary_length; ++i) {
      const std::int64_t relation = plan.dictionary_relations[static_cast<std::size_t>(item.dictionary_begin + i)];
      simd::add_scaled(d, T{1}, work.d_dictionary + (h * work.dictionary_length + i) * work.width,
                       relation_tables + h * table_size + relation * in.width, in.width);
    }
  }
}

/// sum = part 0 + part 1 + ...
template <typename T>
void add_partials(std::int64_t width, const T* partials, std::int64_t stride, std::int64_t count, T* sum) {
  const TileTag<T> d;
  simd::store_scaled(d, T{1}, partials, sum, width);
  for (std::int64_t i = 1; i < count; ++i) simd::add_scaled(d, T{1}, partials + i * stride, sum, width);
}

TileBackwardFunctions<float> tile_backward_functions_float() {
  return {attend_work_item_backward<float>, add_partials<float>};
}
TileBackwardFunctions<double> tile_backward_functions_double() {
  return {attend_work_item_backward<double>, add_partials<double>};
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(tile_backward_functions_float);
HWY_EXPORT(tile_backward_functions_double);

template <typename T>
TileBackwardFunctions<T> tile_backward_functions() {
  if constexpr (std::is_same_v<T, float>)
    return HWY_DYNAMIC_DISPATCH(tile_backward_functions_float)();
  else
    return HWY_DYNAMIC_DISPATCH(tile_backward_functions_double)();
}

constexpr std::int64_t table_memory_limit = std::int64_t{48} << 20;

/// Adds the partial buffers of shared sources up; sets sources that no tile has to zero.
template <typename T>
void finish_sources(const AttentionPlan& plan, const TileBackwardFunctions<T>& functions, std::int64_t heads,
                    std::int64_t width, const T* buffers, HeadRows<T> target) {
  if (!target) return;
  const auto shared = static_cast<std::int64_t>(plan.shared_sources.size());
  parallel_chunks(shared, rows_per_chunk(heads * width), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const AttentionPlan::SharedSource& source = plan.shared_sources[static_cast<std::size_t>(i)];
      for (std::int64_t head = 0; head < heads; ++head) {
        functions.add_partials(width, buffers + (source.buffer_begin * heads + head) * width, heads * width,
                               source.buffer_end - source.buffer_begin, target(source.source, head));
      }
    }
  });
  for (const std::int32_t source : plan.untouched_sources) {
    for (std::int64_t head = 0; head < heads; ++head) {
      std::fill(target(source, head), target(source, head) + width, T{0});
    }
  }
}

}  // namespace

template <typename T>
void attend_tiles_backward(Cpu, const AttentionPlan& plan, const AttentionInputs<T>& in,
                           const AttentionGradients<T>& gradients) {
  const TileBackwardFunctions<T> functions = tile_backward_functions<T>();
  const Scratch<T> query_partials(gradients.q ? plan.num_partials * in.heads * in.width : 0);
  const Scratch<T> key_buffers(gradients.k ? plan.num_partial_buffers * in.heads * in.width : 0);
  const Scratch<T> value_buffers(gradients.v ? plan.num_partial_buffers * in.heads * in.value_width : 0);
  const TileBackward<T> call{plan, in, gradients, query_partials.data(), key_buffers.data(), value_buffers.data()};

  // A task is some heads and some partitions; each head of it has a table of relation gradients of its own.
  const bool relations = static_cast<bool>(gradients.relations.keys);
  const std::int64_t table_size = relations ? gradients.num_relations * in.width : 0;
  const auto partitions = static_cast<std::int64_t>(plan.partitions.size());
  std::int64_t parts = partitions;
  const std::int64_t bytes = table_size * in.heads * static_cast<std::int64_t>(sizeof(T));
  if (bytes > 0) parts = std::clamp<std::int64_t>(table_memory_limit / bytes, 1, partitions);
  const Scratch<T> tables(table_size * in.heads * parts);
  const std::int64_t together = heads_per_task(plan, parts, in.heads, 2 * (in.width + in.value_width) * sizeof(T));
  const std::int64_t blocks = num_chunks(in.heads, together);
  parallel_chunks(blocks * parts, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t part = task / blocks, first = task % blocks * together;
    const std::int64_t count = std::min(together, in.heads - first);
    T* table = relations ? tables.data() + (part * in.heads + first) * table_size : nullptr;
    std::fill(table, table + count * table_size, T{0});
    const auto partition = [&](std::int64_t i) { return static_cast<std::size_t>(partitions * i / parts); };
    for (std::size_t s = partition(part); s < partition(part + 1); ++s) {
      for (std::int32_t r = plan.partitions[s].work_item_begin; r < plan.partitions[s].work_item_end; ++r) {
        functions.attend_work_item_backward(call, {r, {first, count}}, table);
      }
    }
  });

  finish_sources(plan, functions, in.heads, in.width, key_buffers.data(), gradients.k);
  finish_sources(plan, functions, in.heads, in.value_width, value_buffers.data(), gradients.v);
  if (gradients.q) {
    parallel_chunks(static_cast<std::int64_t>(plan.split_rows.size()), 8, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const SplitAttentionRow& row = plan.split_rows[static_cast<std::size_t>(i)];
        for (std::int64_t head = 0; head < in.heads; ++head) {
          functions.add_partials(in.width, query_partials.data() + (row.first_partial * in.heads + head) * in.width,
                                 in.heads * in.width, row.num_partials, gradients.q(row.row, head));
        }
      }
    });
  }
  if (!relations) return;
  parallel_chunks(gradients.num_relations, rows_per_chunk(in.width * in.heads * parts),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t relation = first; relation < last; ++relation) {
                      for (std::int64_t t = 0; t < in.heads * parts; ++t) {
                        T* sum = gradients.relations.keys(relation, t % in.heads);
                        const T* addend = tables.data() + t * table_size + relation * in.width;
                        for (std::int64_t i = 0; i < in.width; ++i) sum[i] += addend[i];
                      }
                    }
                  });
}

template void attend_tiles_backward(Cpu, const AttentionPlan&, const AttentionInputs<float>&,
                                    const AttentionGradients<float>&);
template void attend_tiles_backward(Cpu, const AttentionPlan&, const AttentionInputs<double>&,
                                    const AttentionGradients<double>&);

}  // namespace bough
#endif
