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
struct TileGradients {
  template <class D>
  TileGradients(D d, const AttentionPlan& plan, const AttentionPlan::Range& range, const AttentionInputs<T>& in,
                const TileInputs<T>& tile)
      : width(tile.padded_width),
        value_width(round_up(in.value_width, vector_lanes<T>)),
        window(tile.heads.count * tile.window_capacity),
        tiles(range.window_end - range.window_begin == 1 ? 1 : (range.tile_end - range.tile_begin) * tile.heads.count),
        book(tile.has_relations ? range.book_end - range.book_begin : 0),
        books(tile.books),
        heads(tile.heads.count),
        book_products(tile.has_relations ? tile_lanes * tile.book_stride : 0) {
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
    std::fill(d_book, d_book + heads * book * width, T{0});
    for (std::int64_t b = 0; b < (book > 0 ? books : 0); ++b) {
      for (std::int64_t i = 0; i < book; ++i) {
        const std::int64_t relation = plan.book_relations[static_cast<std::size_t>(range.book_begin + i)];
        load_row(d, T{1}, in.relation_keys(relation, tile.heads.first + b), book_rows + (b * book + i) * width,
                 in.width);
      }
    }
  }

  void place(MemoryParts<T>& parts) {
    const std::int64_t columns = TileInputs<T>::most_columns;
    d_keys = parts.take(window * width);
    values = parts.take(window * value_width);
    d_values = parts.take(window * value_width);
    d_scores = parts.take(columns * tile_lanes);
    kept = parts.take(columns * tile_lanes);
    d_outs = parts.take(tile_lanes * value_width);
    lanes = parts.take(tile_lanes * value_width);
    d_queries = parts.take(tiles * tile_lanes * width);
    log_sums = parts.take(tile_lanes);
    deltas = parts.take(tile_lanes);
    book_rows = parts.take(books * book * width);
    d_book = parts.take(heads * book * width);
    d_book_products = parts.take(book_products);
  }

  std::int64_t width, value_width;  ///< whole vectors
  std::int64_t window, tiles, book, books, heads, book_products;
  Scratch<T> memory;
  Scratch<const T*> rows_memory;
  Scratch<T*> sums_memory;
  T* d_keys = nullptr;     ///< of the window, [head, capacity, width]
  T* values = nullptr;     ///< of the window
  T* d_values = nullptr;   ///< of the window
  T* d_scores = nullptr;   ///< [column * 16 + lane]
  T* kept = nullptr;       ///< dropout's factors, [column * 16 + lane]
  T* d_outs = nullptr;     ///< gradients of the tile's results, row by row
  T* lanes = nullptr;      ///< the same as pack_lanes leaves them
  T* d_queries = nullptr;  ///< of one tile, or of all tiles and heads of a range with several windows
  T* log_sums = nullptr;
  T* deltas = nullptr;
  T* book_rows = nullptr;                    ///< relations of the book, row by row
  T* d_book = nullptr;                       ///< gradients of the book's relations, for each head
  T* d_book_products = nullptr;              ///< like TileInputs::book_products
  std::array<const T**, 2> value_rows = {};  ///< of the columns of the piece at hand, for each half of the lanes
  std::array<T**, 2> sum_rows = {};          ///< where gradients of these columns are added
  std::array<T**, 2> relation_rows = {};     ///< and those of relations folded into their keys
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
                               const AttentionGradients<T>& gradients, const TileGradients<T>& work) {
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
void load_tile(D d, const AttentionPlan& plan, const AttentionPlan::Tile& tile, const AttentionInputs<T>& in,
               std::int64_t head, const AttentionGradients<T>& gradients, const TileInputs<T>& inputs,
               const TileGradients<T>& work) {
  inputs.load_queries(d, plan, tile, in, head - inputs.heads.first);
  for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
    T* d_out = work.d_outs + lane * work.value_width;
    const std::int64_t row = tile.rows[static_cast<std::size_t>(lane)];
    if (lane < tile.num_lanes) {
      load_row(d, T{1}, gradients.d_out(row, head), d_out, in.value_width);
      work.log_sums[lane] = *gradients.log_sum(row, head);
    } else {
      std::fill(d_out, d_out + work.value_width, T{0});
      work.log_sums[lane] = std::numeric_limits<T>::infinity();
    }
  }
  if (needs_results(tile, in)) compute_deltas(d, tile, in, head, gradients, work);
  pack_lanes(d, work.d_outs, work.value_width, work.value_width, work.lanes);
  if (inputs.has_relations) {
    std::fill(work.d_book_products, work.d_book_products + tile_lanes * inputs.book_stride, T{0});
  }
}

/// Weights of the piece (dropout included) into inputs.scores and gradients of scores into work.d_scores:
///   p = exp(score - log_sum),   d_score = p (kept * d_out.v - delta),   weight = kept * p.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void piece_gradients(D d, const AttentionPlan& plan, const AttentionPlan::Window& window,
                                const AttentionPlan::Piece& piece, const AttentionInputs<T>& in, std::int64_t head,
                                const TileInputs<T>& inputs, const TileGradients<T>& work) {
  const std::uint16_t* masks = plan.column_masks.data() + piece.column_begin;
  const std::int64_t columns = piece.num_columns;
  const std::int64_t h = head - inputs.heads.first;
  inputs.load_key_rows(d, plan, piece, in, h);
  find_rows(plan, piece, work.values + h * inputs.window_capacity * work.value_width, work.value_width,
            work.value_rows);
  const bool mixed = add_mixed_relations(d, plan, piece, inputs), drops = in.dropout.active();
  inputs.multiply_keys(d, piece, mixed);
  tile_products(d, work.lanes, {work.value_rows, piece.halves_begin, piece.halves_end},
                round_up(columns, column_multiple), work.value_width, false, work.d_scores);
  if (drops) {
    std::fill(work.kept, work.kept + columns * tile_lanes, T{1});
    drop_weights(d, plan, window, piece, plan.tiles[static_cast<std::size_t>(piece.tile)], in.dropout, head, work.kept);
  }
  const bool knows_deltas = needs_results(plan.tiles[static_cast<std::size_t>(piece.tile)], in);
  for (std::int64_t v = 0; v < tile_vectors<T>; ++v) {
    const std::int64_t lane = v * vector_lanes<T>;
    T* scores = inputs.scores + lane;
    T* d_scores = work.d_scores + lane;
    const auto log_sum = hn::LoadU(d, work.log_sums + lane);
    auto delta = hn::Zero(d);
    // Where there is no edge, the score and dp may be anything.
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto mask = mask_of_vector(d, masks[c], v);
      const auto p = hn::IfThenElseZero(
          mask, simd::exp_of_nonpositive(d, hn::Sub(hn::LoadU(d, scores + c * tile_lanes), log_sum)));
      const auto dp = hn::IfThenElseZero(mask, hn::LoadU(d, d_scores + c * tile_lanes));
      delta = hn::MulAdd(p, dp, delta);
      hn::StoreU(p, d, scores + c * tile_lanes);
      hn::StoreU(dp, d, d_scores + c * tile_lanes);
    }
    if (knows_deltas) delta = hn::LoadU(d, work.deltas + lane);
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto p = hn::LoadU(d, scores + c * tile_lanes);
      auto dp = hn::LoadU(d, d_scores + c * tile_lanes);
      if (drops) {
        const auto kept = hn::LoadU(d, work.kept + c * tile_lanes + lane);
        hn::StoreU(hn::Mul(p, kept), d, scores + c * tile_lanes);
        dp = hn::Mul(dp, kept);
      }
      // p is 0 where there is no edge, but the row's delta may be infinite or NaN.
      const auto d_score = hn::IfThenElseZero(mask_of_vector(d, masks[c], v), hn::Mul(p, hn::Sub(dp, delta)));
      hn::StoreU(d_score, d, d_scores + c * tile_lanes);
    }
  }
}

/// Gradients of keys, and of relations that are folded into keys.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_key_gradients(D d, const AttentionPlan& plan, const AttentionPlan::Piece& piece,
                                  const AttentionInputs<T>& in, const TileInputs<T>& inputs,
                                  const TileGradients<T>& work, T* d_keys, T* relation_table) {
  find_rows(plan, piece, d_keys, work.width, work.sum_rows);
  const std::int64_t folded = relation_table == nullptr ? piece.num_columns : piece.fold_begin;
  std::array<ColumnSums<T>, 2> sums;
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::int64_t c = folded; c < piece.num_columns; ++c) {
      const std::size_t place = AttentionPlan::halves * static_cast<std::size_t>(piece.column_begin + c) + half;
      work.relation_rows[half][c] = relation_table + plan.column_relations[place] * in.width;
    }
    sums[half] = {work.sum_rows[half], work.relation_rows[half], in.width};
  }
  add_to_columns_of_halves<false>(d, plan, piece, 0, folded, work.d_scores, inputs.queries, work.width, sums);
  add_to_columns_of_halves<true>(d, plan, piece, folded, piece.num_columns, work.d_scores, inputs.queries, work.width,
                                 sums);
}

/// From the gradients of the products of queries and relations to those of both.
template <class D, typename T = hn::TFromD<D>>
void add_book_gradients(D d, const AttentionPlan& plan, const AttentionPlan::Tile& tile, const TileInputs<T>& inputs,
                        const TileGradients<T>& work, const T* book_rows, T* d_book, T* d_queries) {
  constexpr std::int64_t block = AttentionPlan::block_relations, together = 4;
  for (std::int32_t b = tile.block_begin; b < tile.block_end; ++b) {
    const std::int64_t begin = plan.book_blocks[static_cast<std::size_t>(b)] * block;
    const T* products = work.d_book_products + TileInputs<T>::margin + (b - tile.block_begin) * block;
    for (std::int64_t lane = 0; lane < tile_lanes; lane += together) {
      const T* of_lanes = products + lane * inputs.book_stride;
      weighted_sums<together>(
          d, false, block, work.width,
          [&](std::int64_t r) HWY_ATTR {
            return Weights<T>{of_lanes + r, inputs.book_stride};
          },
          [&](std::int64_t r) HWY_ATTR { return book_rows + (begin + r) * work.width; },
          [&](std::int64_t i) HWY_ATTR { return d_queries + (lane + i) * work.width; });
    }
    for (std::int64_t r = 0; r < block; r += together) {
      weighted_sums<together>(
          d, false, tile_lanes, work.width,
          [&](std::int64_t lane) HWY_ATTR {
            return Weights<T>{products + lane * inputs.book_stride + r, 1};
          },
          [&](std::int64_t lane) HWY_ATTR { return inputs.queries + lane * work.width; },
          [&](std::int64_t i) HWY_ATTR { return d_book + (begin + r + i) * work.width; });
    }
  }
}

/// Adds the gradients of a window's sources to where the strand collects them.
template <class D, typename T = hn::TFromD<D>>
void flush_window(D d, const AttentionPlan& plan, const AttentionPlan::Window& window, std::int64_t all_heads,
                  HeadBlock heads, std::int64_t width, const T* source, std::int64_t capacity, HeadRows<T> target,
                  T* slots) {
  const bool stream = streams_results(plan, all_heads * width * static_cast<std::int64_t>(sizeof(T)));
  if (!target) return;
  const std::int64_t padded = round_up(width, vector_lanes<T>);
  const auto flush_of = [&](std::int64_t i) -> const AttentionPlan::Flush& {
    return plan.flushes[static_cast<std::size_t>(window.source_begin + i)];
  };
  const auto place_of = [&](const AttentionPlan::Flush& flush, std::int64_t head) {
    return flush.shared ? slots + (flush.target * all_heads + head) * width : target(flush.target, head);
  };
  constexpr std::int64_t ahead = 8;
  for (std::int64_t i = 0; i < window.num_sources; ++i) {
    const AttentionPlan::Flush& flush = flush_of(i);
    // What is added to went past the cache when it was written.
    if (i + ahead < window.num_sources && !flush_of(i + ahead).first) {
      mp::prefetch_row(place_of(flush_of(i + ahead), heads.first), heads.count * width * std::int64_t{sizeof(T)});
    }
    for (std::int64_t h = 0; h < heads.count; ++h) {
      const T* row = source + (h * capacity + i) * padded;
      T* place = place_of(flush, heads.first + h);
      if (flush.first) {
        simd::stream_scaled(d, stream, T{1}, row, place, width);
      } else {
        simd::add_scaled(d, T{1}, row, place, width);
      }
    }
  }
}

/// One tile and head in one window: pieces [begin, end).
template <class D, typename T = hn::TFromD<D>>
void backward_of_tile(D d, const AttentionPlan& plan, const AttentionPlan::Range& range,
                      const AttentionPlan::Window& window, std::int32_t begin, std::int32_t end,
                      const AttentionInputs<T>& in, std::int64_t h, const TileOfHead& next, NextWindow<T>& next_window,
                      const AttentionGradients<T>& gradients, const TileCollections<T>& collect,
                      const TileInputs<T>& inputs, const TileGradients<T>& work, T* relation_table) {
  const std::int32_t number = plan.pieces[static_cast<std::size_t>(begin)].tile;
  const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(number)];
  const std::int64_t head = inputs.heads.first + h, first_row = h * inputs.window_capacity;
  T* d_queries = work.d_queries;
  if (work.tiles > 1) d_queries += ((number - range.tile_begin) * work.heads + h) * tile_lanes * work.width;
  T* d_keys = work.d_keys + first_row * work.width;
  T* d_values = work.d_values + first_row * work.value_width;
  const bool mixed = inputs.has_relations && tile.block_begin < tile.block_end;
  load_tile(d, plan, tile, in, head, gradients, inputs, work);
  next.prefetch(in.q, inputs.heads, in.width);
  next.prefetch(gradients.d_out, inputs.heads, in.value_width);
  if (next.tile != nullptr && needs_results(*next.tile, in)) next.prefetch(gradients.out, inputs.heads, in.value_width);
  for (std::int32_t p = begin; p < end; ++p) {
    const AttentionPlan::Piece& piece = plan.pieces[static_cast<std::size_t>(p)];
    piece_gradients(d, plan, window, piece, in, head, inputs, work);
    next_window.prefetch_some(in);
    add_to_lanes(d, plan, piece, piece.first, work.d_scores, inputs.key_rows, work.width, d_queries);
    next_window.prefetch_some(in);
    add_key_gradients(d, plan, piece, in, inputs, work, d_keys, relation_table);
    next_window.prefetch_some(in);
    find_rows(plan, piece, d_values, work.value_width, work.sum_rows);
    add_to_columns_of_halves<false>(d, plan, piece, 0, piece.num_columns, inputs.scores, work.d_outs, work.value_width,
                                    {ColumnSums<T>{work.sum_rows[0]}, ColumnSums<T>{work.sum_rows[1]}});
    if (!mixed) continue;
    for_segments(plan, piece, inputs,
                 [&](std::int64_t column, std::int64_t count, const std::int64_t* places) HWY_ATTR {
                   add_segment(d, work.d_scores + column * tile_lanes, count, places, work.d_book_products);
                 });
  }
  if (mixed) {
    const std::int64_t book = work.book * work.width;
    add_book_gradients(d, plan, tile, inputs, work, work.book_rows + (work.books == 1 ? 0 : h) * book,
                       work.d_book + h * book, d_queries);
  }
  if (!plan.pieces[static_cast<std::size_t>(end) - 1].last || !gradients.q) return;
  const bool stream = streams_results(plan, in.heads * in.width * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t lane = 0; lane < tile.num_lanes; ++lane) {
    const std::int64_t partial = tile.partials[static_cast<std::size_t>(lane)];
    T* target = partial >= 0 ? collect.partials + (partial * in.heads + head) * in.width
                             : gradients.q(tile.rows[static_cast<std::size_t>(lane)], head);
    simd::stream_scaled(d, stream, in.scale, d_queries + lane * work.width, target, in.width);
  }
}

template <typename T>
void backward_of_range(const AttentionPlan& plan, const AttentionInputs<T>& in, const TileTask& task,
                       const AttentionGradients<T>& gradients, const TileCollections<T>& collect, T* relation_tables) {
  const TileTag<T> d;
  const HeadBlock heads = task.heads;
  const AttentionPlan::Range& range = plan.ranges[static_cast<std::size_t>(task.range)];
  const TileInputs<T> inputs(d, plan, range, in, heads);
  const TileGradients<T> work(d, plan, range, in, inputs);
  const std::int64_t capacity = inputs.window_capacity, table_size = gradients.num_relations * in.width;
  for (std::int32_t w = range.window_begin; w < range.window_end; ++w) {
    const AttentionPlan::Window& window = plan.windows[static_cast<std::size_t>(w)];
    inputs.load_keys(d, plan, window, in);
    load_window(d, plan, window, in.v, heads, in.value_width, capacity, work.values);
    std::fill(work.d_keys, work.d_keys + work.window * work.width, T{0});
    std::fill(work.d_values, work.d_values + work.window * work.value_width, T{0});
    NextWindow<T> next_window(plan, w + 1, heads, heads.count * (window.piece_end - window.piece_begin));
    for_tiles_of_window(plan, window, heads,
                        [&](std::int32_t begin, std::int32_t end, std::int64_t h, const TileOfHead& next) HWY_ATTR {
                          T* table = relation_tables == nullptr ? nullptr : relation_tables + h * table_size;
                          backward_of_tile(d, plan, range, window, begin, end, in, h, next, next_window, gradients,
                                           collect, inputs, work, table);
                        });
    flush_window(d, plan, window, in.heads, heads, in.width, work.d_keys, capacity, gradients.k, collect.key_slots);
    flush_window(d, plan, window, in.heads, heads, in.value_width, work.d_values, capacity, gradients.v,
                 collect.value_slots);
  }
  hwy::FlushStream();
  if (relation_tables == nullptr) return;
  for (std::int64_t h = 0; h < heads.count; ++h) {
    for (std::int64_t i = 0; i < work.book; ++i) {
      const std::int64_t relation = plan.book_relations[static_cast<std::size_t>(range.book_begin + i)];
      simd::add_scaled(d, T{1}, work.d_book + (h * work.book + i) * work.width,
                       relation_tables + h * table_size + relation * in.width, in.width);
    }
  }
}

/// sum = part 0 + part 1 + ...
template <typename T>
void add_parts(std::int64_t width, const T* parts, std::int64_t stride, std::int64_t count, T* sum) {
  const TileTag<T> d;
  simd::store_scaled(d, T{1}, parts, sum, width);
  for (std::int64_t i = 1; i < count; ++i) simd::add_scaled(d, T{1}, parts + i * stride, sum, width);
}

TileGradientFunctions<float> tile_gradient_functions_float() { return {backward_of_range<float>, add_parts<float>}; }
TileGradientFunctions<double> tile_gradient_functions_double() {
  return {backward_of_range<double>, add_parts<double>};
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(tile_gradient_functions_float);
HWY_EXPORT(tile_gradient_functions_double);

template <typename T>
TileGradientFunctions<T> tile_gradient_functions() {
  if constexpr (std::is_same_v<T, float>)
    return HWY_DYNAMIC_DISPATCH(tile_gradient_functions_float)();
  else
    return HWY_DYNAMIC_DISPATCH(tile_gradient_functions_double)();
}

constexpr std::int64_t table_memory_limit = std::int64_t{48} << 20;

/// Adds slots of shared sources up; sets sources that no tile has to zero.
template <typename T>
void finish_sources(const AttentionPlan& plan, const TileGradientFunctions<T>& functions, std::int64_t heads,
                    std::int64_t width, const T* slots, HeadRows<T> target) {
  if (!target) return;
  const auto shared = static_cast<std::int64_t>(plan.shared_sources.size());
  parallel_chunks(shared, rows_per_chunk(heads * width), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const AttentionPlan::SharedSource& source = plan.shared_sources[static_cast<std::size_t>(i)];
      for (std::int64_t head = 0; head < heads; ++head) {
        functions.add_parts(width, slots + (source.slot_begin * heads + head) * width, heads * width,
                            source.slot_end - source.slot_begin, target(source.source, head));
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
  const TileGradientFunctions<T> functions = tile_gradient_functions<T>();
  const Scratch<T> partials(gradients.q ? plan.num_partials * in.heads * in.width : 0);
  const Scratch<T> key_slots(gradients.k ? plan.num_slots * in.heads * in.width : 0);
  const Scratch<T> value_slots(gradients.v ? plan.num_slots * in.heads * in.value_width : 0);
  const TileCollections<T> collect{partials.data(), key_slots.data(), value_slots.data()};

  // A task is some heads and some strands; each head of it has a table of relation gradients of its own.
  const bool relations = static_cast<bool>(gradients.relations.keys);
  const std::int64_t table_size = relations ? gradients.num_relations * in.width : 0;
  const auto strands = static_cast<std::int64_t>(plan.strands.size());
  std::int64_t parts = strands;
  const std::int64_t bytes = table_size * in.heads * static_cast<std::int64_t>(sizeof(T));
  if (bytes > 0) parts = std::clamp<std::int64_t>(table_memory_limit / bytes, 1, strands);
  const Scratch<T> tables(table_size * in.heads * parts);
  const std::int64_t together = heads_per_task(plan, parts, in.heads, 2 * (in.width + in.value_width) * sizeof(T));
  const std::int64_t blocks = num_chunks(in.heads, together);
  parallel_chunks(blocks * parts, 1, [&](std::int64_t task, std::int64_t) {
    const std::int64_t part = task / blocks, first = task % blocks * together;
    const std::int64_t count = std::min(together, in.heads - first);
    T* table = relations ? tables.data() + (part * in.heads + first) * table_size : nullptr;
    std::fill(table, table + count * table_size, T{0});
    const auto strand = [&](std::int64_t i) { return static_cast<std::size_t>(strands * i / parts); };
    for (std::size_t s = strand(part); s < strand(part + 1); ++s) {
      for (std::int32_t r = plan.strands[s].range_begin; r < plan.strands[s].range_end; ++r) {
        functions.backward_of_range(plan, in, {r, {first, count}}, gradients, collect, table);
      }
    }
  });

  finish_sources(plan, functions, in.heads, in.width, key_slots.data(), gradients.k);
  finish_sources(plan, functions, in.heads, in.value_width, value_slots.data(), gradients.v);
  if (gradients.q) {
    parallel_chunks(static_cast<std::int64_t>(plan.split_rows.size()), 8, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const SplitRow& row = plan.split_rows[static_cast<std::size_t>(i)];
        for (std::int64_t head = 0; head < in.heads; ++head) {
          functions.add_parts(in.width, partials.data() + (row.first_partial * in.heads + head) * in.width,
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
