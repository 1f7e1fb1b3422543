#include "nn/modules/layer_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"

namespace bough::nn {

GraphSelfAttentionOptions attention_options(const GraphTransformerLayerOptions& options, std::int64_t num_relations) {
  return {.dim = options.dim,
          .heads = options.heads,
          .num_relations = num_relations,
          .ignore_relations = options.ignore_relations,
          .scale = options.scale,
          .bias = options.attention_bias,
          .dropout = options.attention_dropout,
          .relation_deviation = options.relation_deviation,
          .output_gain = options.output_gain,
          .soft_span = options.soft_span,
          .initial_span = options.initial_span};
}

FeedForwardOptions feed_forward_options(const GraphTransformerLayerOptions& options) {
  return {.dim = options.dim,
          .hidden = options.feed_forward == 0 ? 4 * options.dim : options.feed_forward,
          .activation = options.activation,
          .bias = options.feed_forward_bias,
          .dropout = options.dropout,
          .output_gain = options.output_gain};
}

LayerNormOptions norm_options(const GraphTransformerLayerOptions& options) {
  return {.dim = options.dim, .epsilon = options.norm_epsilon};
}

void require_plain(const char* where, const Graph& graph) {
  const char* const missing = [form = attention_form(graph)] {
    switch (form) {
      case AttentionForm::plain:
        return "";
      case AttentionForm::head_groups:
        return "groups of heads follow different edges, and this graph has those of all of them";
      case AttentionForm::stages:
        return "the stages of a layer follow different edges, and this graph has those of all of them";
      case AttentionForm::soft_span:
        return "heads learn how far they reach, and this graph does not know the distance of an edge";
      case AttentionForm::fixed_nodes:
        return "some nodes are never updated, and this graph does not know which";
    }
    return "";
  }();
  if (*missing == '\0') return;
  throw ConfigError(where,
                    fmt::format("{}; run a GraphTransformer on make_layer_schedule(attention graph, ...)", missing));
}

void require_node_rows(const char* where, const Graph& graph, const Tensor& h) {
  require_plain(where, graph);
  if (graph.is_bipartite()) {
    throw ShapeError(where, fmt::format("a bipartite graph of {} sources and {} destinations needs rows for each of "
                                        "them apart, not {}",
                                        graph.num_src(), graph.num_dst(), to_string(h.shape())));
  }
  if (h.rank() >= 1 && h.size(0) == graph.num_nodes()) return;
  throw ShapeError(where, fmt::format("h must have a row for each of the {} nodes of the graph, it is {}; rows of "
                                      "tokens alone are for a GraphTransformer on make_layer_schedule(attention "
                                      "graph, ...)",
                                      graph.num_nodes(), to_string(h.shape())));
}

Tensor in_row_blocks(const Tensor& x, bool at_once, FunctionRef<Tensor(const Tensor&)> function) {
  constexpr std::int64_t block = 1024;
  if (grad_enabled() || at_once || x.rank() != 2 || x.size(0) <= block) return function(x);
  Tensor result;
  for (std::int64_t begin = 0; begin < x.size(0); begin += block) {
    const std::int64_t end = std::min(x.size(0), begin + block);
    const Tensor rows = function(x.rows(begin, end));
    if (!result.defined()) result = Tensor::empty({x.size(0), rows.size(1)}, rows.dtype(), rows.device());
    result.rows(begin, end).assign(rows);
  }
  return result;
}

Tensor residual(const LayerNorm& norm, const Dropout& dropout, bool pre_norm, Tensor read, const Tensor& rows,
                FunctionRef<Tensor(const Tensor&)> part, ActivationPolicy policy) {
  const Tensor change = dropout.forward(part(pre_norm ? norm.forward(read, policy) : read));
  const Tensor x = rows.defined() ? gather_rows(read, rows) : read;
  read = {};
  return pre_norm ? x + change : norm.forward(change, x, policy);
}

void require_inputs(const char* where, const LayerSchedule& schedule, std::int64_t layers, std::int64_t dim,
                    const Tensor& tokens) {
  if (schedule.layers.size() != static_cast<std::size_t>(layers)) {
    throw ConfigError(
        where, fmt::format("the schedule is that of {} layers, the model has {}", schedule.layers.size(), layers));
  }
  if (tokens.rank() != 2 || tokens.size(0) != schedule.num_tokens || tokens.size(1) != dim) {
    throw ShapeError(where, fmt::format("token inputs must be [{}, {}], one row for each token and none for other "
                                        "nodes; they are {}",
                                        schedule.num_tokens, dim, to_string(tokens.shape())));
  }
}

Tensor first_rows(const LayerSchedule& schedule, const Tensor& tokens, const Tensor& start) {
  if (!schedule.has_other_nodes) return tokens;
  const Tensor shared = start.defined() ? start : zeros({1, tokens.size(1)}, tokens.dtype(), tokens.device());
  return concatenate({tokens, shared}, 0);
}

}  // namespace bough::nn
