#pragma once

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough {

/// Options of gspmm.
struct GspmmOptions {
  Target lhs = Target::source;              ///< where the left operand is
  Target rhs = Target::edge;                ///< where the right operand is
  double empty_value = 0;                   ///< what a destination without in-edges gets
  Strategy strategy = Strategy::automatic;  ///< how it is computed; all give the same
};

/// Messages as in gsddmm, reduced over the in-edges of each destination without ever being stored.
///
/// -> [num_dst, C...], where C is the shape of a message. A destination without in-edges gets empty_value, whatever the
/// reduction. max and min: a NaN message is selected. A sum of n messages is added up in runs of 1024, then over the
/// runs, so its rounding error stays below (1024 + n / 1024) epsilon times the sum of absolute values.
/// Copies of node features with 32 elements or more are added up in another order where rows of the graph overlap (see
/// shared_work): what several rows have in common first, then each row; the bound is the same. That takes room for one
/// row of features for each partial result that many rows use, at most a third of the operand, while it runs.
///
/// Gradient to both operands, summed over edges and broadcast axes, without atomics. max and min pass it to the winning
/// edge, of several the one given first, and keep its number [num_dst, C...]; the gradient of prod is right also where
/// messages are zero, and needs room for one row of features an edge while it runs. Bitwise equal for any number of
/// threads and for every strategy. O(edges x features), less where rows overlap.
Tensor gspmm(const Graph& graph, BinaryOp op, ReduceOp reduce, const Tensor& lhs, const Tensor& rhs = {},
             const GspmmOptions& options = {});

/// Reductions of plain copies of node features compute once what rows have in common, if that pays: neighbouring rows
/// of attention graphs share most of their sources. This is how many rows of features they then read and write on this
/// graph, by destination, as a share of those they would without; 1 if nothing is shared.
double shared_work(const Graph& graph);

/// The strategy that gspmm takes by default on this graph with `width` features of each message; helps to tune.
Strategy chosen_strategy(const Graph& graph, std::int64_t width);

}  // namespace bough
