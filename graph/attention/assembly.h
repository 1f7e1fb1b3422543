#pragma once

#include "bough/graph/attention_graph_builder.h"

namespace bough {

/// The edges that `rule` gives the nodes of `nodes` (its kinds, covers and causality count, the rest need not be
/// there), sorted by destination, then source. Errors as AttentionGraphBuilder::build.
Graph assemble_graph(const AttentionGraph& nodes, bool bipartite, std::int64_t num_relations, const InEdgeRule& rule);

}  // namespace bough
