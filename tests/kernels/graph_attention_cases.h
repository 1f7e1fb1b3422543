#pragma once

#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/ops/graph_attention.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

/// Inputs for tests of graph attention.
namespace bough::test {

struct AttentionSizes {
  std::int64_t heads = 2, width = 8, value_width = 8;
};

struct AttentionCase {
  Graph graph;
  Tensor q, k, v;
  GraphAttentionOptions options;
};

/// Which of the optional tensors a case has.
struct AttentionExtras {
  bool relation_keys = false, keys_per_head = false;
  bool relation_values = false, values_per_head = false;
  bool relation_bias = false;
  bool edge_bias = false, bias_per_head = false;
  bool edge_weights = false, weights_per_head = false;
};

inline AttentionCase attention_case(const Graph& graph, DType dtype, AttentionSizes sizes = {},
                                    AttentionExtras extras = {}) {
  const auto [heads, width, value_width] = sizes;
  const std::int64_t relations = graph.num_edge_types(), edges = graph.num_edges();
  AttentionCase result{graph,
                       random_tensor({graph.num_dst(), heads, width}, dtype, 1),
                       random_tensor({graph.num_src(), heads, width}, dtype, 2),
                       random_tensor({graph.num_src(), heads, value_width}, dtype, 3),
                       {}};
  const auto table = [&](bool per_head, std::int64_t size, std::uint64_t seed) {
    return random_tensor(per_head ? Shape{relations, heads, size} : Shape{relations, size}, dtype, seed);
  };
  GraphAttentionOptions& options = result.options;
  if (extras.relation_keys) options.relation_keys = table(extras.keys_per_head, width, 4);
  if (extras.relation_values) options.relation_values = table(extras.values_per_head, value_width, 5);
  if (extras.relation_bias) options.relation_bias = random_tensor({relations, heads}, dtype, 6);
  if (extras.edge_bias) {
    options.edge_bias = random_tensor(extras.bias_per_head ? Shape{edges, heads} : Shape{edges}, dtype, 7);
  }
  if (extras.edge_weights) {
    options.edge_weights = random_uniform(extras.weights_per_head ? Shape{edges, heads} : Shape{edges}, 0, 1, dtype, 8);
  }
  return result;
}

/// The same graph with a type for each edge.
inline Graph with_types(const Graph& graph, std::int32_t num_types) {
  const CooView edges = graph.coo();
  std::vector<std::int32_t> types;
  for (std::int64_t e = 0; e < graph.num_edges(); ++e)
    types.push_back(static_cast<std::int32_t>((e * 7 + 3) % num_types));
  const std::vector<std::int32_t> src(edges.src.begin(), edges.src.end()), dst(edges.dst.begin(), edges.dst.end());
  if (graph.is_bipartite()) {
    return Graph::bipartite(
        src, dst,
        {.num_src = graph.num_src(), .num_dst = graph.num_dst(), .edge_types = types, .num_edge_types = num_types});
  }
  return Graph::from_edges(src, dst,
                           {.num_nodes = graph.num_nodes(), .edge_types = types, .num_edge_types = num_types});
}

/// The cases that together use every option.
inline std::vector<std::pair<std::string, AttentionExtras>> all_extras() {
  return {
      {"nothing", {}},
      {"relation keys", {.relation_keys = true}},
      {"relation keys, values and bias", {.relation_keys = true, .relation_values = true, .relation_bias = true}},
      {"relations per head",
       {.relation_keys = true, .keys_per_head = true, .relation_values = true, .values_per_head = true}},
      {"edge bias", {.edge_bias = true}},
      {"edge bias and weights per head",
       {.relation_bias = true,
        .edge_bias = true,
        .bias_per_head = true,
        .edge_weights = true,
        .weights_per_head = true}},
      {"edge weights", {.relation_keys = true, .edge_weights = true}},
  };
}

/// Those tensors of a case that are there.
inline std::vector<Tensor*> tensors_of(AttentionCase& c) {
  std::vector<Tensor*> result;
  for (Tensor* tensor : {&c.q, &c.k, &c.v, &c.options.relation_keys, &c.options.relation_values,
                         &c.options.relation_bias, &c.options.edge_bias, &c.options.edge_weights}) {
    if (tensor->defined()) result.push_back(tensor);
  }
  return result;
}

/// The same case with its tensors on a device.
inline AttentionCase moved(AttentionCase c, Device device) {
  for (Tensor* tensor : tensors_of(c)) *tensor = tensor->to(device);
  return c;
}

inline Tensor attend(const AttentionCase& c) { return graph_attention(c.graph, c.q, c.k, c.v, c.options); }

/// Runs forward and backward, by default from random numbers; gives the gradients of all tensors of the case.
inline std::vector<Tensor> gradients_of(AttentionCase c, Tensor d_out = {}) {
  for (Tensor* tensor : tensors_of(c)) *tensor = tensor->clone().set_requires_grad(true);
  const Tensor out = attend(c);
  if (!d_out.defined()) d_out = random_tensor(out.shape(), out.dtype(), 20).to(out.device());
  out.backward({.gradient = d_out});
  std::vector<Tensor> result;
  for (const Tensor* tensor : tensors_of(c)) result.push_back(tensor->grad());
  return result;
}

}  // namespace bough::test
