#pragma once

#include "bough/mp/message_reduce.h"

/// Functors of the test's own over any device: nvcc compiles them for a GPU, the host's compiler for the emulated one.
/// Each takes one type, to compile in half the time.
namespace bough::test {

/// Sums of a message of three floats, of which the larger of two nodes decides.
Tensor sum_of_gated(const Graph& graph, const MessageOperands& operands);
/// Squared distances, in double precision, of the ends of each edge, by how they are reduced.
Tensor mean_distance(const Graph& graph, const MessageOperands& operands, const MessageReduceOptions& options = {});
Tensor largest_distance(const Graph& graph, const MessageOperands& operands);
/// The root of 1 more than their sum: a reduction of the test's own, with a last step and a derivative.
Tensor root_of_distances(const Graph& graph, const MessageOperands& operands);
/// The least multiple of floats of edges, by a functor with a number in it.
Tensor least_multiple(const Graph& graph, const MessageOperands& operands, double factor);
/// By a message of two floats that depends on the type of its edge.
Tensor sum_by_type(const Graph& graph, const MessageOperands& operands);
Tensor largest_by_type(const Graph& graph, const MessageOperands& operands);
/// By a message of floats without a gradient.
Tensor sum_without_gradient(const Graph& graph, const MessageOperands& operands);

}  // namespace bough::test
