#pragma once

#include "bough/graph/attention_graph.h"

namespace bough {

/// The batch with one more stage in each layer, in which each node that is updated attends to all tokens of the other
/// sequence of its pair: 0 and 1, 2 and 3, and so on. These edges have a relation of their own, the last one. Stages
/// that the pattern has come first. GraphError for an odd number of sequences; otherwise as require_cross_stage.
/// O(nodes + edges + the edges added).
AttentionGraph with_cross_stage(AttentionGraph batch);

/// ConfigError for patterns that take no further stage: with head groups or a learned reach.
void require_cross_stage(const AttentionGraph& graph);

}  // namespace bough
