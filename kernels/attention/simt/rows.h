#pragma once

#include <cmath>
#include <limits>

#include "bough/detail/simt/row_items.h"
#include "kernels/attention/simt/fragment.h"
#include "kernels/attention/simt/share.h"
#include "kernels/attention/views.h"
#include "kernels/simt/edge_softmax.h"

/// Graph attention: a warp for each row and head, in groups of lanes that take edges in turn. No group waits for
/// another before the end of the row, where their states are merged. Split rows are computed in splits
/// whose states are merged by a second kernel, in order.
namespace bough::simt {

/// What an edge needs besides its vectors.
struct AttentionEdge {
  std::int32_t neighbour = 0;
  std::int32_t id = 0;    ///< read only if something is addressed by it
  std::int32_t type = 0;  ///< the same
};

template <typename T, typename Context>
BOUGH_DEVICE AttentionEdge load_edge(Context& context, const EdgeView& edges, const AttentionInputs<T>& in,
                                     std::int64_t position, bool needs_id) {
  AttentionEdge edge;
  edge.neighbour = context.load(edges.neighbours + position);
  const bool typed = in.uses_relations() && edges.types != nullptr;
  if (needs_id || typed) edge.id = context.load(edges.edge_ids + position);
  if (typed) edge.type = context.load(edges.types + edge.id);
  return edge;
}

/// The score from the product of query and key. `weight` is that of the edge; one of weight 0 is no edge.
template <typename T, typename Context>
BOUGH_DEVICE AccumType<T> finish_score(Context& context, const AttentionInputs<T>& in, const AttentionEdge& edge,
                                       std::int64_t head, AccumType<T> product, AccumType<T> weight) {
  AccumType<T> score = product * in.scale;
  if (in.relation_bias) score += context.load(in.relation_bias(edge.type, head));
  if (in.edge_bias) score += context.load(in.edge_bias(edge.id, head));
  return weight == 0 ? -std::numeric_limits<AccumType<T>>::infinity() : score;
}

/// 0 where dropout takes the edge, else its scale, which is 1 without dropout. Parallel edges are neighbours in a row;
/// they are told apart by how many of them come before.
template <typename T, typename Context>
BOUGH_DEVICE AccumType<T> dropout_factor(Context& context, const EdgeView& edges, const AttentionInputs<T>& in,
                                         std::int64_t position, std::int64_t row_begin, std::int32_t src,
                                         std::int32_t dst, std::int32_t neighbour, std::int64_t head) {
  using Number = AccumType<T>;
  if (!in.dropout.active()) return Number{1};
  std::uint32_t ordinal = 0;
  while (position - ordinal > row_begin && context.load(edges.neighbours + position - ordinal - 1) == neighbour) {
    ++ordinal;
  }
  return keeps_weight(context, in.dropout, src, dst, head, ordinal) ? static_cast<Number>(in.dropout.scale) : Number{0};
}

/// vector += the row of an edge's relation in a table, if there is that table.
template <typename T, typename ShareOf, typename Context>
BOUGH_DEVICE void add_relation(Context& context, Fragment<AccumType<T>, ShareOf>& vector,
                               const HeadRows<const T>& table, const AttentionEdge& edge, std::int64_t head,
                               std::int64_t width, bool active) {
  if (table)
    add_scaled(vector, AccumType<T>{1}, load_fragment<ShareOf>(context, table(edge.type, head), width, active));
}

/// What is known of a row after some of its edges: the largest score, and sums of exponentials relative to it.
template <typename T, typename ShareOf>
struct AttentionState {
  T row_max = -std::numeric_limits<T>::infinity();
  T row_sum = 0;
  Fragment<T, ShareOf> sum;

  BOUGH_DEVICE void add(T score, T weight, T dropout_factor, const Fragment<T, ShareOf>& value) {
    const T new_max = row_max < score || score != score ? score : row_max;
    const T base = score_base(new_max), factor = std::exp(row_max - base), p = weight * std::exp(score - base);
    row_sum = row_sum * factor + p;
    for (int i = 0; i < ShareOf::elements; ++i) sum[i] = sum[i] * factor + dropout_factor * p * value[i];
    row_max = new_max;
  }

  /// Takes over what the other groups of the warp know; all of them get the same state.
  template <typename Context>
  BOUGH_DEVICE void merge_groups(Context& context) {
    for (int distance = ShareOf::lanes; distance < warp_size; distance *= 2) {
      const T other_max = context.shuffle_xor(row_max, distance);
      const T new_max = row_max < other_max || other_max != other_max ? other_max : row_max;
      const T base = score_base(new_max), own = std::exp(row_max - base), other = std::exp(other_max - base);
      row_sum = own * row_sum + other * context.shuffle_xor(row_sum, distance);
      for (int i = 0; i < ShareOf::elements; ++i) {
        sum[i] = own * sum[i] + other * context.shuffle_xor(sum[i], distance);
      }
      row_max = new_max;
    }
  }
};

template <typename T, typename ShareOf>
struct AttendRows {
  static constexpr int block_size = 128;
  using Number = AccumType<T>;

  RowItemView rows;
  EdgeView edges;
  AttentionInputs<T> in;
  AttentionOutputs<T> result;
  Number* partials = nullptr;  ///< [num_partials, heads, partial_header + value_width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_items * in.heads) return;
    const RowItem item = context.load(rows.items + work / in.heads);
    const std::int64_t head = work % in.heads;
    AttentionState<Number, ShareOf> state = attend(context, item, head);
    state.merge_groups(context);
    if (context.lane() >= ShareOf::lanes) return;
    if (item.partial < 0) {
      const bool empty = state.row_sum == 0;
      store_fragment(context, result.out(item.row, head), in.value_width, state.sum, empty ? 0 : 1 / state.row_sum);
      if (context.lane() == 0) {
        context.store(result.lse(item.row, head),
                      empty ? std::numeric_limits<Number>::infinity() : state.row_max + std::log(state.row_sum));
      }
      return;
    }
    Number* partial = partials + (item.partial * in.heads + head) * (partial_header<T> + in.value_width);
    store_fragment(context, partial + partial_header<T>, in.value_width, state.sum, 1);
    if (context.lane() == 0) {
      context.store(partial, state.row_max);
      context.store(partial + 1, state.row_sum);
    }
  }

 private:
  template <typename Context>
  BOUGH_DEVICE AttentionState<Number, ShareOf> attend(Context& context, const RowItem& item, std::int64_t head) const {
    const auto query = load_fragment<ShareOf>(context, in.q(item.row, head), in.width);
    const std::int64_t row_begin = in.dropout.active() ? context.load(edges.offsets + item.row) : 0;
    AttentionState<Number, ShareOf> state;
    for (std::int64_t first = item.begin; first < item.end; first += ShareOf::groups) {
      const std::int64_t position = first + context.lane() / ShareOf::lanes;
      const bool active = position < item.end;
      AttentionEdge edge;
      Number weight = 0, dropout = 1;
      if (active) {
        edge = load_edge(context, edges, in, position, in.edge_bias || in.edge_weights);
        weight = in.edge_weights ? Number{context.load(in.edge_weights(edge.id, head))} : Number{1};
        dropout =
            dropout_factor(context, edges, in, position, row_begin, edge.neighbour, item.row, edge.neighbour, head);
      }
      auto key = load_fragment<ShareOf>(context, in.k(edge.neighbour, head), in.width, active);
      add_relation(context, key, in.relation_keys, edge, head, in.width, active);
      const Number product = dot(context, query, key);
      auto value = load_fragment<ShareOf>(context, in.v(edge.neighbour, head), in.value_width, active);
      add_relation(context, value, in.relation_values, edge, head, in.value_width, active);
      if (active) state.add(finish_score(context, in, edge, head, product, weight), weight, dropout, value);
    }
    return state;
  }
};

/// Puts the splits of a split row together, in their order: a warp for each of them and head.
template <typename T>
struct MergeAttention {
  static constexpr int block_size = 128;
  using Number = AccumType<T>;

  RowItemView rows;
  std::int64_t heads = 0, value_width = 0;
  AttentionOutputs<T> result;
  const Number* partials = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_split_rows * heads) return;
    const SplitRowItem row = context.load(rows.split_rows + work / heads);
    const std::int64_t head = work % heads, stride = heads * (partial_header<T> + value_width);
    const Number* first = partials + row.first_partial * stride + head * (partial_header<T> + value_width);
    Number row_max = -std::numeric_limits<Number>::infinity();
    for (std::int32_t i = 0; i < row.num_partials; ++i) row_max = mp::Max{}(row_max, context.load(first + i * stride));
    const Number base = score_base(row_max);
    Number row_sum = 0;
    for (std::int32_t i = 0; i < row.num_partials; ++i) {
      row_sum += std::exp(context.load(first + i * stride) - base) * context.load(first + i * stride + 1);
    }
    const Number factor = row_sum == 0 ? 0 : 1 / row_sum;
    for (std::int64_t feature = context.lane(); feature < value_width; feature += warp_size) {
      Number sum = 0;
      for (std::int32_t i = 0; i < row.num_partials; ++i) {
        const Number* partial = first + i * stride;
        sum += std::exp(context.load(partial) - base) * context.load(partial + partial_header<T> + feature);
      }
      context.store(result.out(row.row, head) + feature, static_cast<T>(factor * sum));
    }
    if (context.lane() == 0) {
      context.store(result.lse(row.row, head),
                    row_sum == 0 ? std::numeric_limits<Number>::infinity() : row_max + std::log(row_sum));
    }
  }
};

template <typename Queue, typename T>
void merge_attention(Queue& queue, const RowItemView& rows, const AttentionInputs<T>& in,
                     const AttentionOutputs<T>& result, const AccumType<T>* partials) {
  using Merge = MergeAttention<T>;
  launch_warps(queue, "graph_attention_merge", rows.num_split_rows * in.heads,
               Merge{rows, in.heads, in.value_width, result, partials});
}

/// Writes all rows. The edges are grouped by destination.
template <typename Queue, typename T>
void attend_rows(Queue& queue, const RowItemView& rows, const EdgeView& edges, const AttentionInputs<T>& in,
                 const AttentionOutputs<T>& result) {
  const auto partials =
      queue.template scratch<AccumType<T>>(rows.num_partials * in.heads * (partial_header<T> + in.value_width));
  with_share(
      "graph_attention", in,
      [&](auto share) {
        using Body = AttendRows<T, decltype(share)>;
        launch_warps(queue, "graph_attention", rows.num_items * in.heads,
                     Body{rows, edges, in, result, partials.data()});
      },
      result.out);
  merge_attention(queue, rows, in, result, partials.data());
}

}  // namespace bough::simt
