// What the row kernels of graph attention share: products of feature vectors, and the scores of a few edges of
// one row for all heads. Compiled once per instruction set; include it inside a foreach_target file.
#if defined(BOUGH_KERNELS_ATTENTION_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BOUGH_KERNELS_ATTENTION_CPU_ROWS_INL_H_
#undef BOUGH_KERNELS_ATTENTION_CPU_ROWS_INL_H_
#else
#define BOUGH_KERNELS_ATTENTION_CPU_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "bough/detail/mp/prefetch.h"
#include "kernels/attention/cpu/dropout-inl.h"
#include "kernels/attention/cpu/rows.h"
#include "kernels/attention/views.h"
#include "kernels/cpu/row_loop-inl.h"
#include "kernels/cpu/simd_math-inl.h"
#include "kernels/cpu/streaming.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE T dot(D d, const T* a, const T* b, std::int64_t count) {
  auto sum = hn::Zero(d);
  simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
    sum = hn::MulAdd(access.load(d, a + i, T{0}), access.load(d, b + i, T{0}), sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// a.(b + c)
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE T dot_with_sum(D d, const T* a, const T* b, const T* c, std::int64_t count) {
  auto sum = hn::Zero(d);
  simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
    const auto both = hn::Add(access.load(d, b + i, T{0}), access.load(d, c + i, T{0}));
    sum = hn::MulAdd(access.load(d, a + i, T{0}), both, sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// y *= factor
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void scale_in_place(D d, T factor, T* y, std::int64_t count) {
  const auto f = hn::Set(d, factor);
  simd::for_each_vector(d, count, [&](std::int64_t i, auto access) HWY_ATTR {
    access.store(hn::Mul(f, access.load(d, y + i, T{0})), d, y + i);
  });
}

/// sum += weights[0] rows(0) + weights[1] rows(1) + ...; the sum stays in registers, four vectors at a time.
template <class D, class RowOf, typename T = hn::TFromD<D>>
HWY_INLINE void add_weighted_rows(D d, std::int64_t num_rows, const T* weights, const RowOf& row_of, T* sum,
                                  std::int64_t width) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    auto s0 = hn::LoadU(d, sum + i), s1 = hn::LoadU(d, sum + i + lanes), s2 = hn::LoadU(d, sum + i + 2 * lanes),
         s3 = hn::LoadU(d, sum + i + 3 * lanes);
    for (std::int64_t r = 0; r < num_rows; ++r) {
      const auto w = hn::Set(d, weights[r]);
      const T* row = row_of(r) + i;
      s0 = hn::MulAdd(w, hn::LoadU(d, row), s0);
      s1 = hn::MulAdd(w, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(w, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(w, hn::LoadU(d, row + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, sum + i);
    hn::StoreU(s1, d, sum + i + lanes);
    hn::StoreU(s2, d, sum + i + 2 * lanes);
    hn::StoreU(s3, d, sum + i + 3 * lanes);
  }
  for (; i + lanes <= width; i += lanes) {
    auto s = hn::LoadU(d, sum + i);
    for (std::int64_t r = 0; r < num_rows; ++r) {
      s = hn::MulAdd(hn::Set(d, weights[r]), hn::LoadU(d, row_of(r) + i), s);
    }
    hn::StoreU(s, d, sum + i);
  }
  if (i < width) {
    const simd::Part part{width - i};
    auto s = part.load(d, sum + i, T{0});
    for (std::int64_t r = 0; r < num_rows; ++r) {
      s = hn::MulAdd(hn::Set(d, weights[r]), part.load(d, row_of(r) + i, T{0}), s);
    }
    part.store(s, d, sum + i);
  }
}

/// True if results of so many elements a row are too large to find them in the cache afterwards.
template <typename T>
bool streams_rows(const AttentionEdges& edges, std::int64_t elements) {
  return edges.view.num_rows() * elements * static_cast<std::int64_t>(sizeof(T)) >= streamed_bytes;
}

/// Which end of the edges a row of the compressed view is.
enum class RowIs { destination, source };

/// Calls f(row, begin, end, partial) for the rows of items [first, last) with the positions of their edges. With
/// partial >= 0 they are some of the row's edges, and the result is that partial one.
template <class F>
HWY_INLINE void for_rows_of_items(const AttentionEdges& edges, std::int64_t first, std::int64_t last, const F& f) {
  for (std::int64_t i = first; i < last; ++i) {
    const AttentionRowItem& item = edges.schedule->items[static_cast<std::size_t>(i)];
    const bool part = item.partial >= 0;
    for (std::int64_t row = item.row_begin; row < item.row_end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      f(row, part ? item.edge_begin : edges.view.offsets[r], part ? item.edge_end : edges.view.offsets[r + 1],
        static_cast<std::int64_t>(item.partial));
    }
  }
}

/// A few consecutive edges of one row.
struct EdgeChunk {
  static constexpr std::int64_t capacity = 32;
  std::int64_t count = 0;
  const std::int32_t* others = nullptr;  ///< the other ends
  std::int64_t known = 0;                ///< of others: those of the edges that come next follow, also of other rows
  std::int32_t edge_ids[capacity];
  std::int32_t types[capacity];
  std::uint32_t ordinals[capacity];  ///< among parallel edges; only if dropout is on
};

/// Edges at positions [begin, min(begin + capacity, end)) of a row that starts at row_begin.
template <typename T>
HWY_INLINE void load_chunk(const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t row_begin,
                           std::int64_t begin, std::int64_t end, EdgeChunk& chunk) {
  chunk.count = std::min(end - begin, EdgeChunk::capacity);
  chunk.others = edges.view.indices.data() + begin;
  chunk.known = static_cast<std::int64_t>(edges.view.indices.size()) - begin;
  const std::int32_t* ids = edges.view.edge_ids.data() + begin;
  for (std::int64_t j = 0; j < chunk.count; ++j) chunk.edge_ids[j] = ids[j];
  if (in.uses_relations()) {
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      chunk.types[j] = edges.types[static_cast<std::size_t>(chunk.edge_ids[j])];
    }
  }
  if (in.dropout.active()) {
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      if (j > 0) {
        chunk.ordinals[j] = chunk.others[j] == chunk.others[j - 1] ? chunk.ordinals[j - 1] + 1 : 0;
        continue;
      }
      chunk.ordinals[0] = 0;
      const std::int32_t* first = edges.view.indices.data() + row_begin;
      for (const std::int32_t* p = chunk.others; p > first && p[-1] == *p; --p) ++chunk.ordinals[0];
    }
  }
}

/// Asks for what the edge a little after edge j of a chunk will read at its other end.
template <RowIs row_is, typename T>
HWY_INLINE void prefetch_after(const AttentionInputs<T>& in, HeadRows<const T> d_out, const EdgeChunk& chunk,
                               std::int64_t j) {
  constexpr std::int64_t ahead = 6, size = sizeof(T);
  if (j + ahead >= chunk.known) return;
  constexpr bool by_destination = row_is == RowIs::destination;
  const std::int64_t other = chunk.others[j + ahead];
  mp::prefetch_row((by_destination ? in.k : in.q)(other, 0), in.heads * in.width * size);
  mp::prefetch_row((by_destination ? in.v : d_out)(other, 0), in.heads * in.value_width * size);
}

/// scores[head * capacity + j] of the chunk; -infinity beyond its end, so that whole vectors can be computed with.
/// Asks for the values (with rows that are sources: for d_out) of the edges too, which are needed next.
template <RowIs row_is, class D, typename T = hn::TFromD<D>>
HWY_INLINE void chunk_scores(D d, const AttentionInputs<T>& in, HeadRows<const T> d_out, std::int64_t row,
                             const EdgeChunk& chunk, T* scores) {
  constexpr std::int64_t capacity = EdgeChunk::capacity;
  constexpr bool by_destination = row_is == RowIs::destination;
  for (std::int64_t j = 0; j < chunk.count; ++j) {
    prefetch_after<row_is>(in, d_out, chunk, j);
    const std::int64_t src = by_destination ? chunk.others[j] : row, dst = by_destination ? row : chunk.others[j];
    for (std::int64_t h = 0; h < in.heads; ++h) {
      T score = in.relation_keys
                    ? dot_with_sum(d, in.q(dst, h), in.k(src, h), in.relation_keys(chunk.types[j], h), in.width)
                    : dot(d, in.q(dst, h), in.k(src, h), in.width);
      score *= in.scale;
      if (in.relation_bias) score += *in.relation_bias(chunk.types[j], h);
      if (in.edge_bias) score += *in.edge_bias(chunk.edge_ids[j], h);
      scores[h * capacity + j] = score;
    }
  }
  for (std::int64_t h = 0; h < in.heads; ++h) {
    std::fill(scores + h * capacity + chunk.count, scores + (h + 1) * capacity, -std::numeric_limits<T>::infinity());
  }
}

/// products[head * capacity + j] = d_out[dst].(v[src] + relation value)
template <RowIs row_is, class D, typename T = hn::TFromD<D>>
HWY_INLINE void chunk_value_products(D d, const AttentionInputs<T>& in, HeadRows<const T> d_out, std::int64_t row,
                                     const EdgeChunk& chunk, T* products) {
  constexpr std::int64_t capacity = EdgeChunk::capacity;
  constexpr bool by_destination = row_is == RowIs::destination;
  for (std::int64_t j = 0; j < chunk.count; ++j) {
    const std::int64_t src = by_destination ? chunk.others[j] : row, dst = by_destination ? row : chunk.others[j];
    for (std::int64_t h = 0; h < in.heads; ++h) {
      products[h * capacity + j] =
          in.relation_values
              ? dot_with_sum(d, d_out(dst, h), in.v(src, h), in.relation_values(chunk.types[j], h), in.value_width)
              : dot(d, d_out(dst, h), in.v(src, h), in.value_width);
    }
  }
  for (std::int64_t h = 0; h < in.heads; ++h) {
    std::fill(products + h * capacity + chunk.count, products + (h + 1) * capacity, T{0});
  }
}

/// factors[head * capacity + j] = 0 where the edge is dropped and beyond the end of the chunk, else dropout's scale.
template <RowIs row_is, class D, typename T = hn::TFromD<D>>
void chunk_dropout(D d, const AttentionInputs<T>& in, std::int64_t row, const EdgeChunk& chunk, T* factors) {
  constexpr std::size_t capacity = EdgeChunk::capacity;
  const hn::CappedTag<std::uint64_t, capacity> counters;
  const auto count = static_cast<std::size_t>(chunk.count);
  HWY_ALIGN std::uint64_t source_blocks[capacity] = {}, destinations[capacity] = {}, last_counters[capacity] = {};
  std::array<std::uint32_t, sources_per_draw> edges_of_place = {};  // bit j: edge j has that source of its block
  for (std::size_t j = 0; j < count; ++j) {
    const auto other = static_cast<std::uint32_t>(chunk.others[j]), self = static_cast<std::uint32_t>(row);
    const std::uint32_t source = row_is == RowIs::destination ? other : self;
    source_blocks[j] = source / sources_per_draw;
    destinations[j] = row_is == RowIs::destination ? self : other;
    edges_of_place[source % sources_per_draw] |= 1u << j;
  }
  const auto scale = hn::Set(d, static_cast<T>(in.dropout.scale));
  for (std::int64_t h = 0; h < in.heads; ++h) {
    for (std::size_t j = 0; j < count; ++j) last_counters[j] = in.dropout.last_counter(h, chunk.ordinals[j]);
    std::uint64_t mask = 0;  // bit j: edge j survives
    for (std::size_t j = 0; j < count; j += hn::Lanes(counters)) {
      const auto masks = dropout_masks(counters, in.dropout, hn::Load(counters, source_blocks + j),
                                       hn::Load(counters, destinations + j), hn::Load(counters, last_counters + j));
      for (std::size_t s = 0; s < sources_per_draw; ++s) mask |= (masks[s] << j) & edges_of_place[s];
    }
    for (std::size_t j = 0; j < capacity; j += hn::Lanes(d), mask >>= hn::Lanes(d)) {
      const auto lanes = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&mask));
      hn::StoreU(hn::IfThenElseZero(lanes, scale), d, factors + static_cast<std::size_t>(h) * capacity + j);
    }
  }
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
