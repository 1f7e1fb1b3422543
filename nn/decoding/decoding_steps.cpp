#include "nn/decoding/decoding_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

constexpr const char* decoding = "incremental decoder";

AttentionGraph followed_graph(const GraphTransformerLayerOptions& layer, AttentionGraph graph) {
  const auto require = [](bool fits, const char* rule) {
    if (!fits) throw ConfigError(decoding, rule);
  };
  graph.validate();
  require(graph.causal && graph.sequences.size() == 1, "the graph must be causal and that of one sequence");
  require(!graph.graph.is_bipartite(), "a graph that reads rows from outside cannot be decoded step by step");
  require(graph.stages.empty(), "patterns with stages cannot be decoded step by step");
  require(std::ranges::find(graph.kinds, NodeKind::input) == graph.kinds.end(),
          "patterns with nodes that are never updated cannot be decoded step by step");
  require(graph.soft_span == layer.soft_span,
          "the soft span of the graph is not that of the model; make the options with for_graph");
  // A single relation needs no key: it would add the same to all scores of a node.
  if (!layer.ignore_relations && graph.num_relations() > std::max<std::int64_t>(1, layer.num_relations)) {
    throw ConfigError(decoding, fmt::format("the graph of {} tokens has {} relations, the model keys for {}; decode "
                                            "shorter texts of the pattern it was made for, or make its options with "
                                            "for_graph(generator, max_length, ...)",
                                            graph.num_tokens(), graph.num_relations(), layer.num_relations));
  }
  const auto groups = static_cast<std::int64_t>(graph.head_groups.size());
  if (groups > 0 && layer.heads % groups != 0) {
    throw ConfigError(decoding,
                      fmt::format("the model has {} heads, which the {} head groups of the graph do not divide",
                                  layer.heads, groups));
  }
  return graph;
}

}  // namespace

DecodingSteps::DecodingSteps(const GraphTransformerLayerOptions& layer, AttentionGraph graph)
    : graph_(followed_graph(layer, std::move(graph))) {
  groups_ = graph_.head_groups.empty() ? std::vector<Graph>{graph_.graph} : graph_.head_groups;
  const auto nodes = static_cast<std::size_t>(graph_.graph.num_nodes()), tokens = graph_.tokens.size();
  const auto last_token = [this](std::size_t node) {
    return static_cast<std::size_t>(std::max(0, graph_.covers[node].end - 1));
  };
  // A counting sort by the last token covered, each token before the others.
  begin_.assign(tokens + 1, 0);
  for (std::size_t node = 0; node < nodes; ++node) ++begin_[last_token(node) + 1];
  for (std::size_t token = 0; token < tokens; ++token) begin_[token + 1] += begin_[token];
  std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
  order_.resize(nodes);
  places_.assign(nodes, -1);
  const auto put = [&](std::size_t node, std::size_t token) {
    places_[node] = static_cast<std::int32_t>(next[token]++);
    order_[static_cast<std::size_t>(places_[node])] = static_cast<std::int32_t>(node);
  };
  for (std::size_t token = 0; token < tokens; ++token) put(static_cast<std::size_t>(graph_.tokens[token]), token);
  for (std::size_t node = 0; node < nodes; ++node) {
    if (places_[node] < 0) put(node, last_token(node));
  }
}

void DecodingSteps::list_edges(std::int64_t place, const RowTables& tables, const RowTable& rows,
                               std::vector<CachedEdges>& groups) const {
  const auto node = static_cast<std::size_t>(order_[static_cast<std::size_t>(place)]);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const CscView csc = groups_[g].csc(EdgeIds::implied);
    const std::span<const std::int32_t> types = groups_[g].edge_types();
    const auto begin = static_cast<std::size_t>(csc.offsets[node]),
               end = static_cast<std::size_t>(csc.offsets[node + 1]);
    for (std::size_t p = begin; p < end; ++p) {
      const auto source = static_cast<std::size_t>(csc.indices[p]);
      const std::size_t edge = csc.in_edge_order ? p : static_cast<std::size_t>(csc.edge_ids[p]);
      const std::int32_t distance = graph_.soft_span ? graph_.covers[node].end - graph_.covers[source].end : 0;
      groups[g].add(tables.row(rows, places_[source]), types.empty() ? 0 : types[edge], distance);
    }
    groups[g].end_destination();
  }
}

}  // namespace bough::nn
