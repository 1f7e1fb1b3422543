#pragma once

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough {

/// Options of edge_softmax.
struct EdgeSoftmaxOptions {
  Target by = Target::destination;  ///< over the in-edges of each destination, or the out-edges of each source
};

/// Normalises scores over the edges that share a destination (or a source): exp(score) divided by the sum of exp.
///
/// scores [num_edges, ...] in edge order, float32 or float64 -> the same shape; the entries of one node sum to 1, for
/// each feature by itself. Stable for scores of any size. Entries of -inf get 0; if all of a node are -inf they all get
/// 0, and their gradient is 0. A NaN or +inf among them makes the node's entries NaN. No edges: no entries.
///
/// Gradient y * (dy - sum of y * dy); keeps only the result. Bitwise equal for any number of threads.
/// O(edges x features).
Tensor edge_softmax(const Graph& graph, const Tensor& scores, const EdgeSoftmaxOptions& options = {});

}  // namespace bough
