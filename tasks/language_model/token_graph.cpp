#include "tasks/language_model/token_graph.h"

#include <vector>

#include "bough/core/errors.h"

namespace bough {

TokenGraph::TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
                       Device device) {
  const AttentionGraph one = generator.build({.length = length, .causal = true});
  if (one.graph.is_bipartite()) {
    throw ConfigError("char_lm",
                      "the pattern reads states of earlier text, and windows are cut from anywhere; use one "
                      "whose tokens attend to their own window");
  }
  attention_degree_ = bough::attention_degree(one);
  num_edges_ = one.graph.num_edges();
  num_nodes_ = one.graph.num_nodes();
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(windows), length);
  rounds_ = nn::make_rounds(build_batch(generator, lengths, true), {.layers = layers}).to(device);
}

std::int64_t TokenGraph::computed_nodes() const {
  std::int64_t nodes = 0;
  for (const auto& stages : rounds_.layers) {
    for (const nn::Round& round : stages) nodes += round.graphs.front().num_dst();
  }
  return nodes;
}

std::int64_t TokenGraph::followed_edges() const {
  std::int64_t edges = 0;
  for (const auto& stages : rounds_.layers) {
    for (const nn::Round& round : stages) {
      // Groups of heads share the width of a node, so together they cost as much as one graph of their mean size.
      std::int64_t all = 0;
      for (const Graph& graph : round.graphs) all += graph.num_edges();
      edges += all / static_cast<std::int64_t>(round.graphs.size());
    }
  }
  return edges;
}

}  // namespace bough
