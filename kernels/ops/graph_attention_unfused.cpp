#include "bough/detail/simt/device_rows.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/compare.h"
#include "bough/ops/edge_softmax.h"
#include "bough/ops/gsddmm.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/rows.h"
#include "kernels/ops/graph_attention_call.h"

namespace bough {
namespace {

/// Rows of a relation table for each edge: [edges, 1, width] if the heads share it, else [edges, heads, width].
Tensor rows_of_edges(const Tensor& table, const Tensor& types, const HeadGroup& group) {
  if (table.rank() == 2) return gather_rows(table, types).reshape({types.size(0), 1, table.size(1)});
  return gather_rows(slice(table, 1, group.first_head, group.first_head + group.heads), types);
}

/// An edge tensor as [edges, 1 or heads].
Tensor columns_of_edges(const Tensor& tensor, const HeadGroup& group) {
  const Tensor rows = tensor.rows(group.first_edge, group.first_edge + group.graph.num_edges());
  return tensor.rank() == 1 ? rows.reshape({rows.size(0), 1}) : rows;
}

/// Dropout's factors, [edges, heads], like a tensor that has their type and device.
Tensor dropout_factors(const AttentionDropout& dropout, const HeadGroup& group, const Tensor& like) {
  AttentionDropout of_group = dropout;
  of_group.first_head = static_cast<std::int32_t>(group.first_head);
  const CscView edges = group.graph.csc();
  Tensor result = Tensor::empty({edges.num_edges(), group.heads}, like.dtype());
  visit_floating("graph_attention", like.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    T* factors = result.data<T>();
    for (std::int32_t row = 0; row < edges.num_rows(); ++row) {
      std::uint32_t ordinal = 0;
      const auto begin = edges.offsets[static_cast<std::size_t>(row)],
                 end = edges.offsets[static_cast<std::size_t>(row) + 1];
      for (auto e = static_cast<std::size_t>(begin); e < static_cast<std::size_t>(end); ++e) {
        const bool parallel = e > static_cast<std::size_t>(begin) && edges.indices[e] == edges.indices[e - 1];
        ordinal = parallel ? ordinal + 1 : 0;
        for (std::int64_t head = 0; head < group.heads; ++head) {
          factors[edges.edge_ids[e] * group.heads + head] =
              of_group.keeps(edges.indices[e], row, head, ordinal) ? static_cast<T>(dropout.scale) : T{0};
        }
      }
    }
  });
  return result.to(like.device());
}

/// The part of a tensor [rows, heads, ...] that belongs to a group.
Tensor heads_of(const AttentionCall& call, const HeadGroup& group, const Tensor& tensor) {
  return call.groups.size() == 1 ? tensor : slice(tensor, 1, group.first_head, group.first_head + group.heads);
}

/// What each edge counts in the sum of its destination, without dropout: [edges, heads].
Tensor group_weights(const AttentionCall& call, const AttentionTensors& tensors, const HeadGroup& group,
                     const Tensor& types) {
  const Graph& graph = group.graph;
  const Tensor q = heads_of(call, group, tensors.q), k = heads_of(call, group, tensors.k);
  Tensor scores = gsddmm(graph, BinaryOp::dot, k, q);
  if (tensors.relation_keys.defined()) {
    scores = scores +
             gsddmm(graph, BinaryOp::dot, rows_of_edges(tensors.relation_keys, types, group), q, {.lhs = Target::edge});
  }
  scores = scores.reshape({graph.num_edges(), group.heads}) * call.scale;
  if (tensors.relation_bias.defined()) {
    scores = scores + gather_rows(heads_of(call, group, tensors.relation_bias), types);
  }
  if (tensors.edge_bias.defined()) scores = scores + columns_of_edges(tensors.edge_bias, group);
  Tensor weights = edge_softmax(graph, scores);
  if (!tensors.edge_weights.defined()) return weights;
  // Normalised once more; where everything is 0 it stays 0 and passes no gradient.
  const Tensor weighted = weights * columns_of_edges(tensors.edge_weights, group);
  const Tensor total = gspmm(graph, BinaryOp::copy_rhs, ReduceOp::sum, {}, weighted);
  const Tensor something = greater(total, 0);
  const Tensor factor = where(something, reciprocal(where(something, total, 1)), 0);
  return gsddmm(graph, BinaryOp::mul, weighted, factor, {.lhs = Target::edge});
}

Tensor attend_group(const AttentionCall& call, const AttentionTensors& tensors, const HeadGroup& group) {
  const Graph& graph = group.graph;
  const Tensor types = simt::device_edge_types(graph, tensors.q.device());
  Tensor weights = group_weights(call, tensors, group, types);
  if (call.dropout.active()) weights = weights * dropout_factors(call.dropout, group, tensors.q);
  weights = weights.reshape({graph.num_edges(), group.heads, 1});
  Tensor out = gspmm(graph, BinaryOp::mul, ReduceOp::sum, heads_of(call, group, tensors.v), weights);
  if (tensors.relation_values.defined()) {
    out = out + gspmm(graph, BinaryOp::mul, ReduceOp::sum, rows_of_edges(tensors.relation_values, types, group),
                      weights, {.lhs = Target::edge});
  }
  return out;
}

}  // namespace

Tensor unfused_attention(const AttentionCall& call, const AttentionTensors& tensors) {
  std::vector<Tensor> groups;
  for (const HeadGroup& group : call.groups) groups.push_back(attend_group(call, tensors, group));
  return groups.size() == 1 ? groups[0] : concatenate(groups, 1);
}

Tensor unfused_weights(const AttentionCall& call, const AttentionTensors& tensors) {
  const HeadGroup& group = call.groups.front();
  return group_weights(call, tensors, group, simt::device_edge_types(group.graph, tensors.q.device()));
}

}  // namespace bough
