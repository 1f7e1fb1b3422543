// Loading what the tiles of one range read: windows of keys and values, queries, relations, dropout.
// Compiled once per instruction set; include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_CPU_ATTENTION_TILE_INPUTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_CPU_ATTENTION_TILE_INPUTS_INL_H_
#undef BOUGH_KERNELS_CPU_ATTENTION_TILE_INPUTS_INL_H_
#else
#define BOUGH_KERNELS_CPU_ATTENTION_TILE_INPUTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "bough/detail/mp/prefetch.h"
#include "kernels/attention/cpu/tile-inl.h"
#include "kernels/attention/plan/attention_plan.h"
#include "kernels/attention/views.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// target = a + b
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_rows(D d, const T* a, const T* b, T* target, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + vector_lanes<T> <= width; i += vector_lanes<T>) {
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, target + i);
  }
  for (; i < width; ++i) target[i] = a[i] + b[i];
}

/// target = factor * source, filled up with zeros to a whole number of vectors.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void load_row(D d, T factor, const T* source, T* target, std::int64_t width) {
  simd::store_scaled(d, factor, source, target, width);
  std::fill(target + width, target + round_up(width, vector_lanes<T>), T{0});
}

/// Copies the rows of a window's sources, each filled up to whole vectors: row i of head h to target[h * capacity + i].
/// False if one of them holds an infinity or NaN.
template <class D, typename T = hn::TFromD<D>>
bool load_window(D d, const AttentionPlan& plan, const AttentionPlan::Window& window, HeadRows<const T> source,
                 HeadBlock heads, std::int64_t width, std::int64_t capacity, T* target) {
  constexpr std::int64_t n = vector_lanes<T>;
  const std::int64_t padded = round_up(width, n), whole = width / n * n;
  const std::int32_t* sources = plan.window_sources.data() + window.source_begin;
  auto zeros = hn::Zero(d);  // 0 * x is 0 for every finite x
  constexpr std::int64_t ahead = 8;
  for (std::int64_t i = 0; i < window.num_sources; ++i) {
    if (i + ahead < window.num_sources) {
      mp::prefetch_row(source(sources[i + ahead], heads.first), heads.count * width * std::int64_t{sizeof(T)});
    }
    for (std::int64_t h = 0; h < heads.count; ++h) {
      const T* row = source(sources[i], heads.first + h);
      T* place = target + (h * capacity + i) * padded;
      for (std::int64_t j = 0; j < whole; j += n) {
        const auto x = hn::LoadU(d, row + j);
        zeros = hn::MulAdd(x, hn::Zero(d), zeros);
        hn::StoreU(x, d, place + j);
      }
      if (whole == padded) continue;
      std::fill(place + whole, place + padded, T{0});
      std::copy(row + whole, row + width, place + whole);
      zeros = hn::MulAdd(hn::LoadU(d, place + whole), hn::Zero(d), zeros);
    }
  }
  return hn::AllTrue(d, hn::Eq(zeros, hn::Zero(d)));
}

/// Asks for the keys and values of the window that comes next, a few at a time while tiles of this one are computed:
/// loading it would wait for memory while nothing is computed.
template <typename T>
class NextWindow {
 public:
  /// How often prefetch_some is called for each piece and head of the window at hand.
  static constexpr std::int64_t times_per_piece = 3;

  /// `pieces`: of the window at hand, for each head. A next window that does not exist is fine.
  NextWindow(const AttentionPlan& plan, std::int64_t window, HeadBlock heads, std::int64_t pieces) : heads_(heads) {
    if (!plan.prefetch_blocks || window >= static_cast<std::int64_t>(plan.windows.size())) return;
    const AttentionPlan::Window& next = plan.windows[static_cast<std::size_t>(window)];
    sources_ = plan.window_sources.data() + next.source_begin;
    count_ = next.num_sources;
    const std::int64_t times = times_per_piece * pieces;
    each_ = (count_ + times - 1) / times;
  }

  HWY_INLINE void prefetch_some(const AttentionInputs<T>& in) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    for (const std::int64_t end = std::min(count_, place_ + each_); place_ < end; ++place_) {
      mp::prefetch_row(in.k(sources_[place_], heads_.first), heads_.count * in.width * size);
      mp::prefetch_row(in.v(sources_[place_], heads_.first), heads_.count * in.value_width * size);
    }
  }

 private:
  HeadBlock heads_;
  const std::int32_t* sources_ = nullptr;
  std::int64_t count_ = 0, each_ = 0, place_ = 0;
};

/// A tile and one of the heads, counted inside their block.
struct TileOfHead {
  const AttentionPlan::Tile* tile = nullptr;
  std::int64_t head = 0;

  /// Asks for its rows, which are read soon, while there is other work.
  template <typename T>
  HWY_INLINE void prefetch(HeadRows<const T> rows, HeadBlock heads, std::int64_t width) const {
    if (tile == nullptr) return;
    for (std::int64_t lane = 0; lane < tile->num_lanes; ++lane) {
      mp::prefetch_row(rows(tile->rows[static_cast<std::size_t>(lane)], heads.first + head),
                       width * std::int64_t{sizeof(T)});
    }
  }
};

/// Calls f(begin, end, head, next) for the pieces [begin, end) of each tile in a window, head by head so that rows near
/// in memory follow each other; `next` comes next and has no tile at the end.
template <class F>
HWY_INLINE void for_tiles_of_window(const AttentionPlan& plan, const AttentionPlan::Window& window, HeadBlock heads,
                                    const F& f) {
  const auto tile_at = [&](std::int32_t piece) { return plan.pieces[static_cast<std::size_t>(piece)].tile; };
  for (std::int32_t begin = window.piece_begin, end = begin; begin < window.piece_end; begin = end) {
    while (end < window.piece_end && tile_at(end) == tile_at(begin)) ++end;
    for (std::int64_t h = 0; h < heads.count; ++h) {
      const bool same = h + 1 < heads.count;
      TileOfHead next;
      if (same || end < window.piece_end) {
        next = {&plan.tiles[static_cast<std::size_t>(tile_at(same ? begin : end))], same ? h + 1 : 0};
      }
      f(begin, end, h, next);
    }
  }
}

/// Where the rows of each column are in a window, for both halves of the lanes; filled up to a multiple of
/// column_multiple.
template <typename Row, typename T>
HWY_INLINE void find_rows(const AttentionPlan& plan, const AttentionPlan::Piece& piece, T* window, std::int64_t width,
                          std::array<Row*, 2> rows) {
  const std::uint16_t* places = plan.column_rows.data() + AttentionPlan::halves * piece.column_begin;
  for (std::int64_t c = 0; c < piece.num_columns; ++c) {
    rows[0][c] = window + places[2 * c] * width;
    rows[1][c] = window + places[2 * c + 1] * width;
  }
  for (Row* of_half : rows) {
    std::fill(of_half + piece.num_columns, of_half + round_up(piece.num_columns, column_multiple), window);
  }
}

/// The place in the window of a column's source for a lane.
HWY_INLINE std::int64_t row_of_lane(const AttentionPlan& plan, std::size_t column, std::int64_t lane) {
  return plan.column_rows[AttentionPlan::halves * column + static_cast<std::size_t>(lane / AttentionPlan::half_lanes)];
}

/// Takes parts of one block of memory, each aligned to whole vectors.
template <typename T>
class MemoryParts {
 public:
  /// With null: counts only.
  explicit MemoryParts(T* memory) : memory_(memory) {}
  T* take(std::int64_t count) {
    T* place = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += round_up(count, 64 / static_cast<std::int64_t>(sizeof(T)));
    return place;
  }
  std::int64_t used() const { return used_; }

 private:
  T* memory_;
  std::int64_t used_ = 0;
};

/// What the scores of tiles are computed from: keys of the window for some heads, and the queries of one tile and head.
template <typename T>
struct TileInputs {
  static constexpr std::int64_t most_columns = AttentionPlan::piece_columns;
  static_assert(most_columns % column_multiple == 0);  // columns are filled up to a multiple
  static constexpr std::int64_t margin = tile_lanes;   ///< before and after the products of a lane with the book

  template <class D>
  TileInputs(D d, const AttentionPlan& plan, const AttentionPlan::Range& range, const AttentionInputs<T>& in,
             HeadBlock block)
      : heads(block), width(in.width), padded_width(round_up(in.width, vector_lanes<T>)) {
    std::int64_t most_blocks = 0;
    for (std::int32_t w = range.window_begin; w < range.window_end; ++w) {
      window_capacity = std::max<std::int64_t>(window_capacity, plan.windows[static_cast<std::size_t>(w)].num_sources);
    }
    for (std::int32_t t = range.tile_begin; t < range.tile_end; ++t) {
      const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(t)];
      most_blocks = std::max<std::int64_t>(most_blocks, tile.block_end - tile.block_begin);
    }
    has_relations = static_cast<bool>(in.relation_keys);
    book_stride = 2 * margin + most_blocks * AttentionPlan::block_relations;
    book_size = has_relations ? (range.book_end - range.book_begin) * padded_width : 0;
    books = has_relations && in.relation_keys.head_stride != 0 ? heads.count : 1;
    MemoryParts<T> count(nullptr);
    place(count);
    memory = Scratch<T>(count.used());
    MemoryParts<T> parts(memory.data());
    place(parts);
    rows_memory = Scratch<const T*>(2 * most_columns + tile_lanes);
    key_rows = {rows_memory.data(), rows_memory.data() + most_columns};
    query_rows = rows_memory.data() + 2 * most_columns;
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) query_rows[lane] = queries + lane * padded_width;
    if (!has_relations) return;
    std::fill(book_products, book_products + tile_lanes * book_stride, T{0});
    for (std::int64_t b = 0; b < books; ++b) load_book(d, plan, range, in, heads.first + b, book + b * book_size);
  }

  void place(MemoryParts<T>& parts) {
    keys = parts.take(heads.count * window_capacity * padded_width);
    queries = parts.take(tile_lanes * padded_width);
    lanes = parts.take(tile_lanes * padded_width);
    scores = parts.take(most_columns * tile_lanes);
    for (T*& folded : folded_keys) folded = parts.take(has_relations ? most_columns * padded_width : 0);
    book_products = parts.take(has_relations ? tile_lanes * book_stride : 0);
    book = parts.take(books * book_size);
  }

  /// The relations of the range's book, each block of 16 as lanes.
  template <class D>
  void load_book(D d, const AttentionPlan& plan, const AttentionPlan::Range& range, const AttentionInputs<T>& in,
                 std::int64_t head, T* target) const {
    constexpr std::int64_t block = AttentionPlan::block_relations;
    static_assert(block == tile_lanes);
    const Scratch<T> rows(block * padded_width);
    for (std::int64_t begin = 0; begin < range.book_end - range.book_begin; begin += block) {
      for (std::int64_t r = 0; r < block; ++r) {
        const std::int64_t relation = plan.book_relations[static_cast<std::size_t>(range.book_begin + begin + r)];
        load_row(d, T{1}, in.relation_keys(relation, head), rows.data() + r * padded_width, width);
      }
      pack_lanes(d, rows.data(), padded_width, padded_width, target + begin * padded_width);
    }
  }

  template <class D>
  void load_keys(D d, const AttentionPlan& plan, const AttentionPlan::Window& window,
                 const AttentionInputs<T>& in) const {
    load_window(d, plan, window, in.k, heads, in.width, window_capacity, keys);
  }

  /// The tile's queries, scaled: row by row, transposed, and multiplied with the tile's part of the book. Heads are
  /// numbered inside the block, here and below.
  template <class D>
  void load_queries(D d, const AttentionPlan& plan, const AttentionPlan::Tile& tile, const AttentionInputs<T>& in,
                    std::int64_t head) const {
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
      T* target = queries + lane * padded_width;
      if (lane < tile.num_lanes) {
        load_row(d, in.scale, in.q(tile.rows[static_cast<std::size_t>(lane)], heads.first + head), target, width);
      } else {
        std::fill(target, target + padded_width, T{0});
      }
    }
    pack_lanes(d, queries, padded_width, padded_width, lanes);
    if (!has_relations) return;
    constexpr std::int64_t block = AttentionPlan::block_relations;
    const T* book_of_head = book + (books == 1 ? 0 : head) * book_size;
    for (std::int32_t b = tile.block_begin; b < tile.block_end; ++b) {
      const T* relations = book_of_head + plan.book_blocks[static_cast<std::size_t>(b)] * block * padded_width;
      products_with_lanes<false>(d, relations, query_rows, query_rows, tile_lanes, padded_width, false,
                                 book_products + margin + (b - tile.block_begin) * block, book_stride);
    }
  }

  /// Where the keys of each column are: in the window, or with a relation added.
  template <class D>
  void load_key_rows(D d, const AttentionPlan& plan, const AttentionPlan::Piece& piece, const AttentionInputs<T>& in,
                     std::int64_t head) const {
    find_rows(plan, piece, keys + head * window_capacity * padded_width, padded_width, key_rows);
    if (!has_relations) return;
    const std::int32_t* relations = plan.column_relations.data() + AttentionPlan::halves * piece.column_begin;
    const auto fold = [&](std::int64_t c, std::size_t half) HWY_ATTR {
      T* target = folded_keys[half] + c * padded_width;
      add_rows(d, key_rows[half][c],
               in.relation_keys(relations[2 * c + static_cast<std::int64_t>(half)], heads.first + head), target, width);
      std::fill(target + width, target + padded_width, T{0});
      key_rows[half][c] = target;
    };
    for (std::int64_t c = piece.fold_begin; c < piece.halves_end; ++c) fold(c, 1);
    for (std::int64_t c = piece.fold_begin; c < piece.num_columns; ++c) fold(c, 0);
    std::copy(key_rows[0] + piece.halves_end, key_rows[0] + piece.num_columns, key_rows[1] + piece.halves_end);
  }

  /// Products of the lanes with the keys of the piece, into the scores.
  template <class D>
  HWY_INLINE void multiply_keys(D d, const AttentionPlan::Piece& piece, bool accumulate) const {
    tile_products(d, lanes, {key_rows, piece.halves_begin, piece.halves_end},
                  round_up(piece.num_columns, column_multiple), padded_width, accumulate, scores);
  }

  HeadBlock heads;
  std::int64_t width, padded_width, window_capacity = 0, book_stride = 0, book_size = 0, books = 1;
  bool has_relations = false;
  Scratch<T> memory;
  Scratch<const T*> rows_memory;
  T* keys = nullptr;           ///< [head, window_capacity, padded_width]
  T* queries = nullptr;        ///< [16, padded_width]
  T* lanes = nullptr;          ///< the queries as pack_lanes leaves them
  T* scores = nullptr;         ///< scores[column * 16 + lane]
  T* folded_keys[2] = {};      ///< [column, padded_width] for each half of the lanes
  T* book = nullptr;           ///< one, or one for each head
  T* book_products = nullptr;  ///< book_products[lane * book_stride + margin + place in the tile's part of the book]
  std::array<const T**, 2> key_rows = {};  ///< of the columns of the piece at hand, for each half of the lanes
  const T** query_rows = nullptr;          ///< the 16 rows of `queries`
};

/// Calls f(column, count, places) for each mixed segment: the products of lane i with the relations of column,
/// column + 1, ... stand at places[i] of the book's products.
template <typename T, class F>
HWY_INLINE void for_segments(const AttentionPlan& plan, const AttentionPlan::Piece& piece, const TileInputs<T>& tile,
                             const F& f) {
  for (std::int32_t s = piece.segment_begin; s < piece.segment_end; ++s) {
    const AttentionPlan::Segment& segment = plan.segments[static_cast<std::size_t>(s)];
    const std::int32_t* bases = plan.bases.data() + segment.base_begin;
    std::array<std::int64_t, tile_lanes> places;
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
      places[static_cast<std::size_t>(lane)] = lane * tile.book_stride + TileInputs<T>::margin + bases[lane];
    }
    f(std::int64_t{segment.column_begin}, std::int64_t{segment.column_end} - segment.column_begin, places.data());
  }
}

/// columns[c * 16 + lane] = products[places[lane] + c] for c < count, at most a segment's.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void load_segment(D d, const T* products, const std::int64_t* places, std::int64_t count, T* columns) {
  constexpr std::int64_t n = vector_lanes<T>, most = AttentionPlan::segment_columns;
  if constexpr (n > most) {
    hn::Vec<D> v[most];
    for (std::int64_t i = 0; i < most; ++i) v[i] = load_halves(d, products + places[i], products + places[most + i]);
    transpose_half_squares(d, v);
    for (std::int64_t c = 0; c < count; ++c) hn::StoreU(v[c], d, columns + c * tile_lanes);
  } else {
    for (std::int64_t c = 0; c < count; c += n) {
      for (std::int64_t lane = 0; lane < tile_lanes; lane += n) {
        hn::Vec<D> v[n];
        for (std::int64_t i = 0; i < n; ++i) v[i] = hn::LoadU(d, products + places[lane + i] + c);
        transpose_square(d, v);
        for (std::int64_t i = 0; i < std::min(n, count - c); ++i) {
          hn::StoreU(v[i], d, columns + (c + i) * tile_lanes + lane);
        }
      }
    }
  }
}

/// products[places[lane] + c] += columns[c * 16 + lane] for c < count, at most a segment's.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_segment(D d, const T* columns, std::int64_t count, const std::int64_t* places, T* products) {
  constexpr std::int64_t n = vector_lanes<T>, most = AttentionPlan::segment_columns;
  if constexpr (n > most) {
    hn::Vec<D> v[most];
    for (std::int64_t c = 0; c < most; ++c) v[c] = c < count ? hn::LoadU(d, columns + c * tile_lanes) : hn::Zero(d);
    transpose_half_squares(d, v);
    for (std::int64_t i = 0; i < most; ++i) {
      add_halves(d, v[i], products + places[i], products + places[most + i]);
    }
  } else {
    for (std::int64_t c = 0; c < count; c += n) {
      for (std::int64_t lane = 0; lane < tile_lanes; lane += n) {
        hn::Vec<D> v[n];
        for (std::int64_t i = 0; i < n; ++i) {
          v[i] = c + i < count ? hn::LoadU(d, columns + (c + i) * tile_lanes + lane) : hn::Zero(d);
        }
        transpose_square(d, v);
        for (std::int64_t i = 0; i < n; ++i) {
          T* place = products + places[lane + i] + c;
          hn::StoreU(hn::Add(hn::LoadU(d, place), v[i]), d, place);
        }
      }
    }
  }
}

/// Starts the scores with the products of queries and relations in mixed segments, 0 elsewhere. False, and nothing
/// done, if there are none.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE bool add_mixed_relations(D d, const AttentionPlan& plan, const AttentionPlan::Piece& piece,
                                    const TileInputs<T>& tile) {
  if (!tile.has_relations || piece.segment_begin == piece.segment_end) return false;
  for_segments(plan, piece, tile, [&](std::int64_t column, std::int64_t count, const std::int64_t* places) HWY_ATTR {
    load_segment(d, tile.book_products, places, count, tile.scores + column * tile_lanes);
  });
  std::fill(tile.scores + piece.fold_begin * tile_lanes,
            tile.scores + round_up(piece.num_columns, column_multiple) * tile_lanes, T{0});
  return true;
}

/// Drops weights of one head: sets them to 0 or scales them.
template <class D, typename T = hn::TFromD<D>>
void drop_weights(D, const AttentionPlan& plan, const AttentionPlan::Window& window, const AttentionPlan::Piece& piece,
                  const AttentionPlan::Tile& tile, const AttentionDropout& dropout, std::int64_t head, T* weights) {
  for (std::int64_t c = 0; c < piece.num_columns; ++c) {
    const auto column = static_cast<std::size_t>(piece.column_begin + c);
    for (std::int64_t lane = 0; lane < tile.num_lanes; ++lane) {
      if ((plan.column_masks[column] >> lane & 1) == 0) continue;
      const std::int32_t source =
          plan.window_sources[static_cast<std::size_t>(window.source_begin + row_of_lane(plan, column, lane))];
      const bool keeps = dropout.keeps(source, tile.rows[static_cast<std::size_t>(lane)], head, 0);
      T& weight = weights[c * tile_lanes + lane];
      weight = keeps ? static_cast<T>(dropout.scale) * weight : T{0};
    }
  }
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
