#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bough/graph/attention_graph_builder.h"

/// From rules that give each node its in-edges to a graph: the rules of a builder, or the rows of several graphs merged
/// into one; in causal graphs each edge is checked.
namespace bough {

/// The edges that `rule` gives the nodes of `nodes` (its kinds, covers and causality count, the rest need not be
/// there), sorted by destination, then source. Errors as AttentionGraphBuilder::build.
Graph assemble_graph(const AttentionGraph& nodes, bool bipartite, std::int64_t num_relations, const InEdgeRule& rule);

/// Makes attention_form(graph.graph) tell what the parts of the graph say. Called by what makes the graph, before
/// others see it: all handles share what the first call finds.
void record_form(const AttentionGraph& graph);

/// Edges that `rule` gives nodes 0 .. num_nodes-1, without making them.
std::int64_t count_in_edges(std::int64_t num_nodes, const InEdgeRule& rule);

/// A graph whose rows take part in a merge, and how its node and relation ids are rewritten.
struct RowSource {
  explicit RowSource(Graph from) : graph(std::move(from)) {}

  Graph graph;
  /// Nodes below `shared` keep their ids, the others move up by `shift`.
  std::int32_t shared = 0;
  std::int32_t shift = 0;
  std::function<std::int32_t(std::int32_t)> relation = {};  ///< empty: as it is
};

/// A rule that gives each node the edges of all graphs. An edge that several have keeps the relation of the first of
/// them.
InEdgeRule merge_rows(std::vector<RowSource> graphs);

/// The rule that keeps a graph causal through any number of layers: a node knows the tokens up to the last one it
/// covers, and may only attend to nodes that know no more.
class CausalOrder {
 public:
  CausalOrder(const AttentionGraph& nodes, bool bipartite);

  bool allows(std::int32_t source, std::int32_t node) const {
    return last_known(*sources_, *source_kinds_, source) <= last_known(*covers_, *kinds_, node);
  }

  /// GraphError naming the first edge that breaks the rule.
  void require(std::int32_t node, std::span<const std::int32_t> sources) const;

 private:
  /// Tokens of another sequence are all known from the start.
  static std::int32_t last_known(const std::vector<TokenRange>& covers, const std::vector<NodeKind>& kinds,
                                 std::int32_t node) {
    const auto i = static_cast<std::size_t>(node);
    return kinds[i] == NodeKind::source ? -1 : covers[i].end - 1;
  }

  const std::vector<TokenRange>* covers_;
  const std::vector<NodeKind>* kinds_;
  const std::vector<TokenRange>* sources_;
  const std::vector<NodeKind>* source_kinds_;
};

}  // namespace bough
