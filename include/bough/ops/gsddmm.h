#pragma once

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough {

/// Options of gsddmm.
struct GsddmmOptions {
  Target lhs = Target::source;       ///< where the left operand is
  Target rhs = Target::destination;  ///< where the right operand is
};

/// The message of every edge: op(row of lhs, row of rhs), where an operand has one row for each source, destination or
/// edge.
///
/// lhs [rows, A...], rhs [rows, B...] -> [num_edges, C...] in edge order, where A and B broadcast to C as in NumPy. dot
/// needs the same last axis in both and gives C with 1 in its place; rows without features count as width 1. copy_lhs
/// and copy_rhs read one operand, the other may be undefined. Both operands have the same floating type. No edges or no
/// features give an empty result; dot over an axis of extent 0 gives zeros.
///
/// Gradient to both operands, summed over edges and broadcast axes; div saves both operands, mul and dot what the
/// other's gradient needs, the rest nothing. Bitwise equal for any number of threads. O(edges x features).
Tensor gsddmm(const Graph& graph, BinaryOp op, const Tensor& lhs, const Tensor& rhs, const GsddmmOptions& options = {});

}  // namespace bough
