#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bough/graph/graph.h"
#include "bough/ops/graph_attention.h"

/// Graph attention as its definition says: double precision, one edge and head at a time, no dropout.
namespace bough::reference {

struct Attention {
  std::vector<double> out;      ///< [num_dst, H, Dv]
  std::vector<double> weights;  ///< [E, H]
};

inline Attention graph_attention(const Graph& graph, const Tensor& q, const Tensor& k, const Tensor& v,
                                 const GraphAttentionOptions& options = {}) {
  const std::int64_t heads = q.size(1), width = q.size(2), value_width = v.size(2);
  const auto values = [](const Tensor& tensor) {
    return tensor.defined() ? tensor.to_vector<double>() : std::vector<double>();
  };
  const auto qs = values(q), ks = values(k), vs = values(v), keys = values(options.relation_keys),
             extra = values(options.relation_values), relation_bias = values(options.relation_bias),
             edge_bias = values(options.edge_bias), edge_weights = values(options.edge_weights);
  // Entry `i` of the vector of (row, head) in a table that has one for each head, or one for all.
  const auto entry = [heads](const std::vector<double>& table, bool per_head, std::int64_t row, std::int64_t head,
                             std::int64_t size, std::int64_t i) {
    return table[static_cast<std::size_t>((per_head ? row * heads + head : row) * size + i)];
  };
  const auto per_head = [](const Tensor& tensor, int rank) { return tensor.defined() && tensor.rank() == rank; };
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, width))));
  const CooView edges = graph.coo();
  const auto num_edges = static_cast<std::size_t>(graph.num_edges());

  Attention result{std::vector<double>(static_cast<std::size_t>(graph.num_dst() * heads * value_width)),
                   std::vector<double>(num_edges * static_cast<std::size_t>(heads))};
  for (std::int64_t head = 0; head < heads; ++head) {
    std::vector<double> scores(num_edges), row_max(static_cast<std::size_t>(graph.num_dst()), -INFINITY),
        row_sum(static_cast<std::size_t>(graph.num_dst()), 0);
    for (std::size_t e = 0; e < num_edges; ++e) {
      const std::int64_t id = static_cast<std::int64_t>(e),
                         type = graph.edge_types().empty() ? 0 : graph.edge_types()[e];
      double score = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        double key = entry(ks, true, edges.src[e], head, width, i);
        if (!keys.empty()) key += entry(keys, per_head(options.relation_keys, 3), type, head, width, i);
        score += entry(qs, true, edges.dst[e], head, width, i) * key;
      }
      score *= scale;
      if (!relation_bias.empty()) score += entry(relation_bias, true, type, head, 1, 0);
      if (!edge_bias.empty()) score += entry(edge_bias, per_head(options.edge_bias, 2), id, head, 1, 0);
      scores[e] = score;
      row_max[static_cast<std::size_t>(edges.dst[e])] =
          std::max(row_max[static_cast<std::size_t>(edges.dst[e])], score);
    }
    const auto weight_of = [&](std::size_t e) {
      const double weight = edge_weights.empty() ? 1
                                                 : entry(edge_weights, per_head(options.edge_weights, 2),
                                                         static_cast<std::int64_t>(e), head, 1, 0);
      return scores[e] == -INFINITY ? 0
                                    : weight * std::exp(scores[e] - row_max[static_cast<std::size_t>(edges.dst[e])]);
    };
    for (std::size_t e = 0; e < num_edges; ++e) row_sum[static_cast<std::size_t>(edges.dst[e])] += weight_of(e);
    for (std::size_t e = 0; e < num_edges; ++e) {
      const double sum = row_sum[static_cast<std::size_t>(edges.dst[e])];
      const double share = sum > 0 ? weight_of(e) / sum : 0;
      result.weights[e * static_cast<std::size_t>(heads) + static_cast<std::size_t>(head)] = share;
      const std::int64_t type = graph.edge_types().empty() ? 0 : graph.edge_types()[e];
      for (std::int64_t i = 0; i < value_width; ++i) {
        double value = entry(vs, true, edges.src[e], head, value_width, i);
        if (!extra.empty()) value += entry(extra, per_head(options.relation_values, 3), type, head, value_width, i);
        result.out[static_cast<std::size_t>((edges.dst[e] * heads + head) * value_width + i)] += share * value;
      }
    }
  }
  return result;
}

}  // namespace bough::reference
