// Loading what the tiles of one work item read: staged blocks of keys and values, queries, relations, dropout.
// Compiled once per instruction set; include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_ATTENTION_CPU_TILE_INPUTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_ATTENTION_CPU_TILE_INPUTS_INL_H_
#undef BOUGH_KERNELS_ATTENTION_CPU_TILE_INPUTS_INL_H_
#else
#define BOUGH_KERNELS_ATTENTION_CPU_TILE_INPUTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "bough/detail/mp/prefetch.h"
#include "kernels/attention/cpu/dropout-inl.h"
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

/// Copies the rows of a staged block's sources, each filled up to whole vectors: row i of head h to
/// target[h * capacity + i].
/// False if one of them holds an infinity or NaN.
template <class D, typename T = hn::TFromD<D>>
bool stage_block(D d, const AttentionPlan& plan, const AttentionPlan::StagedBlock& staged, HeadRows<const T> source,
                 HeadBlock heads, std::int64_t width, std::int64_t capacity, T* target) {
  constexpr std::int64_t n = vector_lanes<T>;
  const std::int64_t padded = round_up(width, n), whole = width / n * n;
  const std::int32_t* sources = plan.staged_sources.data() + staged.source_begin;
  auto zeros = hn::Zero(d);  // 0 * x is 0 for every finite x
  constexpr std::int64_t ahead = 8;
  for (std::int64_t i = 0; i < staged.num_sources; ++i) {
    if (i + ahead < staged.num_sources) {
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

/// Asks for the keys and values of the staged block that comes next, a few at a time while tiles of this one are
/// computed: copying it would wait for memory while nothing is computed.
template <typename T>
class NextBlock {
 public:
  /// How often prefetch_some is called for each column block and head of the staged block at hand.
  static constexpr std::int64_t times_per_column_block = 3;

  /// `column_blocks`: number of those of the staged block at hand, times heads. A `number` past the last block is fine.
  NextBlock(const AttentionPlan& plan, std::int64_t number, HeadBlock heads, std::int64_t column_blocks)
      : heads_(heads) {
    if (!plan.prefetch_blocks || number >= static_cast<std::int64_t>(plan.staged_blocks.size())) return;
    const AttentionPlan::StagedBlock& next = plan.staged_blocks[static_cast<std::size_t>(number)];
    sources_ = plan.staged_sources.data() + next.source_begin;
    count_ = next.num_sources;
    const std::int64_t times = times_per_column_block * column_blocks;
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

/// One tile and head in one staged block, and what comes after it.
struct TilePass {
  const AttentionPlan::StagedBlock& staged;
  const AttentionPlan::Tile& tile;
  std::int32_t tile_number;
  std::int32_t block_begin, block_end;  ///< the tile's column blocks
  HeadBlock heads;
  std::int64_t h;                        ///< the head, counted inside `heads`
  const AttentionPlan::Tile* next_tile;  ///< null at the end
  std::int64_t next_h;

  std::int64_t head() const { return heads.first + h; }

  /// Asks for the rows of the next tile and head, which are read soon, while there is other work.
  template <typename T>
  HWY_INLINE void prefetch_next(HeadRows<const T> rows, std::int64_t width) const {
    if (next_tile == nullptr) return;
    for (std::int64_t lane = 0; lane < next_tile->num_lanes; ++lane) {
      mp::prefetch_row(rows(next_tile->rows[static_cast<std::size_t>(lane)], heads.first + next_h),
                       width * std::int64_t{sizeof(T)});
    }
  }
};

/// Calls f(TilePass) for each tile of a staged block, head by head so that rows near in memory follow each other.
template <class F>
HWY_INLINE void for_tiles_of_block(const AttentionPlan& plan, const AttentionPlan::StagedBlock& staged, HeadBlock heads,
                                   const F& f) {
  const auto tile_at = [&](std::int32_t block) { return plan.column_blocks[static_cast<std::size_t>(block)].tile; };
  for (std::int32_t begin = staged.column_block_begin, end = begin; begin < staged.column_block_end; begin = end) {
    const std::int32_t number = tile_at(begin);
    while (end < staged.column_block_end && tile_at(end) == number) ++end;
    const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(number)];
    const AttentionPlan::Tile* after =
        end < staged.column_block_end ? &plan.tiles[static_cast<std::size_t>(tile_at(end))] : nullptr;
    for (std::int64_t h = 0; h < heads.count; ++h) {
      const bool same = h + 1 < heads.count;
      f(TilePass{.staged = staged,
                 .tile = tile,
                 .tile_number = number,
                 .block_begin = begin,
                 .block_end = end,
                 .heads = heads,
                 .h = h,
                 .next_tile = same ? &tile : after,
                 .next_h = same ? h + 1 : 0});
    }
  }
}

/// Where the rows of each column are in a staged block, for both lane groups; filled up to a multiple of
/// column_multiple.
template <typename Row, typename T>
HWY_INLINE void find_rows(const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block, T* staged_rows,
                          std::int64_t width, std::array<Row*, lane_groups> rows) {
  const std::uint16_t* places = plan.column_rows.data() + lane_groups * block.column_begin;
  for (std::int64_t c = 0; c < block.num_columns; ++c) {
    rows[0][c] = staged_rows + places[2 * c] * width;
    rows[1][c] = staged_rows + places[2 * c + 1] * width;
  }
  for (Row* of_group : rows) {
    std::fill(of_group + block.num_columns, of_group + round_up(block.num_columns, column_multiple), staged_rows);
  }
}

/// The row of a column's source in the staged block, for a lane. The column is counted in the plan.
HWY_INLINE std::int64_t row_of_lane(const AttentionPlan& plan, std::int64_t column, std::int64_t lane) {
  return plan.column_rows[static_cast<std::size_t>(lane_groups * column + lane / lane_group_size)];
}

/// Calls f(column in the block, lane) for each edge of a column block.
template <class F>
HWY_INLINE void for_edges_of_block(const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block, const F& f) {
  for (std::int64_t c = 0; c < block.num_columns; ++c) {
    const LaneMask mask = plan.column_masks[static_cast<std::size_t>(block.column_begin + c)];
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
      if ((mask >> lane & 1) != 0) f(c, lane);
    }
  }
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

/// What the scores of tiles are computed from: keys of the staged block for some heads, and the queries of one tile and
/// head.
template <typename T>
struct TileInputs {
  static constexpr std::int64_t most_columns = AttentionPlan::most_block_columns;
  /// Room before and after the products of a lane with the dictionary: see AttentionPlan::MixedColumns.
  static constexpr std::int64_t margin = tile_lanes;

  template <class D>
  TileInputs(D d, const AttentionPlan& plan, const AttentionPlan::WorkItem& item, const AttentionInputs<T>& in,
             HeadBlock block)
      : heads(block), width(in.width), padded_width(round_up(in.width, vector_lanes<T>)) {
    std::int64_t most_blocks = 0;
    for (std::int32_t w = item.staged_begin; w < item.staged_end; ++w) {
      block_capacity =
          std::max<std::int64_t>(block_capacity, plan.staged_blocks[static_cast<std::size_t>(w)].num_sources);
    }
    for (std::int32_t t = item.tile_begin; t < item.tile_end; ++t) {
      const AttentionPlan::Tile& tile = plan.tiles[static_cast<std::size_t>(t)];
      most_blocks = std::max<std::int64_t>(most_blocks, tile.dictionary_block_end - tile.dictionary_block_begin);
    }
    has_relations = static_cast<bool>(in.relation_keys);
    relation_stride = 2 * margin + most_blocks * AttentionPlan::dictionary_block;
    dictionary_size = has_relations ? (item.dictionary_end - item.dictionary_begin) * padded_width : 0;
    dictionaries = has_relations && in.relation_keys.head_stride != 0 ? heads.count : 1;
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
    std::fill(relation_products, relation_products + tile_lanes * relation_stride, T{0});
    for (std::int64_t b = 0; b < dictionaries; ++b)
      load_dictionary(d, plan, item, in, heads.first + b, dictionary + b * dictionary_size);
  }

  void place(MemoryParts<T>& parts) {
    keys = parts.take(heads.count * block_capacity * padded_width);
    queries = parts.take(tile_lanes * padded_width);
    lanes = parts.take(tile_lanes * padded_width);
    scores = parts.take(most_columns * tile_lanes);
    for (T*& folded : folded_keys) folded = parts.take(has_relations ? most_columns * padded_width : 0);
    relation_products = parts.take(has_relations ? tile_lanes * relation_stride : 0);
    dictionary = parts.take(dictionaries * dictionary_size);
  }

  /// The relations of the work item's dictionary, each block of 16 packed as lanes.
  template <class D>
  void load_dictionary(D d, const AttentionPlan& plan, const AttentionPlan::WorkItem& item,
                       const AttentionInputs<T>& in, std::int64_t head, T* target) const {
    constexpr std::int64_t block = AttentionPlan::dictionary_block;
    const Scratch<T> rows(block * padded_width);
    for (std::int64_t begin = 0; begin < item.dictionary_end - item.dictionary_begin; begin += block) {
      for (std::int64_t r = 0; r < block; ++r) {
        const std::int64_t relation =
            plan.dictionary_relations[static_cast<std::size_t>(item.dictionary_begin + begin + r)];
        load_row(d, T{1}, in.relation_keys(relation, head), rows.data() + r * padded_width, width);
      }
      pack_lanes(d, rows.data(), padded_width, padded_width, target + begin * padded_width);
    }
  }

  template <class D>
  void load_keys(D d, const AttentionPlan& plan, const AttentionPlan::StagedBlock& staged,
                 const AttentionInputs<T>& in) const {
    stage_block(d, plan, staged, in.k, heads, in.width, block_capacity, keys);
  }

  /// The tile's queries, scaled: row by row, transposed, and multiplied with the tile's blocks of the
  /// dictionary. Heads are numbered inside `heads`, here and below.
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
    constexpr std::int64_t block = AttentionPlan::dictionary_block;
    const T* dictionary_of_head = dictionary + (dictionaries == 1 ? 0 : head) * dictionary_size;
    for (std::int32_t b = tile.dictionary_block_begin; b < tile.dictionary_block_end; ++b) {
      const T* relations =
          dictionary_of_head + plan.dictionary_blocks[static_cast<std::size_t>(b)] * block * padded_width;
      products_with_lanes<false>(d, relations, query_rows, query_rows, tile_lanes, padded_width, false,
                                 relation_products + margin + (b - tile.dictionary_block_begin) * block,
                                 relation_stride);
    }
  }

  /// Where the keys of each column are: in the staged block, or with a relation added.
  template <class D>
  void load_key_rows(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block,
                     const AttentionInputs<T>& in, std::int64_t head) const {
    find_rows(plan, block, keys + head * block_capacity * padded_width, padded_width, key_rows);
    if (!has_relations) return;
    const std::int32_t* relations = plan.column_relations.data() + lane_groups * block.column_begin;
    const auto fold = [&](std::int64_t c, std::size_t group) HWY_ATTR {
      T* target = folded_keys[group] + c * padded_width;
      add_rows(d, key_rows[group][c],
               in.relation_keys(relations[2 * c + static_cast<std::int64_t>(group)], heads.first + head), target,
               width);
      std::fill(target + width, target + padded_width, T{0});
      key_rows[group][c] = target;
    };
    for (std::int64_t c = block.fold_begin; c < block.paired_end; ++c) fold(c, 1);
    for (std::int64_t c = block.fold_begin; c < block.num_columns; ++c) fold(c, 0);
    std::copy(key_rows[0] + block.paired_end, key_rows[0] + block.num_columns, key_rows[1] + block.paired_end);
  }

  /// Products of the lanes with the keys of the block, into the scores.
  template <class D>
  HWY_INLINE void multiply_keys(D d, const AttentionPlan::ColumnBlock& block, bool accumulate) const {
    tile_products(d, lanes, {key_rows, block.paired_begin, block.paired_end},
                  round_up(block.num_columns, column_multiple), padded_width, accumulate, scores);
  }

  HeadBlock heads;
  std::int64_t width, padded_width, block_capacity = 0, relation_stride = 0, dictionary_size = 0, dictionaries = 1;
  bool has_relations = false;
  Scratch<T> memory;
  Scratch<const T*> rows_memory;
  T* keys = nullptr;                 ///< [head, block_capacity, padded_width]
  T* queries = nullptr;              ///< [16, padded_width]
  T* lanes = nullptr;                ///< the queries as pack_lanes leaves them
  T* scores = nullptr;               ///< scores[column * 16 + lane]
  T* folded_keys[lane_groups] = {};  ///< [column, padded_width] for each lane group
  T* dictionary = nullptr;           ///< one, or one for each head
  T* relation_products = nullptr;  ///< [lane * relation_stride + margin + place in the tile's blocks of the dictionary]
  std::array<const T**, lane_groups> key_rows = {};  ///< of the columns at hand, for each lane group
  const T** query_rows = nullptr;                    ///< the 16 rows of `queries`
};

/// Calls f(column, count, places) for the mixed columns of a block, a few at a time: the products of lane i with the
/// relations of column, column + 1, ... stand at places[i] of the relation products.
template <typename T, class F>
HWY_INLINE void for_mixed_columns(const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block,
                                  const TileInputs<T>& tile, const F& f) {
  for (std::int32_t s = block.mixed_begin; s < block.mixed_end; ++s) {
    const AttentionPlan::MixedColumns& mixed = plan.mixed_columns[static_cast<std::size_t>(s)];
    const std::int32_t* first_places = plan.dictionary_places.data() + mixed.place_begin;
    std::array<std::int64_t, tile_lanes> places;
    for (std::int64_t lane = 0; lane < tile_lanes; ++lane) {
      places[static_cast<std::size_t>(lane)] = lane * tile.relation_stride + TileInputs<T>::margin + first_places[lane];
    }
    f(std::int64_t{mixed.column_begin}, std::int64_t{mixed.column_end} - mixed.column_begin, places.data());
  }
}

/// columns[c * 16 + lane] = products[places[lane] + c] for c < count, at most most_mixed_columns.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void load_mixed_columns(D d, const T* products, const std::int64_t* places, std::int64_t count, T* columns) {
  constexpr std::int64_t n = vector_lanes<T>, most = AttentionPlan::most_mixed_columns;
  if constexpr (n > most) {
    hn::Vec<D> v[most];
    for (std::int64_t i = 0; i < most; ++i)
      v[i] = load_lane_groups(d, products + places[i], products + places[most + i]);
    transpose_lane_groups(d, v);
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

/// products[places[lane] + c] += columns[c * 16 + lane] for c < count, at most most_mixed_columns.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void add_mixed_columns(D d, const T* columns, std::int64_t count, const std::int64_t* places, T* products) {
  constexpr std::int64_t n = vector_lanes<T>, most = AttentionPlan::most_mixed_columns;
  if constexpr (n > most) {
    hn::Vec<D> v[most];
    for (std::int64_t c = 0; c < most; ++c) v[c] = c < count ? hn::LoadU(d, columns + c * tile_lanes) : hn::Zero(d);
    transpose_lane_groups(d, v);
    for (std::int64_t i = 0; i < most; ++i) {
      add_to_lane_groups(d, v[i], products + places[i], products + places[most + i]);
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

/// Starts the scores with the products of queries and relations in mixed columns, 0 elsewhere. False, and nothing
/// done, if there are none.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE bool add_mixed_relations(D d, const AttentionPlan& plan, const AttentionPlan::ColumnBlock& block,
                                    const TileInputs<T>& tile) {
  if (!tile.has_relations || block.mixed_begin == block.mixed_end) return false;
  for_mixed_columns(plan, block, tile,
                    [&](std::int64_t column, std::int64_t count, const std::int64_t* places) HWY_ATTR {
                      load_mixed_columns(d, tile.relation_products, places, count, tile.scores + column * tile_lanes);
                    });
  std::fill(tile.scores + block.fold_begin * tile_lanes,
            tile.scores + round_up(block.num_columns, column_multiple) * tile_lanes, T{0});
  return true;
}

/// masks[c]: the lanes whose edge with column c of the block survives dropout. Bits of lanes without the edge mean
/// nothing. Columns mostly come with ascending sources, so that a draw serves up to four of them: forward of a bpt with
/// k = 64 takes 2.5 ms, with a draw for each column 3.3 ms.
inline void find_dropout_masks(const AttentionPlan& plan, const TilePass& pass, const AttentionPlan::ColumnBlock& block,
                               const AttentionDropout& dropout, LaneMask* masks) {
  const hn::CappedTag<std::uint64_t, lane_group_size> d;
  HWY_ALIGN std::uint64_t destinations[tile_lanes];
  for (std::size_t lane = 0; lane < tile_lanes; ++lane) {
    destinations[lane] = static_cast<std::uint32_t>(pass.tile.rows[lane]);
  }
  const auto last_counter = hn::Set(d, dropout.last_counter(pass.head(), 0));
  const std::int32_t* sources = plan.staged_sources.data() + pass.staged.source_begin;
  const std::uint16_t* rows = plan.column_rows.data() + lane_groups * block.column_begin;
  std::fill(masks, masks + block.num_columns, LaneMask{0});
  for (std::int64_t group = 0; group < lane_groups; ++group) {
    std::uint32_t drawn = ~0u;  // the sources of which drawn_lanes tells; none at first
    std::array<std::uint32_t, sources_per_draw> drawn_lanes = {};
    for (std::int64_t c = 0; c < block.num_columns; ++c) {
      const auto source = static_cast<std::uint32_t>(sources[rows[lane_groups * c + group]]);
      if (drawn != source / sources_per_draw) {
        drawn = source / sources_per_draw;
        drawn_lanes = {};
        for (std::size_t i = 0; i < lane_group_size; i += hn::Lanes(d)) {
          const std::size_t lane = static_cast<std::size_t>(group) * lane_group_size + i;
          const auto lanes =
              dropout_masks(d, dropout, hn::Set(d, drawn), hn::Load(d, destinations + lane), last_counter);
          for (std::size_t s = 0; s < sources_per_draw; ++s) drawn_lanes[s] |= lanes[s] << lane;
        }
      }
      masks[c] |= static_cast<LaneMask>(drawn_lanes[source % sources_per_draw]);
    }
  }
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
