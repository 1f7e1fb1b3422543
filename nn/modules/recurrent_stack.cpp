#include "bough/nn/recurrent_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/mp/frame.h"

namespace bough::nn {
namespace {

constexpr std::int64_t most_layers = 10'000;

/// Dim is checked by the layers, under its name there.
RecurrentStackOptions checked(const RecurrentStackOptions& options) {
  if (options.layers >= 1 && options.layers <= most_layers) return options;
  throw ConfigError("recurrent stack", fmt::format("layers must be in 1..{}, it is {}", most_layers, options.layers));
}

}  // namespace

RecurrentStack::RecurrentStack(const RecurrentStackOptions& options)
    : options_(checked(options)), dropout_(options.dropout) {
  for (std::int64_t index = 0; index < options.layers; ++index) {
    layers_.push_back(std::make_unique<Recurrent>(RecurrentOptions{.in = index == 0 ? options.in : width(),
                                                                   .out = options.dim,
                                                                   .cell = options.cell,
                                                                   .positions = options.positions,
                                                                   .depth = options.depth,
                                                                   .bidirectional = options.bidirectional}));
    add_module(fmt::format("layer{}", index), *layers_.back());
  }
  add_module("dropout", dropout_);
}

Tensor RecurrentStack::forward(const Graph& graph, const Tensor& x) const {
  Tensor h = layers_.front()->forward(graph, x);
  for (std::size_t index = 1; index < layers_.size(); ++index) {
    h = layers_[index]->forward(graph, dropout_.forward(h));
  }
  return h;
}

void check_recurrent_graph(const AttentionGraph& graph, const RecurrentStackOptions& options) {
  const auto refuse = [](const std::string& reason) {
    throw ConfigError("recurrent stack", fmt::format("recurrent cells run along edges between tokens, but {}; use "
                                                     "{{\"kind\": \"chain\"}}",
                                                     reason));
  };
  if (graph.graph.is_bipartite()) refuse("the graph reads states from outside its sequence");
  if (graph.graph.num_nodes() != graph.num_tokens()) {
    refuse(fmt::format("the graph has {} nodes for {} tokens", graph.graph.num_nodes(), graph.num_tokens()));
  }
  if (!std::ranges::is_sorted(graph.tokens)) refuse("the nodes of the graph are not in the order of its tokens");
  if (!graph.head_groups.empty() || !graph.stages.empty() || graph.soft_span) {
    refuse("the graph has head groups, stages or a soft span, which are for attention");
  }
  try {
    topological_levels(graph.graph);
  } catch (const GraphError&) {
    refuse("the graph has a cycle, as where a token attends to itself");
  }
  if (options.cell == RecurrentCellKind::lstm) return;
  const std::vector<std::int64_t> predecessors = graph.graph.in_degrees();
  const auto most = std::ranges::max_element(predecessors);
  if (most == predecessors.end() || *most <= 1) return;
  refuse(fmt::format("node {} has {} predecessors and {} takes one, unlike lstm", most - predecessors.begin(), *most,
                     to_string(options.cell)));
}

}  // namespace bough::nn
