#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/graph/graph.h"

namespace bough {

/// The disjoint union: nodes and edges of the first graph first, then those of the second, ... graph_offsets() and
/// edge_offsets() of the result say where each begins; batches among the arguments count as their parts. A handful of
/// allocations whatever the number of graphs. O(nodes + edges).
/// GraphError if bipartite graphs are mixed with others, typed with untyped ones (a graph without edges fits both), or
/// if the sum has too many nodes or edges. No graphs: the empty graph, with num_graphs() 0.
Graph batch(std::span<const Graph> graphs);
inline Graph batch(std::initializer_list<Graph> graphs) { return batch(std::span(graphs.begin(), graphs.size())); }

/// Attention graphs side by side, of any origin: one sequence for each of theirs, in order, with its own root and
/// read-out; positions (AttentionGraph::covers) count through the batch. build_batch does the same with the graphs of a
/// generator. A handful of allocations whatever the number of graphs. O(nodes + edges).
/// GraphError as validate_nodes() of each, without graphs, for too many nodes or edges, or unless all are alike in
/// being causal and bipartite, in the number of head groups and stages, in the soft span, and call a relation by the
/// same name (an empty one fits all).
AttentionGraph batch(std::span<const AttentionGraph> graphs);
/// The same of a list. A template, so that batch({}) is the empty Graph.
template <std::same_as<AttentionGraph> Each>
AttentionGraph batch(std::initializer_list<Each> graphs) {
  return batch(std::span(graphs.begin(), graphs.size()));
}

/// The parts of a batch, with the number of edge types of the whole. A graph that is no batch is its only part.
std::vector<Graph> unbatch(const Graph& graph);

}  // namespace bough
