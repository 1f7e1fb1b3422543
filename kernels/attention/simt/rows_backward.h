#pragma once

#include <algorithm>

#include "kernels/attention/simt/relation_gradients.h"
#include "kernels/attention/simt/rows.h"

/// Gradients of graph attention: one pass over the edges of each destination for queries, tables and edge tensors, one
/// over the edges of each source for keys and values. Scores are computed again; nothing is added by two threads.
namespace bough::simt {

/// delta = sum of out * d_out: a warp for each destination and head.
template <typename T>
struct AttentionDelta {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, heads = 0, value_width = 0;
  HeadRows<const T> out, d_out;
  HeadRows<AccumType<T>> delta;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows * heads) return;
    const std::int64_t row = work / heads, head = work % heads;
    AccumType<T> sum = 0;
    for (std::int64_t i = context.lane(); i < value_width; i += warp_size) {
      sum += AccumType<T>{context.load(out(row, head) + i)} * AccumType<T>{context.load(d_out(row, head) + i)};
    }
    sum = warp_sum(context, sum);
    if (context.lane() == 0) context.store(delta(row, head), sum);
  }
};

/// With a = exp(score - lse), p = weight * a, dp = dropout * d_out.v:
///   d_score = p (dp - delta),   d_weight = a (dp - delta),   delta = sum of p dp = d_out.out.
template <typename T>
struct EdgeGradient {
  T share = 0;  ///< of the edge in the sum: p * dropout
  T d_score = 0;
  T d_weight = 0;
};

template <typename T, typename Context>
BOUGH_DEVICE EdgeGradient<AccumType<T>> edge_gradient(Context& context, const AttentionInputs<T>& in,
                                                      const AttentionGradients<T>& gradients, const AttentionEdge& edge,
                                                      std::int64_t dst, std::int64_t head, AccumType<T> dropout,
                                                      AccumType<T> product, AccumType<T> value_product) {
  using Number = AccumType<T>;
  const Number weight = in.edge_weights ? Number{context.load(in.edge_weights(edge.id, head))} : Number{1};
  // Not the score of an edge that is none: its weight has a gradient all the same.
  const Number score = finish_score(context, in, edge, head, product, Number{1});
  const Number a = std::exp(score - context.load(gradients.lse(dst, head)));
  const Number p = weight == 0 ? 0 : weight * a;  // a may be infinite where nothing comes of it
  const Number centred = dropout * value_product - context.load(gradients.delta(dst, head));
  return {dropout * p, p * centred, a * centred};
}

/// The edges of one item by destination: gradients of q and of edge tensors.
template <typename T, typename ShareOf>
struct DestinationPass {
  RowItemView rows;
  EdgeView edges;
  AttentionInputs<T> in;
  AttentionGradients<T> gradients;   ///< edge tensors have a column for each head here
  AccumType<T>* partials = nullptr;  ///< [num_partials, heads, width]

  /// Calls use(whether the group has an edge, the edge, the row's query and d_out, EdgeGradient) for each edge; all
  /// lanes of the warp together.
  template <typename Context, typename Use>
  BOUGH_DEVICE void take_item(Context& context, const RowItem& item, std::int64_t head, const Use& use) const {
    const auto query = load_fragment<ShareOf>(context, in.q(item.row, head), in.width);
    const auto d_out = load_fragment<ShareOf>(context, gradients.d_out(item.row, head), in.value_width);
    const std::int64_t row_begin = in.dropout.active() ? context.load(edges.offsets + item.row) : 0;
    const bool needs_id = in.edge_bias || in.edge_weights || gradients.edge_bias || gradients.edge_weights;
    const bool leads = context.lane() % ShareOf::lanes == 0;
    Fragment<AccumType<T>, ShareOf> d_query;
    for (std::int64_t start = item.begin; start < item.end; start += ShareOf::groups) {
      const std::int64_t position = start + context.lane() / ShareOf::lanes;
      const bool active = position < item.end;
      AttentionEdge edge;
      AccumType<T> dropout = 1;
      if (active) {
        edge = load_edge(context, edges, in, position, needs_id);
        dropout =
            dropout_factor(context, edges, in, position, row_begin, edge.neighbour, item.row, edge.neighbour, head);
      }
      auto key = load_fragment<ShareOf>(context, in.k(edge.neighbour, head), in.width, active);
      add_relation(context, key, in.relation_keys, edge, head, in.width, active);
      auto value = load_fragment<ShareOf>(context, in.v(edge.neighbour, head), in.value_width, active);
      add_relation(context, value, in.relation_values, edge, head, in.value_width, active);
      const AccumType<T> product = dot(context, query, key), value_product = dot(context, d_out, value);
      EdgeGradient<AccumType<T>> gradient;
      if (active) {
        gradient = edge_gradient(context, in, gradients, edge, item.row, head, dropout, product, value_product);
        if (leads && gradients.edge_bias) context.store(gradients.edge_bias(edge.id, head), gradient.d_score);
        if (leads && gradients.edge_weights) context.store(gradients.edge_weights(edge.id, head), gradient.d_weight);
        add_scaled(d_query, gradient.d_score, key);
      }
      use(active, edge, query, d_out, gradient);
    }
    if (!gradients.q) return;
    sum_groups(context, d_query);
    if (context.lane() >= ShareOf::lanes) return;
    if (item.partial < 0) {
      store_fragment(context, gradients.q(item.row, head), in.width, d_query, in.scale);
    } else {
      store_fragment(context, partials + (item.partial * in.heads + head) * in.width, in.width, d_query, 1);
    }
  }
};

/// Gradients of q, of edge tensors and, in tables of each block, of relations. A block takes a range of items of one
/// head, its warps one item each at a time.
template <typename T, typename ShareOf>
struct AttendBackwardToDestinations {
  static constexpr int block_size = 128;
  static constexpr int warps = block_size / warp_size;

  DestinationPass<T, ShareOf> pass;
  std::int64_t items_per_block = warps;
  RelationTables<AccumType<T>> tables;  ///< one for each block; see RelationTableSizes

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const RowItemView& rows = pass.rows;
    const std::int64_t head = context.block() % pass.in.heads, range = context.block() / pass.in.heads;
    const std::int64_t first = range * items_per_block, limit = first + items_per_block;
    const std::int64_t last = limit < rows.num_items ? limit : rows.num_items;
    if (!tables) {
      for (std::int64_t i = first + context.warp(); i < last; i += warps) {
        pass.take_item(context, context.load(rows.items + i), head,
                       [](bool, const AttentionEdge&, const auto&, const auto&, const EdgeGradient<AccumType<T>>&) {});
      }
      return;
    }
    RelationSums<AccumType<T>, Context> sums(context, pass.gradients.num_relations);
    const RelationOuterProducts<T> products{pass.in, pass.gradients, tables, rows.items};
    products.clear(context);
    for (std::int64_t start = first; start < last; start += warps) {
      sums.clear(context);
      if (start + context.warp() < last) {
        pass.take_item(context, context.load(rows.items + start + context.warp()), head,
                       [&](bool active, const AttentionEdge& edge, const auto&, const auto&,
                           const EdgeGradient<AccumType<T>>& gradient) {
                         sums.template add<ShareOf>(context, active, edge.type, gradient.d_score, gradient.share);
                       });
      }
      context.sync();
      products.add(context, sums, head, start, last - start < warps ? static_cast<int>(last - start) : warps);
      context.sync();
    }
  }
};

/// All gradients in one pass: those of keys, values and tables are added to atomically, in whatever order the warps
/// come. A warp for each item and head.
template <typename T, typename ShareOf>
struct AttendBackwardAtomically {
  static constexpr int block_size = 128;

  DestinationPass<T, ShareOf> pass;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= pass.rows.num_items * pass.in.heads) return;
    const std::int64_t head = work % pass.in.heads;
    pass.take_item(context, context.load(pass.rows.items + work / pass.in.heads), head,
                   [&](bool active, const AttentionEdge& edge, const Fragment<AccumType<T>, ShareOf>& query,
                       const Fragment<AccumType<T>, ShareOf>& d_out, const EdgeGradient<AccumType<T>>& gradient) {
                     if (active) add_edge(context, edge, head, query, d_out, gradient);
                   });
  }

 private:
  template <typename Context>
  BOUGH_DEVICE void add_edge(Context& context, const AttentionEdge& edge, std::int64_t head,
                             const Fragment<AccumType<T>, ShareOf>& query, const Fragment<AccumType<T>, ShareOf>& d_out,
                             const EdgeGradient<AccumType<T>>& gradient) const {
    const AttentionInputs<T>& in = pass.in;
    const AttentionGradients<T>& to = pass.gradients;
    const AccumType<T> of_key = in.scale * gradient.d_score, of_value = gradient.share;
    if (to.k) add_fragment(context, to.k(edge.neighbour, head), in.width, query, of_key);
    if (to.v) add_fragment(context, to.v(edge.neighbour, head), in.value_width, d_out, of_value);
    const RelationTables<AccumType<T>>& tables = to.relations;
    if (tables.keys) add_fragment(context, tables.keys(edge.type, head), in.width, query, of_key);
    if (tables.values) add_fragment(context, tables.values(edge.type, head), in.value_width, d_out, of_value);
    if (tables.bias && context.lane() % ShareOf::lanes == 0) {
      context.atomic_add(tables.bias(edge.type, head), gradient.d_score);
    }
  }
};

/// Gradients of k and v: a warp for each source and head.
template <typename T, typename ShareOf>
struct AttendBackwardToSources {
  static constexpr int block_size = 128;

  RowItemView rows;
  EdgeView edges;
  AttentionInputs<T> in;
  AttentionGradients<T> gradients;
  AccumType<T>* key_partials = nullptr;    ///< [num_partials, heads, width]
  AccumType<T>* value_partials = nullptr;  ///< [num_partials, heads, value_width]

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_items * in.heads) return;
    const RowItem item = context.load(rows.items + work / in.heads);
    const std::int64_t head = work % in.heads;
    const auto own_key = load_fragment<ShareOf>(context, in.k(item.row, head), in.width);
    const auto own_value = load_fragment<ShareOf>(context, in.v(item.row, head), in.value_width);
    const std::int64_t row_begin = in.dropout.active() ? context.load(edges.offsets + item.row) : 0;
    Fragment<AccumType<T>, ShareOf> d_key, d_value;
    for (std::int64_t start = item.begin; start < item.end; start += ShareOf::groups) {
      const std::int64_t position = start + context.lane() / ShareOf::lanes;
      const bool active = position < item.end;
      AttentionEdge edge;
      AccumType<T> dropout = 1;
      if (active) {
        edge = load_edge(context, edges, in, position, in.edge_bias || in.edge_weights);
        dropout =
            dropout_factor(context, edges, in, position, row_begin, item.row, edge.neighbour, edge.neighbour, head);
      }
      const auto query = load_fragment<ShareOf>(context, in.q(edge.neighbour, head), in.width, active);
      const auto d_out = load_fragment<ShareOf>(context, gradients.d_out(edge.neighbour, head), in.value_width, active);
      auto key = own_key;
      add_relation(context, key, in.relation_keys, edge, head, in.width, active);
      auto value = own_value;
      add_relation(context, value, in.relation_values, edge, head, in.value_width, active);
      const AccumType<T> product = dot(context, query, key), value_product = dot(context, d_out, value);
      if (!active) continue;
      const EdgeGradient<AccumType<T>> gradient =
          edge_gradient(context, in, gradients, edge, edge.neighbour, head, dropout, product, value_product);
      add_scaled(d_key, gradient.d_score, query);
      add_scaled(d_value, gradient.share, d_out);
    }
    sum_groups(context, d_key);
    sum_groups(context, d_value);
    if (context.lane() >= ShareOf::lanes) return;
    if (item.partial < 0) {
      if (gradients.k) store_fragment(context, gradients.k(item.row, head), in.width, d_key, in.scale);
      if (gradients.v) store_fragment(context, gradients.v(item.row, head), in.value_width, d_value, 1);
      return;
    }
    const std::int64_t place = item.partial * in.heads + head;
    store_fragment(context, key_partials + place * in.width, in.width, d_key, 1);
    store_fragment(context, value_partials + place * in.value_width, in.value_width, d_value, 1);
  }
};

/// target[row] = factor * (split 0 + split 1 + ...) of the row, in this order; with Adds this is added to the
/// target. A warp for each split row and head.
template <typename T, bool Adds = false>
struct SumSplits {
  static constexpr int block_size = 128;

  RowItemView rows;
  std::int64_t heads = 0, width = 0;
  AccumType<T> factor = 1;
  const AccumType<T>* partials = nullptr;
  HeadRows<T> target;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_split_rows * heads) return;
    const SplitRowItem row = context.load(rows.split_rows + work / heads);
    const std::int64_t head = work % heads;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      AccumType<T> sum = 0;
      for (std::int32_t split = 0; split < row.num_partials; ++split) {
        sum += context.load(partials + ((row.first_partial + split) * heads + head) * width + i);
      }
      T* element = target(row.row, head) + i;
      const AccumType<T> before = Adds ? static_cast<AccumType<T>>(context.load(element)) : 0;
      context.store(element, static_cast<T>(Adds ? before + factor * sum : factor * sum));
    }
  }
};

/// target[row] = sum of values[row] over heads: for edge tensors that all heads share.
template <typename T>
struct SumHeads {
  static constexpr int block_size = 128;

  std::int64_t rows = 0, heads = 0;
  const T* values = nullptr;
  HeadRows<T> target;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t row = thread_number<block_size>(context);
    if (row >= rows) return;
    T sum = 0;
    for (std::int64_t head = 0; head < heads; ++head) sum += context.load(values + row * heads + head);
    context.store(target(row, 0), sum);
  }
};

template <typename Queue, typename T>
void attention_delta(Queue& queue, std::int64_t num_dst, const AttentionInputs<T>& in, HeadRows<const T> out,
                     HeadRows<const T> d_out, HeadRows<AccumType<T>> delta) {
  using Body = AttentionDelta<T>;
  launch_warps(queue, "graph_attention_delta", num_dst * in.heads,
               Body{num_dst, in.heads, in.value_width, out, d_out, delta});
}

/// Does nothing without a target.
template <typename Queue, typename T, bool Adds>
void sum_splits(Queue& queue, const SumSplits<T, Adds>& body) {
  if (!body.target) return;
  launch_warps(queue, "graph_attention_sum_splits", body.rows.num_split_rows * body.heads, body);
}

/// Calls f(gradients in which edge tensors have a column for each head), then adds up the columns of heads that share
/// one.
template <typename Queue, typename T, typename F>
void with_edge_columns(Queue& queue, const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                       std::int64_t num_edges, const F& f) {
  AttentionGradients<T> own = gradients;
  const auto column_for_each_head = [&](HeadRows<AccumType<T>>& rows_of_edges) {
    const bool shared = rows_of_edges && rows_of_edges.head_stride == 0;
    auto columns = queue.template scratch<AccumType<T>>(shared ? num_edges * in.heads : 0);
    if (shared) rows_of_edges = {columns.data(), in.heads, 1};
    return columns;
  };
  const auto bias_columns = column_for_each_head(own.edge_bias);
  const auto weight_columns = column_for_each_head(own.edge_weights);
  f(own);
  const auto sum_heads = [&](const AccumType<T>* columns, HeadRows<AccumType<T>> target) {
    if (!target || target.head_stride != 0) return;
    using Body = SumHeads<AccumType<T>>;
    launch_threads(queue, "graph_attention_sum_heads", num_edges, Body{num_edges, in.heads, columns, target});
  };
  sum_heads(bias_columns.data(), gradients.edge_bias);
  sum_heads(weight_columns.data(), gradients.edge_weights);
}

/// Gradients of q and edge tensors, which are written, and of relation tables, which are added to. The edges are
/// grouped by destination.
template <typename Queue, typename T>
void attend_backward_to_destinations(Queue& queue, const RowItemView& rows, const EdgeView& edges,
                                     const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                     std::int64_t num_edges) {
  constexpr std::int64_t warps = 4;
  const RelationTableSizes sizes = relation_table_sizes<T>(gradients, in, rows.num_items, warps);
  const auto tables = queue.template scratch<AccumType<T>>(sizes.elements());
  const auto partials = queue.template scratch<AccumType<T>>(rows.num_partials * in.heads * in.width);
  with_edge_columns(queue, in, gradients, num_edges, [&](const AttentionGradients<T>& own) {
    const auto launch = [&](auto share) {
      using Body = AttendBackwardToDestinations<T, decltype(share)>;
      static_assert(Body::warps == warps);
      queue.launch({.name = "graph_attention_to_destinations",
                    .num_blocks = sizes.ranges * in.heads,
                    .block_size = Body::block_size,
                    .shared_bytes = relation_sums_bytes<AccumType<T>>(sizes.num_relations, warps)},
                   Body{{rows, edges, in, own, partials.data()}, sizes.items_per_range, sizes.tables(tables.data())});
    };
    with_share("graph_attention", in, launch, gradients.q);
  });
  sum_splits(queue, SumSplits<T>{rows, in.heads, in.width, in.scale, partials.data(), gradients.q});
  merge_relation_tables(queue, sizes, tables.data(), gradients.relations);
}

/// The same and the gradients of k and v, which are added to as tables are: atomically, so that sums differ by rounding
/// from run to run.
template <typename Queue, typename T>
void attend_backward_atomically(Queue& queue, const RowItemView& rows, const EdgeView& edges,
                                const AttentionInputs<T>& in, const AttentionGradients<T>& gradients,
                                std::int64_t num_edges) {
  const auto partials = queue.template scratch<AccumType<T>>(rows.num_partials * in.heads * in.width);
  with_edge_columns(queue, in, gradients, num_edges, [&](const AttentionGradients<T>& own) {
    with_whole_warps("graph_attention", std::max(in.width, in.value_width), [&](auto share) {
      using Body = AttendBackwardAtomically<T, decltype(share)>;
      launch_warps(queue, "graph_attention_backward_atomically", rows.num_items * in.heads,
                   Body{{rows, edges, in, own, partials.data()}});
    });
  });
  sum_splits(queue, SumSplits<T>{rows, in.heads, in.width, in.scale, partials.data(), gradients.q});
}

/// Gradients of k and v, which are written. The edges are grouped by source.
template <typename Queue, typename T>
void attend_backward_to_sources(Queue& queue, const RowItemView& rows, const EdgeView& edges,
                                const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  const auto key_partials = queue.template scratch<AccumType<T>>(rows.num_partials * in.heads * in.width);
  const auto value_partials = queue.template scratch<AccumType<T>>(rows.num_partials * in.heads * in.value_width);
  const auto launch = [&](auto share) {
    using Body = AttendBackwardToSources<T, decltype(share)>;
    launch_warps(queue, "graph_attention_to_sources", rows.num_items * in.heads,
                 Body{rows, edges, in, gradients, key_partials.data(), value_partials.data()});
  };
  with_share("graph_attention", in, launch, gradients.k, gradients.v);
  sum_splits(queue, SumSplits<AccumType<T>>{rows, in.heads, in.width, in.scale, key_partials.data(), gradients.k});
  sum_splits(queue, SumSplits<AccumType<T>>{rows, in.heads, in.value_width, 1, value_partials.data(), gradients.v});
}

}  // namespace bough::simt
