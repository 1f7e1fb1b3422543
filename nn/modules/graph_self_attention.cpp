#include "bough/nn/graph_self_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "nn/modules/layer_parts.h"

namespace bough::nn {
namespace {

constexpr const char* attention_name = "graph self-attention";

const GraphSelfAttentionOptions& checked(const GraphSelfAttentionOptions& options) {
  if (options.dim < 1 || options.heads < 1 || options.dim % options.heads != 0) {
    throw ConfigError(attention_name, fmt::format("dim {} must be a multiple of heads {}, both at least 1", options.dim,
                                                  options.heads));
  }
  if (options.num_relations < 0) {
    throw ConfigError(attention_name,
                      fmt::format("num_relations must not be negative, it is {}", options.num_relations));
  }
  if (options.soft_span && !(options.initial_span > 0 && options.initial_span < 1)) {
    throw ConfigError(attention_name,
                      fmt::format("initial_span must be above 0 and below 1, it is {}", options.initial_span));
  }
  return options;
}

LinearOptions projection(const GraphSelfAttentionOptions& options, double gain = 1) {
  return {.in = options.dim, .out = options.dim, .bias = options.bias, .gain = gain};
}

/// The part of a projection that makes some columns of its result.
LinearPart columns_of(const LinearPart& whole, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == whole.weight.size(0)) return whole;
  return {whole.weight.rows(begin, end), whole.bias.defined() ? whole.bias.rows(begin, end) : Tensor()};
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
  require_node_rows(attention_name, graph, h);
  return forward(std::span(&graph, 1), h, AttentionRows{});
}

Tensor GraphSelfAttention::forward(const Graph& graph, const Tensor& sources, const Tensor& destinations) const {
  require_plain(attention_name, graph);
  return forward(std::span(&graph, 1), sources, destinations);
}

Tensor GraphSelfAttention::forward(std::span<const Graph> graphs, const Tensor& sources,
                                   const Tensor& destinations) const {
  std::vector<Tensor> kv = linear_parts(sources, {key.part(), value.part()});
  return attend(graphs, query.forward(destinations), std::move(kv[0]), std::move(kv[1]));
}

Tensor GraphSelfAttention::forward(std::span<const Graph> graphs, const Tensor& nodes, const AttentionRows& rows,
                                   ActivationPolicy policy) const {
  const bool same_rows = !rows.sources.defined() && !rows.destinations.defined();
  const std::int64_t at_once = heads_at_once(graphs, nodes), width = at_once * (options_.dim / options_.heads);
  std::vector<Tensor> heads;
  for (std::int64_t begin = 0; begin < options_.dim; begin += width) {
    const auto part = [&](const Linear& whole) { return columns_of(whole.part(), begin, begin + width); };
    std::vector<Tensor> qkv;
    if (same_rows) {
      qkv = linear_parts(nodes, {part(query), part(key), part(value)});
    } else {
      qkv = project({part(query)}, nodes, rows.destinations);
      for (Tensor& one : project({part(key), part(value)}, nodes, rows.sources)) qkv.push_back(std::move(one));
    }
    heads.push_back(attended(graphs, std::move(qkv[0]), std::move(qkv[1]), std::move(qkv[2]), rows.distances, policy));
  }
  const Tensor joined = heads.size() == 1 ? heads[0] : concatenate(heads, 1);
  heads.clear();
  return output.forward(joined);
}

std::int64_t GraphSelfAttention::heads_at_once(std::span<const Graph> graphs, const Tensor& nodes) const {
  constexpr std::int64_t many_rows = 4096;
  const bool heads_alike = graphs.size() == 1 && !options_.soft_span;
  const bool drops = is_training() && options_.dropout > 0;
  const bool all = grad_enabled() || drops || !heads_alike || nodes.size(0) < many_rows || options_.heads % 4 != 0;
  return all ? options_.heads : options_.heads / 4;
}

Tensor GraphSelfAttention::attend(std::span<const Graph> graphs, Tensor queries, Tensor keys, Tensor values,
                                  const Tensor& distances) const {
  return output.forward(attended(graphs, std::move(queries), std::move(keys), std::move(values), distances));
}

Tensor GraphSelfAttention::attended(std::span<const Graph> graphs, Tensor queries, Tensor keys, Tensor values,
                                    const Tensor& distances, ActivationPolicy policy) const {
  require_relations(graphs);
  const std::int64_t head_dim = options_.dim / options_.heads;
  const Shape joined = queries.shape();
  for (Tensor* x : {&queries, &keys, &values}) *x = x->reshape({x->size(0), x->size(1) / head_dim, head_dim});
  const auto attend = [joined, scale = score_scale(), dropout = is_training() ? options_.dropout : 0](
                          std::span<const Graph> over, const std::vector<Tensor>& in) {
    return graph_attention(over, in[0], in[1], in[2],
                           {.relation_keys = in[3], .edge_weights = in[4], .scale = scale, .dropout = dropout})
        .reshape(joined);
  };
  const std::vector<Tensor> inputs{std::move(queries), std::move(keys), std::move(values), relation_keys,
                                   edge_weights(distances)};
  if (policy != ActivationPolicy::recompute_cheap) return attend(graphs, inputs);
  return recompute_value([attend, over = std::vector<Graph>(graphs.begin(), graphs.end())](
                             const std::vector<Tensor>& in) { return attend(over, in); },
                         inputs);
}

std::vector<Tensor> GraphSelfAttention::weights(std::span<const Graph> graphs, const Tensor& nodes,
                                                const AttentionRows& rows) const {
  require_relations(graphs);
  const NoGrad no_grad;
  const std::int64_t head_dim = options_.dim / options_.heads, of_group = options_.heads / std::ssize(graphs);
  const auto heads_of = [&](const Linear& projection, const Tensor& picked) {
    const Tensor projected = project({projection.part()}, nodes, picked)[0];
    return projected.reshape({projected.size(0), options_.heads, head_dim});
  };
  const Tensor queries = heads_of(query, rows.destinations), keys = heads_of(key, rows.sources);
  const Tensor reached = edge_weights(rows.distances);
  std::vector<Tensor> result;
  for (const Graph& graph : graphs) {
    const std::int64_t begin = std::ssize(result) * of_group, end = begin + of_group;
    result.push_back(
        attention_weights(graph, slice(queries, 1, begin, end), slice(keys, 1, begin, end),
                          {.relation_keys = relation_keys, .edge_weights = reached, .scale = score_scale()}));
  }
  return result;
}

double GraphSelfAttention::score_scale() const {
  const bool by_dim = options_.scale == GraphSelfAttentionOptions::Scale::dim;
  return 1 / std::sqrt(static_cast<double>(by_dim ? options_.dim : options_.dim / options_.heads));
}

void GraphSelfAttention::require_relations(std::span<const Graph> graphs) const {
  if (relation_keys.defined() || options_.ignore_relations) return;
  for (const Graph& graph : graphs) {
    if (graph.num_edge_types() < 2) continue;
    throw ConfigError(attention_name,
                      fmt::format("the graph has {} relations and the model no table for them; make the options of "
                                  "the model from its graph (for_graph), or set num_relations or ignore_relations",
                                  graph.num_edge_types()));
  }
}

Tensor GraphSelfAttention::reach() const {
  if (!options_.soft_span) throw ConfigError(attention_name, "has no soft span: set the option soft_span");
  return sigmoid(span_logits) * static_cast<double>(options_.soft_span->max_span);
}

std::vector<double> GraphSelfAttention::spans() const {
  const std::vector<float> reached = reach().detach().to_vector<float>();
  return {reached.begin(), reached.end()};
}

Tensor GraphSelfAttention::span_penalty() const { return mean(reach()); }

Tensor GraphSelfAttention::span_weights() const {
  if (!options_.soft_span) return {};
  const auto ramp = static_cast<double>(options_.soft_span->ramp);
  Tensor far = Tensor::empty({options_.soft_span->max_span + 1, 1});
  for (std::int64_t x = 0; x < far.size(0); ++x)
    far.data<float>()[x] = static_cast<float>(ramp) - static_cast<float>(x);
  return clamp((reach() + far.to(span_logits.device())) / ramp, 0, 1);
}

Tensor GraphSelfAttention::edge_weights(const Tensor& distances) const {
  if (!options_.soft_span) return {};
  if (!distances.defined()) {
    throw ConfigError(attention_name,
                      "a soft span needs the distance of each edge; run the model on make_layer_schedule(graph, ...)");
  }
  // One row for each distance that occurs in such a graph, looked up by the edges.
  return gather_rows(span_weights(), distances);
}

}  // namespace bough::nn
