#include "kernels/attention/cpu/rows.h"

#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What is known of a row after some of its edges: the largest score, and sums of exponentials relative to it.
template <typename T>
struct RowState {
  T* row_max;  ///< [heads]
  T* row_sum;  ///< [heads]
  T* sum;      ///< [heads, value_width]
};

/// Replaces scores by exponentials relative to the new largest score; rescales what was summed before.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void exponentiate_chunk(D d, const AttentionInputs<T>& in, std::int64_t head, const EdgeChunk& chunk,
                                   T* scores, const RowState<T>& state) {
  constexpr std::int64_t capacity = EdgeChunk::capacity;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  T weights[capacity];
  if (in.edge_weights) {
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      weights[j] = *in.edge_weights(chunk.edge_ids[j], head);
      // An edge of weight 0 is no edge: its score, however large, must not push the others towards 0.
      if (weights[j] == T{0}) scores[j] = -std::numeric_limits<T>::infinity();
    }
    std::fill(weights + chunk.count, weights + capacity, T{0});
  }
  auto row_max = hn::Set(d, state.row_max[head]);
  for (std::int64_t j = 0; j < capacity; j += lanes) row_max = hn::Max(row_max, hn::LoadU(d, scores + j));
  const T new_max = hn::GetLane(hn::MaxOfLanes(d, row_max));
  // All scores so far may be -infinity; what they are relative to must be finite.
  const auto base = hn::Set(d, std::max(new_max, std::numeric_limits<T>::lowest()));
  auto row_sum = hn::Zero(d);
  for (std::int64_t j = 0; j < capacity; j += lanes) {
    auto p = simd::exp(d, hn::Sub(hn::LoadU(d, scores + j), base));
    if (in.edge_weights) p = hn::Mul(p, hn::LoadU(d, weights + j));
    row_sum = hn::Add(row_sum, p);
    hn::StoreU(p, d, scores + j);
  }
  const T factor = hn::GetLane(simd::exp(d, hn::Sub(hn::Set(d, state.row_max[head]), base)));
  state.row_sum[head] = state.row_sum[head] * factor + hn::GetLane(hn::SumOfLanes(d, row_sum));
  if (factor != T{1}) scale_in_place(d, factor, state.sum + head * in.value_width, in.value_width);
  state.row_max[head] = new_max;
}

template <class D, typename T = hn::TFromD<D>>
void attend_edges(D d, const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t row, std::int64_t begin,
                  std::int64_t end, T* room, const RowState<T>& state) {
  constexpr std::int64_t capacity = EdgeChunk::capacity;
  std::fill(state.row_max, state.row_max + in.heads, -std::numeric_limits<T>::infinity());
  std::fill(state.row_sum, state.row_sum + in.heads, T{0});
  std::fill(state.sum, state.sum + in.heads * in.value_width, T{0});
  T* scores = room;
  T* dropout_factors = room + in.heads * capacity;
  EdgeChunk chunk;
  for (std::int64_t e = begin; e < end; e += capacity) {
    load_chunk(edges, in, edges.view.offsets[static_cast<std::size_t>(row)], e, end, chunk);
    chunk_scores<RowIs::destination>(d, in, {}, row, chunk, scores);
    if (in.dropout.active()) chunk_dropout<RowIs::destination>(d, in, row, chunk, dropout_factors);
    for (std::int64_t h = 0; h < in.heads; ++h) {
      T* p = scores + h * capacity;
      exponentiate_chunk(d, in, h, chunk, p, state);
      if (in.dropout.active()) {
        for (std::int64_t j = 0; j < chunk.count; ++j) p[j] *= dropout_factors[h * capacity + j];
      }
      T* sum = state.sum + h * in.value_width;
      add_weighted_rows(
          d, chunk.count, p, [&](std::int64_t j) { return in.v(chunk.others[j], h); }, sum, in.value_width);
      if (in.relation_values) {
        add_weighted_rows(
            d, chunk.count, p, [&](std::int64_t j) { return in.relation_values(chunk.types[j], h); }, sum,
            in.value_width);
      }
    }
  }
}

/// The row's result from its state.
template <class D, typename T = hn::TFromD<D>>
void finish_row(D d, const AttentionInputs<T>& in, std::int64_t row, const RowState<T>& state, bool stream,
                const AttentionOutputs<T>& result) {
  for (std::int64_t h = 0; h < in.heads; ++h) {
    const T row_sum = state.row_sum[h];
    simd::stream_scaled(d, stream, row_sum == 0 ? T{0} : 1 / row_sum, state.sum + h * in.value_width,
                        result.out(row, h), in.value_width);
    *result.lse(row, h) = row_sum == 0 ? std::numeric_limits<T>::infinity() : state.row_max[h] + std::log(row_sum);
  }
}

/// Number of elements of one state: row_max and row_sum of each head, then the sums.
template <typename T>
std::int64_t state_size(const AttentionInputs<T>& in) {
  return in.heads * (2 + in.value_width);
}

template <typename T>
RowState<T> state_at(const AttentionInputs<T>& in, T* memory) {
  return {memory, memory + in.heads, memory + 2 * in.heads};
}

template <typename T>
void attend_items(const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t first, std::int64_t last,
                  T* partials, const AttentionOutputs<T>& result) {
  const hn::ScalableTag<T> d;
  const Scratch<T> room(2 * in.heads * EdgeChunk::capacity + state_size(in));
  const RowState<T> state = state_at(in, room.data() + 2 * in.heads * EdgeChunk::capacity);
  const bool stream = streams_rows<T>(edges, in.heads * in.value_width);
  const auto attend = [&](std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t partial) {
    const bool part = partial >= 0;
    const RowState<T> used = part ? state_at(in, partials + partial * state_size(in)) : state;
    attend_edges(d, edges, in, row, begin, end, room.data(), used);
    if (!part) finish_row(d, in, row, used, stream, result);
  };
  for_rows_of_items(edges, first, last, attend);
  hwy::FlushStream();
}

/// Puts the partial results of a split row together, in their order.
template <typename T>
void merge_partials(const AttentionInputs<T>& in, const SplitAttentionRow& row, T* partials,
                    const AttentionOutputs<T>& result) {
  const hn::ScalableTag<T> d;
  const RowState<T> whole = state_at(in, partials + row.first_partial * state_size(in));
  for (std::int32_t i = 1; i < row.num_partials; ++i) {
    const RowState<T> part = state_at(in, partials + (row.first_partial + i) * state_size(in));
    for (std::int64_t h = 0; h < in.heads; ++h) {
      const T row_max = std::max(whole.row_max[h], part.row_max[h]),
              base = std::max(row_max, std::numeric_limits<T>::lowest());
      const T keep = std::exp(whole.row_max[h] - base), add = std::exp(part.row_max[h] - base);
      T* sum = whole.sum + h * in.value_width;
      scale_in_place(d, keep, sum, in.value_width);
      simd::add_scaled(d, add, part.sum + h * in.value_width, sum, in.value_width);
      whole.row_sum[h] = keep * whole.row_sum[h] + add * part.row_sum[h];
      whole.row_max[h] = row_max;
    }
  }
  finish_row(d, in, row.row, whole, false, result);
}

template <typename T>
void delta_rows(std::int64_t first, std::int64_t last, const AttentionInputs<T>& in, HeadRows<const T> out,
                HeadRows<const T> d_out, HeadRows<T> delta) {
  const hn::ScalableTag<T> d;
  for (std::int64_t row = first; row < last; ++row) {
    for (std::int64_t h = 0; h < in.heads; ++h) *delta(row, h) = dot(d, out(row, h), d_out(row, h), in.value_width);
  }
}

template <typename T>
void weigh_items(const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t first, std::int64_t last,
                 HeadRows<const T> lse, HeadRows<T> weights) {
  const hn::ScalableTag<T> d;
  const Scratch<T> scores(in.heads * EdgeChunk::capacity);
  EdgeChunk chunk;
  for_rows_of_items(edges, first, last, [&](std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t e = begin; e < end; e += EdgeChunk::capacity) {
      load_chunk(edges, in, edges.view.offsets[static_cast<std::size_t>(row)], e, end, chunk);
      chunk_scores<RowIs::destination>(d, in, {}, row, chunk, scores.data());
      for (std::int64_t h = 0; h < in.heads; ++h) {
        for (std::int64_t j = 0; j < chunk.count; ++j) {
          const T factor = in.edge_weights ? *in.edge_weights(chunk.edge_ids[j], h) : T{1};
          const T score = scores[h * EdgeChunk::capacity + j];
          *weights(chunk.edge_ids[j], h) = factor == T{0} ? T{0} : factor * std::exp(score - *lse(row, h));
        }
      }
    }
  });
}

RowFunctions<float> row_functions_float() {
  return {attend_items<float>, merge_partials<float>, delta_rows<float>, weigh_items<float>};
}
RowFunctions<double> row_functions_double() {
  return {attend_items<double>, merge_partials<double>, delta_rows<double>, weigh_items<double>};
}

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(row_functions_float);
HWY_EXPORT(row_functions_double);

template <typename T>
RowFunctions<T> row_functions() {
  if constexpr (std::is_same_v<T, float>)
    return HWY_DYNAMIC_DISPATCH(row_functions_float)();
  else
    return HWY_DYNAMIC_DISPATCH(row_functions_double)();
}

/// Number of items that one task takes: enough work to be worth a thread.
template <typename T>
std::int64_t items_per_task(const AttentionInputs<T>& in) {
  return rows_per_chunk(1024 * in.heads * (in.width + in.value_width), 1 << 19);
}

}  // namespace

template <typename T>
void attend_rows(Cpu, const AttentionEdges& edges, const AttentionInputs<T>& in, const AttentionOutputs<T>& result) {
  const RowFunctions<T> functions = row_functions<T>();
  const RowSchedule& schedule = *edges.schedule;
  const Scratch<T> partials(schedule.num_partials * in.heads * (2 + in.value_width));
  parallel_chunks(static_cast<std::int64_t>(schedule.items.size()), items_per_task(in),
                  [&](std::int64_t first, std::int64_t last) {
                    functions.attend_items(edges, in, first, last, partials.data(), result);
                  });
  parallel_chunks(static_cast<std::int64_t>(schedule.split_rows.size()), 1, [&](std::int64_t i, std::int64_t) {
    functions.merge_partials(in, schedule.split_rows[static_cast<std::size_t>(i)], partials.data(), result);
  });
}

template <typename T>
void attention_delta(Cpu, const RowSchedule& rows, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<T> delta) {
  const RowFunctions<T> functions = row_functions<T>();
  // An item has one row at least.
  parallel_chunks(static_cast<std::int64_t>(rows.items.size()), rows_per_chunk(in.heads * in.value_width),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                      const AttentionRowItem& item = rows.items[static_cast<std::size_t>(i)];
                      if (item.partial >= 0) continue;
                      functions.delta_rows(item.row_begin, item.row_end, in, out, d_out, delta);
                    }
                  });
  for (const SplitAttentionRow& split : rows.split_rows) {
    functions.delta_rows(split.row, split.row + 1, in, out, d_out, delta);
  }
}

template <typename T>
void attention_weights(Cpu, const AttentionEdges& edges, const AttentionInputs<T>& in, HeadRows<const T> lse,
                       HeadRows<T> weights) {
  const RowFunctions<T> functions = row_functions<T>();
  parallel_chunks(
      static_cast<std::int64_t>(edges.schedule->items.size()), items_per_task(in),
      [&](std::int64_t first, std::int64_t last) { functions.weigh_items(edges, in, first, last, lse, weights); });
}

template void attend_rows(Cpu, const AttentionEdges&, const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attention_delta(Cpu, const RowSchedule&, const AttentionInputs<float>&, HeadRows<const float>,
                              HeadRows<const float>, HeadRows<float>);
template void attention_weights(Cpu, const AttentionEdges&, const AttentionInputs<float>&, HeadRows<const float>,
                                HeadRows<float>);
template void attend_rows(Cpu, const AttentionEdges&, const AttentionInputs<double>&, const AttentionOutputs<double>&);
template void attention_delta(Cpu, const RowSchedule&, const AttentionInputs<double>&, HeadRows<const double>,
                              HeadRows<const double>, HeadRows<double>);
template void attention_weights(Cpu, const AttentionEdges&, const AttentionInputs<double>&, HeadRows<const double>,
                                HeadRows<double>);

}  // namespace bough
#endif
