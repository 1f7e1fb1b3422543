#pragma once

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/graph/graph_generator.h"

namespace bough::test {

/// An edge with the name of its relation, as tests write them down.
struct NamedEdge {
  std::int32_t src;
  std::int32_t dst;
  std::string relation;
  auto operator<=>(const NamedEdge&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const NamedEdge& edge) {
  return out << edge.src << "->" << edge.dst << " " << edge.relation;
}

inline std::vector<NamedEdge> named_edges(const AttentionGraph& from, const Graph& graph) {
  std::vector<NamedEdge> edges;
  for (std::size_t e = 0; e < graph.coo().src.size(); ++e) {
    edges.push_back(
        {graph.coo().src[e], graph.coo().dst[e], from.relations.at(static_cast<std::size_t>(graph.edge_types()[e]))});
  }
  return edges;
}
inline std::vector<NamedEdge> named_edges(const AttentionGraph& graph) { return named_edges(graph, graph.graph); }

/// Sources of a node, as ids.
inline std::vector<std::int32_t> sources_of(const Graph& graph, std::int32_t node) {
  const CscView rows = graph.csc();
  const auto first = static_cast<std::size_t>(rows.offsets[static_cast<std::size_t>(node)]);
  const auto row = rows.indices.subspan(first, static_cast<std::size_t>(rows.degree(node)));
  return {row.begin(), row.end()};
}

/// Sources of every node.
inline std::vector<std::vector<std::int32_t>> rows_of(const Graph& graph) {
  std::vector<std::vector<std::int32_t>> rows;
  for (std::int32_t node = 0; node < graph.num_dst(); ++node) rows.push_back(sources_of(graph, node));
  return rows;
}

/// Names of the relations of a node's in-edges, in the order of the sources.
inline std::vector<std::string> relations_of(const AttentionGraph& graph, std::int32_t node) {
  std::vector<std::string> names;
  for (const NamedEdge& edge : named_edges(graph)) {
    if (edge.dst == node) names.push_back(edge.relation);
  }
  return names;
}

inline AttentionGraph build(const nlohmann::json& specification, std::int64_t length, bool causal) {
  AttentionGraph graph = generators().make(specification)->build({.length = length, .causal = causal});
  graph.validate();
  return graph;
}

inline constexpr std::size_t max_tested_length = 320;
using TokenSet = std::bitset<max_tested_length>;

/// The tokens that each node depends on after any number of layers.
inline std::vector<TokenSet> tokens_reaching(const AttentionGraph& from) {
  const auto last = [](const TokenRange& range) { return range.end; };
  std::vector<TokenSet> sets(static_cast<std::size_t>(from.graph.num_dst()));
  std::vector<TokenSet> sources(static_cast<std::size_t>(from.graph.num_src()));
  for (std::size_t i = 0; i < from.tokens.size(); ++i) sets[static_cast<std::size_t>(from.tokens[i])].set(i);
  for (std::size_t i = 0; i < from.kinds.size(); ++i) {
    if (from.kinds[i] == NodeKind::input) sets[i].set(static_cast<std::size_t>(last(from.covers[i]) - 1));
  }
  for (bool changed = true; changed;) {
    changed = false;
    if (from.graph.is_bipartite()) {
      // The token on the source side is the token of the layer before.
      for (std::size_t i = 0; i < from.source_kinds.size(); ++i) {
        if (from.source_kinds[i] != NodeKind::token) continue;
        sources[i] = sets[static_cast<std::size_t>(from.tokens[static_cast<std::size_t>(from.source_covers[i].begin)])];
      }
    }
    for (std::size_t e = 0; e < from.graph.coo().src.size(); ++e) {
      const auto src = static_cast<std::size_t>(from.graph.coo().src[e]);
      TokenSet& set = sets[static_cast<std::size_t>(from.graph.coo().dst[e])];
      const TokenSet merged = set | (from.graph.is_bipartite() ? sources[src] : sets[src]);
      changed |= merged != set;
      set = merged;
    }
  }
  return sets;
}

/// Fails if, through any number of layers, a token depends on a later one.
inline void expect_causal(const AttentionGraph& graph) {
  const std::vector<TokenSet> sets = tokens_reaching(graph);
  for (std::size_t i = 0; i < graph.tokens.size(); ++i) {
    const TokenSet later = sets[static_cast<std::size_t>(graph.tokens[i])] >> (i + 1);
    ASSERT_TRUE(later.none()) << "token " << i << " depends on token " << i + 1 + later._Find_first();
  }
}

}  // namespace bough::test
