#include "bough/nn/graph_self_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"

namespace bough::nn {
namespace {

const GraphSelfAttentionOptions& checked(const GraphSelfAttentionOptions& options) {
  if (options.dim < 1 || options.heads < 1 || options.dim % options.heads != 0) {
    throw ConfigError("graph self-attention", fmt::format("dim {} must be a multiple of heads {}, both at least 1",
                                                          options.dim, options.heads));
  }
  if (options.num_relations < 0) {
    throw ConfigError("graph self-attention",
                      fmt::format("num_relations must not be negative, it is {}", options.num_relations));
  }
  if (options.soft_span && !(options.initial_span > 0 && options.initial_span < 1)) {
    throw ConfigError("graph self-attention",
                      fmt::format("initial_span must be above 0 and below 1, it is {}", options.initial_span));
  }
  return options;
}

LinearOptions projection(const GraphSelfAttentionOptions& options, double gain = 1) {
  return {.in = options.dim, .out = options.dim, .bias = options.bias, .gain = gain};
}

Tensor pick(const Tensor& x, const Tensor& rows) { return rows.defined() ? gather_rows(x, rows) : x; }

/// The picked rows, projected: before picking if rows are picked more than once, else after.
std::vector<Tensor> project(const std::vector<LinearPart>& parts, const Tensor& nodes, const Tensor& rows) {
  const bool picks_few = rows.defined() && rows.size(0) < nodes.size(0);
  if (picks_few) return linear_parts(pick(nodes, rows), parts);
  std::vector<Tensor> projected = linear_parts(nodes, parts);
  for (Tensor& one : projected) one = pick(one, rows);
  return projected;
}

}  // namespace

GraphSelfAttention::GraphSelfAttention(const GraphSelfAttentionOptions& options)
    : query(projection(checked(options))),
      key(projection(options)),
      value(projection(options)),
      output(projection(options, options.output_gain)),
      options_(options) {
  add_module("query", query);
  add_module("key", key);
  add_module("value", value);
  add_module("output", output);
  if (options.num_relations > 0) {
    relation_keys = normal({options.num_relations, options.dim / options.heads}, options.relation_deviation);
    add_parameter("relation_keys", relation_keys);
  }
  if (options.soft_span) {
    const double logit = std::log(options.initial_span / (1 - options.initial_span));
    span_logits = full({options.heads}, logit);
    add_parameter("span_logits", span_logits);
  }
}

Tensor GraphSelfAttention::forward(const Graph& graph, const Tensor& h) const {
  return forward(std::span(&graph, 1), h, AttentionRows{});
}

Tensor GraphSelfAttention::forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const {
  return forward(std::span(&graph, 1), sources, destinations);
}

Tensor GraphSelfAttention::forward(std::span<const Graph> graphs, const Tensor& sources,
                                   const Tensor& destinations) const {
  std::vector<Tensor> kv = linear_parts(sources, {key.part(), value.part()});
  return attend(graphs, query.forward(destinations), std::move(kv[0]), std::move(kv[1]));
}

Tensor GraphSelfAttention::forward(std::span<const Graph> graphs, const Tensor& nodes,
                                   const AttentionRows& rows) const {
  const bool same_rows = !rows.sources.defined() && !rows.destinations.defined();
  if (same_rows) {
    std::vector<Tensor> qkv = linear_parts(nodes, {query.part(), key.part(), value.part()});
    return attend(graphs, std::move(qkv[0]), std::move(qkv[1]), std::move(qkv[2]), rows.distances);
  }
  Tensor queries = project({query.part()}, nodes, rows.destinations)[0];
  std::vector<Tensor> kv = project({key.part(), value.part()}, nodes, rows.sources);
  return attend(graphs, std::move(queries), std::move(kv[0]), std::move(kv[1]), rows.distances);
}

Tensor GraphSelfAttention::attend(std::span<const Graph> graphs, Tensor queries, Tensor keys, Tensor values,
                                  const Tensor& distances) const {
  const std::int64_t head_dim = options_.dim / options_.heads;
  const std::int64_t destinations = queries.size(0);
  for (Tensor* x : {&queries, &keys, &values}) *x = x->reshape({x->size(0), options_.heads, head_dim});
  const std::int64_t scaled_by = options_.scale == GraphSelfAttentionOptions::Scale::dim ? options_.dim : head_dim;
  const Tensor attended = graph_attention(graphs, queries, keys, values,
                                          {.relation_keys = relation_keys,
                                           .edge_weights = edge_weights(distances),
                                           .scale = 1 / std::sqrt(static_cast<double>(scaled_by)),
                                           .dropout = is_training() ? options_.dropout : 0});
  for (Tensor* x : {&queries, &keys, &values}) *x = {};  // without a tape their memory is free for the projection
  return output.forward(attended.reshape({destinations, options_.dim}));
}

Tensor GraphSelfAttention::reach() const {
  if (!options_.soft_span) throw ConfigError("graph self-attention", "has no soft span: set the option soft_span");
  return sigmoid(span_logits) * static_cast<double>(options_.soft_span->max_span);
}

std::vector<double> GraphSelfAttention::spans() const {
  const std::vector<float> reached = reach().detach().to_vector<float>();
  return {reached.begin(), reached.end()};
}

Tensor GraphSelfAttention::span_penalty() const { return mean(reach()); }

Tensor GraphSelfAttention::edge_weights(const Tensor& distances) const {
  if (!options_.soft_span) return {};
  if (!distances.defined()) {
    throw ConfigError("graph self-attention",
                      "a soft span needs the distance of each edge; run the model on make_rounds(graph, ...)");
  }
  // One row for each distance that occurs in such a graph, looked up by the edges.
  const auto ramp = static_cast<double>(options_.soft_span->ramp);
  Tensor far = Tensor::empty({options_.soft_span->max_span + 1, 1});
  for (std::int64_t x = 0; x < far.size(0); ++x)
    far.data<float>()[x] = static_cast<float>(ramp) - static_cast<float>(x);
  return gather_rows(clamp((reach() + far) / ramp, 0, 1), distances);
}

}  // namespace bough::nn
