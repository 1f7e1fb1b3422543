#include <algorithm>
#include <array>
#include <cmath>

#include "bough/core/parallel.h"
#include "kernels/attention/cpu/rows.h"
#include "kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/cpu/rows_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bough::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What backward knows of the edges of a chunk, [heads, capacity] each.
template <typename T>
struct ChunkGradients {
  explicit ChunkGradients(std::int64_t heads)
      : room(4 * heads * EdgeChunk::capacity),
        weights(room.data()),
        d_scores(weights + heads * EdgeChunk::capacity),
        d_edge_weights(d_scores + heads * EdgeChunk::capacity),
        dropout_factors(d_edge_weights + heads * EdgeChunk::capacity) {}

  Scratch<T> room;
  T* weights;  ///< the weights of the sum, dropout included
  T* d_scores;
  T* d_edge_weights;
  T* dropout_factors;
};

/// With a = exp(score - lse), p = weight * a, dp = dropout * d_out.v:
///   d_score = p (dp - delta),   d_weight = a (dp - delta),   delta = sum of p dp = d_out.out.
template <RowIs row_is, class D, typename T = hn::TFromD<D>>
void chunk_gradients(D d, const AttentionInputs<T>& in, const AttentionGradients<T>& gradients, std::int64_t row,
                     const EdgeChunk& chunk, const ChunkGradients<T>& result) {
  constexpr std::int64_t capacity = EdgeChunk::capacity;
  constexpr bool by_destination = row_is == RowIs::destination;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  chunk_scores<row_is>(d, in, gradients.d_out, row, chunk, result.weights);
  chunk_value_products<row_is>(d, in, gradients.d_out, row, chunk, result.d_scores);
  if (in.dropout.active()) chunk_dropout<row_is>(d, in, row, chunk, result.dropout_factors);
  T lse[capacity] = {}, delta[capacity] = {}, factor[capacity] = {};
  for (std::int64_t h = 0; h < in.heads; ++h) {
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      const std::int64_t dst = by_destination ? row : chunk.others[j];
      lse[j] = *gradients.lse(dst, h);
      delta[j] = *gradients.delta(dst, h);
      if (in.edge_weights) factor[j] = *in.edge_weights(chunk.edge_ids[j], h);
    }
    for (std::int64_t j = 0; j < capacity; j += lanes) {
      const std::int64_t i = h * capacity + j;
      const auto a = simd::exp(d, hn::Sub(hn::LoadU(d, result.weights + i), hn::LoadU(d, lse + j)));
      auto p = a;
      if (in.edge_weights) {  // a may be infinite where the weight is 0 and nothing comes of it
        const auto weight = hn::LoadU(d, factor + j);
        p = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), hn::Mul(a, weight));
      }
      auto share = p, dp = hn::LoadU(d, result.d_scores + i);
      if (in.dropout.active()) {
        const auto factors = hn::LoadU(d, result.dropout_factors + i);
        share = hn::Mul(p, factors);
        dp = hn::Mul(dp, factors);
      }
      const auto centred = hn::Sub(dp, hn::LoadU(d, delta + j));
      hn::StoreU(share, d, result.weights + i);
      hn::StoreU(hn::Mul(p, centred), d, result.d_scores + i);
      hn::StoreU(hn::Mul(a, centred), d, result.d_edge_weights + i);
    }
  }
}

template <class D, typename T = hn::TFromD<D>>
void add_relation_gradients(D d, const AttentionInputs<T>& in, const AttentionGradients<T>& gradients, std::int64_t row,
                            const EdgeChunk& chunk, const ChunkGradients<T>& edge, const RelationTables<T>& tables) {
  for (std::int64_t h = 0; h < in.heads; ++h) {
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      const std::int64_t i = h * EdgeChunk::capacity + j;
      if (tables.keys) {
        simd::add_scaled(d, in.scale * edge.d_scores[i], in.q(row, h), tables.keys(chunk.types[j], h), in.width);
      }
      if (tables.values) {
        simd::add_scaled(d, edge.weights[i], gradients.d_out(row, h), tables.values(chunk.types[j], h), in.value_width);
      }
      if (tables.bias) *tables.bias(chunk.types[j], h) += edge.d_scores[i];
    }
  }
}

/// Gradients of an edge tensor: one for each head, or their sum where the heads share it.
template <typename T>
void store_edge_gradients(std::int64_t heads, const EdgeChunk& chunk, const T* values, HeadRows<T> target) {
  for (std::int64_t j = 0; j < chunk.count; ++j) {
    T sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) {
      const T value = values[h * EdgeChunk::capacity + j];
      sum += value;
      *target(chunk.edge_ids[j], h) = target.head_stride == 0 ? sum : value;
    }
  }
}

/// Everything that flows to one destination through some of its edges; d_q [heads, width] is added to.
template <class D, typename T = hn::TFromD<D>>
void gradients_of_destination(D d, const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t row,
                              std::int64_t begin, std::int64_t end, const ChunkGradients<T>& edge,
                              const AttentionGradients<T>& gradients, const RelationTables<T>& tables,
                              HeadRows<T> d_q) {
  EdgeChunk chunk;
  for (std::int64_t e = begin; e < end; e += EdgeChunk::capacity) {
    load_chunk(edges, in, edges.view.offsets[static_cast<std::size_t>(row)], e, end, chunk);
    chunk_gradients<RowIs::destination>(d, in, gradients, row, chunk, edge);
    if (tables) add_relation_gradients(d, in, gradients, row, chunk, edge, tables);
    if (gradients.edge_bias) store_edge_gradients(in.heads, chunk, edge.d_scores, gradients.edge_bias);
    if (gradients.edge_weights) store_edge_gradients(in.heads, chunk, edge.d_edge_weights, gradients.edge_weights);
    if (!d_q) continue;
    // d_q = scale * sum of d_score (k + relation key)
    for (std::int64_t h = 0; h < in.heads; ++h) {
      const T* d_scores = edge.d_scores + h * EdgeChunk::capacity;
      add_weighted_rows(
          d, chunk.count, d_scores, [&](std::int64_t j) { return in.k(chunk.others[j], h); }, d_q(0, h), in.width);
      if (in.relation_keys) {
        add_weighted_rows(
            d, chunk.count, d_scores, [&](std::int64_t j) { return in.relation_keys(chunk.types[j], h); }, d_q(0, h),
            in.width);
      }
    }
  }
}

/// Everything that flows to one source through some of its edges; d_k and d_v [heads, width] are added to.
template <class D, typename T = hn::TFromD<D>>
void gradients_of_source(D d, const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t row,
                         std::int64_t begin, std::int64_t end, const ChunkGradients<T>& edge,
                         const AttentionGradients<T>& gradients, HeadRows<T> d_k, HeadRows<T> d_v) {
  EdgeChunk chunk;
  for (std::int64_t e = begin; e < end; e += EdgeChunk::capacity) {
    load_chunk(edges, in, edges.view.offsets[static_cast<std::size_t>(row)], e, end, chunk);
    chunk_gradients<RowIs::source>(d, in, gradients, row, chunk, edge);
    for (std::int64_t h = 0; h < in.heads; ++h) {
      const std::int64_t i = h * EdgeChunk::capacity;
      // d_k = scale * sum of d_score q,  d_v = sum of weight d_out
      if (d_k) {
        add_weighted_rows(
            d, chunk.count, edge.d_scores + i, [&](std::int64_t j) { return in.q(chunk.others[j], h); }, d_k(0, h),
            in.width);
      }
      if (d_v) {
        add_weighted_rows(
            d, chunk.count, edge.weights + i, [&](std::int64_t j) { return gradients.d_out(chunk.others[j], h); },
            d_v(0, h), in.value_width);
      }
    }
  }
}

template <typename T>
HeadRows<T> heads_at(T* memory, std::int64_t width, bool wanted) {
  return wanted ? HeadRows<T>{memory, 0, width} : HeadRows<T>{};
}

/// What becomes of a row that is done: written past the cache or not, or added.
struct Writing {
  bool stream = false, accumulate = false;
};

/// target[row] = factor * source, or += where rows are added.
template <class D, typename T = hn::TFromD<D>>
void write_heads(D d, std::int64_t heads, std::int64_t width, T factor, HeadRows<T> source, HeadRows<T> target,
                 std::int64_t row, Writing writing) {
  if (!target) return;
  for (std::int64_t h = 0; h < heads; ++h) {
    if (writing.accumulate) {
      simd::add_scaled(d, factor, source(0, h), target(row, h), width);
    } else {
      simd::stream_scaled(d, writing.stream, factor, source(0, h), target(row, h), width);
    }
  }
}

template <typename T>
void to_destinations(const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t first, std::int64_t last,
                     T* partials, const AttentionGradients<T>& gradients, const RelationTables<T>& tables) {
  const hn::ScalableTag<T> d;
  const std::int64_t size = in.heads * in.width;
  const Scratch<T> sum(size);
  const ChunkGradients<T> edge(in.heads);
  const bool stream = streams_rows<T>(edges, size);
  const auto to_destination = [&](std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t partial) {
    T* memory = partial >= 0 ? partials + partial * size : sum.data();
    std::fill(memory, memory + size, T{0});
    const HeadRows<T> d_q = heads_at(memory, in.width, static_cast<bool>(gradients.q));
    gradients_of_destination(d, edges, in, row, begin, end, edge, gradients, tables, d_q);
    if (partial < 0) write_heads(d, in.heads, in.width, in.scale, d_q, gradients.q, row, {.stream = stream});
  };
  for_rows_of_items(edges, first, last, to_destination);
  hwy::FlushStream();
}

template <typename T>
void to_sources(const AttentionEdges& edges, const AttentionInputs<T>& in, std::int64_t first, std::int64_t last,
                T* partials, const AttentionGradients<T>& gradients, bool accumulate) {
  const hn::ScalableTag<T> d;
  const std::int64_t size = in.heads * (in.width + in.value_width);
  const Scratch<T> sum(size);
  const ChunkGradients<T> edge(in.heads);
  const Writing writing{.stream = streams_rows<T>(edges, size), .accumulate = accumulate};
  const auto to_source = [&](std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t partial) {
    if (begin == end && accumulate) return;
    T* memory = partial >= 0 ? partials + partial * size : sum.data();
    std::fill(memory, memory + size, T{0});
    const HeadRows<T> d_k = heads_at(memory, in.width, static_cast<bool>(gradients.k)),
                      d_v = heads_at(memory + in.heads * in.width, in.value_width, static_cast<bool>(gradients.v));
    gradients_of_source(d, edges, in, row, begin, end, edge, gradients, d_k, d_v);
    if (partial >= 0) return;
    write_heads(d, in.heads, in.width, in.scale, d_k, gradients.k, row, writing);
    write_heads(d, in.heads, in.value_width, T{1}, d_v, gradients.v, row, writing);
  };
  for_rows_of_items(edges, first, last, to_source);
  hwy::FlushStream();
}

RowBackwardFunctions<float> row_backward_functions_float() { return {to_destinations<float>, to_sources<float>}; }
RowBackwardFunctions<double> row_backward_functions_double() { return {to_destinations<double>, to_sources<double>}; }

}  // namespace bough::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough {
namespace {

HWY_EXPORT(row_backward_functions_float);
HWY_EXPORT(row_backward_functions_double);

template <typename T>
RowBackwardFunctions<T> row_backward_functions() {
  if constexpr (std::is_same_v<T, float>)
    return HWY_DYNAMIC_DISPATCH(row_backward_functions_float)();
  else
    return HWY_DYNAMIC_DISPATCH(row_backward_functions_double)();
}

constexpr std::int64_t table_memory_limit = std::int64_t{48} << 20;

template <typename T>
std::array<HeadRows<T>*, 3> all(RelationTables<T>& tables) {
  return {&tables.keys, &tables.values, &tables.bias};
}

/// A set of relation gradients for each of several tasks, added up in the order of the tasks at the end: the same sum
/// for any number of threads.
template <typename T>
class RelationGradients {
 public:
  /// Tables like those of `target`, whose first num_relations rows are meant.
  RelationGradients(const RelationTables<T>& target, std::int64_t num_relations, std::int64_t heads);

  /// How many tasks may have tables of their own before these take too much memory.
  std::int64_t most_tasks() const;
  /// To be called before the first start.
  void set_num_tasks(std::int64_t num_tasks);
  /// The tables of one task, set to zero.
  RelationTables<T> start(std::int64_t task) const;
  /// Adds all tables to the target.
  void finish() const;

 private:
  RelationTables<T> target_;
  RelationTables<T> task_tables_;  ///< those of task 0; the others follow at distance task_size_
  std::int64_t num_relations_, num_tasks_ = 0, task_size_ = 0;
  Scratch<T> memory_;
};

template <typename T>
RelationGradients<T>::RelationGradients(const RelationTables<T>& target, std::int64_t num_relations, std::int64_t heads)
    : target_(target), task_tables_(target), num_relations_(num_relations) {
  for (HeadRows<T>* table : all(task_tables_)) {
    if (!*table) continue;
    // The target may hold more heads than these; a task's rows do not.
    if (table->head_stride != 0) table->row_stride = heads * table->head_stride;
    task_size_ += num_relations * table->row_stride;
  }
}

template <typename T>
std::int64_t RelationGradients<T>::most_tasks() const {
  const std::int64_t bytes = task_size_ * static_cast<std::int64_t>(sizeof(T));
  return std::clamp<std::int64_t>(table_memory_limit / std::max<std::int64_t>(1, bytes), 1, 64);
}

template <typename T>
void RelationGradients<T>::set_num_tasks(std::int64_t num_tasks) {
  num_tasks_ = num_tasks;
  memory_ = Scratch<T>(num_tasks * task_size_);
  T* memory = memory_.data();
  for (HeadRows<T>* table : all(task_tables_)) {
    if (!*table) continue;
    table->data = memory;
    memory += num_relations_ * table->row_stride;
  }
}

template <typename T>
RelationTables<T> RelationGradients<T>::start(std::int64_t task) const {
  if (task_size_ == 0) return {};
  T* memory = memory_.data() + task * task_size_;
  std::fill(memory, memory + task_size_, T{0});
  RelationTables<T> tables = task_tables_;
  for (HeadRows<T>* table : all(tables)) {
    if (*table) table->data += task * task_size_;
  }
  return tables;
}

template <typename T>
void RelationGradients<T>::finish() const {
  RelationTables<T> targets = target_, parts = task_tables_;
  for (std::size_t i = 0; i < all(targets).size(); ++i) {
    const HeadRows<T> target = *all(targets)[i], part = *all(parts)[i];
    if (!target) continue;
    parallel_chunks(num_relations_, rows_per_chunk(part.row_stride * num_tasks_),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t row = first; row < last; ++row) {
                        for (std::int64_t task = 0; task < num_tasks_; ++task) {
                          const T* addend = part(row, 0) + task * task_size_;
                          T* sum = target(row, 0);
                          for (std::int64_t j = 0; j < part.row_stride; ++j) sum[j] += addend[j];
                        }
                      }
                    });
  }
}

template <typename T>
std::int64_t items_per_task(const AttentionInputs<T>& in) {
  return rows_per_chunk(1024 * in.heads * (in.width + in.value_width), 1 << 18);
}

/// target[row] (+)= factor * (part 0 + part 1 + ...), in this order; parts are `stride` elements apart.
template <typename T>
void merge_partials(const SplitAttentionRow& row, std::int64_t heads, std::int64_t width, T factor, const T* parts,
                    std::int64_t stride, HeadRows<T> target, bool accumulate) {
  if (!target) return;
  for (std::int64_t h = 0; h < heads; ++h) {
    T* y = target(row.row, h);
    for (std::int64_t i = 0; i < width; ++i) {
      T sum = 0;
      for (std::int32_t p = 0; p < row.num_partials; ++p) {
        sum += parts[(row.first_partial + p) * stride + h * width + i];
      }
      y[i] = (accumulate ? y[i] : T{0}) + factor * sum;
    }
  }
}

}  // namespace

template <typename T>
void attend_rows_backward_to_destinations(Cpu, const AttentionEdges& edges, const AttentionInputs<T>& in,
                                          const AttentionGradients<T>& gradients) {
  const RowBackwardFunctions<T> functions = row_backward_functions<T>();
  const RowSchedule& schedule = *edges.schedule;
  const auto items = static_cast<std::int64_t>(schedule.items.size());
  const std::int64_t size = in.heads * in.width;
  const Scratch<T> partials(schedule.num_partials * size);
  RelationGradients<T> tables(gradients.relations, gradients.num_relations, in.heads);
  std::int64_t chunk = items_per_task(in);
  if (gradients.relations) chunk = std::max(chunk, num_chunks(items, tables.most_tasks()));
  tables.set_num_tasks(num_chunks(items, chunk));
  parallel_chunks(items, chunk, [&](std::int64_t first, std::int64_t last) {
    functions.to_destinations(edges, in, first, last, partials.data(), gradients, tables.start(first / chunk));
  });
  tables.finish();
  parallel_chunks(static_cast<std::int64_t>(schedule.split_rows.size()), 1, [&](std::int64_t i, std::int64_t) {
    merge_partials(schedule.split_rows[static_cast<std::size_t>(i)], in.heads, in.width, in.scale, partials.data(),
                   size, gradients.q, false);
  });
}

template <typename T>
void attend_rows_backward_to_sources(Cpu, const AttentionEdges& edges, const AttentionInputs<T>& in,
                                     const AttentionGradients<T>& gradients, bool accumulate) {
  const RowBackwardFunctions<T> functions = row_backward_functions<T>();
  const RowSchedule& schedule = *edges.schedule;
  const std::int64_t keys = in.heads * in.width, size = keys + in.heads * in.value_width;
  const Scratch<T> partials(schedule.num_partials * size);
  parallel_chunks(static_cast<std::int64_t>(schedule.items.size()), items_per_task(in),
                  [&](std::int64_t first, std::int64_t last) {
                    functions.to_sources(edges, in, first, last, partials.data(), gradients, accumulate);
                  });
  parallel_chunks(static_cast<std::int64_t>(schedule.split_rows.size()), 1, [&](std::int64_t i, std::int64_t) {
    const SplitAttentionRow& row = schedule.split_rows[static_cast<std::size_t>(i)];
    merge_partials(row, in.heads, in.width, in.scale, partials.data(), size, gradients.k, accumulate);
    merge_partials(row, in.heads, in.value_width, T{1}, partials.data() + keys, size, gradients.v, accumulate);
  });
}

template void attend_rows_backward_to_destinations(Cpu, const AttentionEdges&, const AttentionInputs<float>&,
                                                   const AttentionGradients<float>&);
template void attend_rows_backward_to_destinations(Cpu, const AttentionEdges&, const AttentionInputs<double>&,
                                                   const AttentionGradients<double>&);
template void attend_rows_backward_to_sources(Cpu, const AttentionEdges&, const AttentionInputs<float>&,
                                              const AttentionGradients<float>&, bool);
template void attend_rows_backward_to_sources(Cpu, const AttentionEdges&, const AttentionInputs<double>&,
                                              const AttentionGradients<double>&, bool);

}  // namespace bough
#endif
