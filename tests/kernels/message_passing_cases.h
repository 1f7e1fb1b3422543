#pragma once

#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/mp/operators.h"
#include "tests/support/generated_graphs.h"
#include "tests/support/graph_zoo.h"
#include "tests/support/random_tensor.h"

/// Graphs, operators and shapes that the tests of message passing run over.
namespace bough::test {

inline constexpr BinaryOp all_messages[] = {BinaryOp::add, BinaryOp::sub,      BinaryOp::mul,     BinaryOp::div,
                                            BinaryOp::dot, BinaryOp::copy_lhs, BinaryOp::copy_rhs};
inline constexpr ReduceOp all_reductions[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min,
                                              ReduceOp::prod};
inline constexpr Target all_targets[] = {Target::source, Target::destination, Target::edge};

/// The zoo, with rows that are computed in splits (of 1024 edges, on a GPU of 256), and on the CPU, where that is
/// quick, a graph of every attention generator.
inline std::vector<zoo::NamedGraph> message_passing_graphs(Device device = Device::cpu()) {
  if (!(device == Device::cpu())) return zoo::all(300);
  std::vector<zoo::NamedGraph> graphs = zoo::all(2500);
  for (const zoo::NamedGraph& generated : generated_graphs(37)) graphs.push_back(generated);
  return graphs;
}

inline std::int64_t rows_for(const Graph& graph, Target target) {
  if (target == Target::edge) return graph.num_edges();
  return target == Target::source ? graph.num_src() : graph.num_dst();
}

inline Shape features_for(const Graph& graph, Target target, const std::vector<std::int64_t>& row) {
  std::vector<std::int64_t> extents = row;
  extents.insert(extents.begin(), rows_for(graph, target));
  return Shape(extents);
}

/// Away from zero, so that quotients are tame.
inline Tensor features(const Graph& graph, Target target, const std::vector<std::int64_t>& row, DType dtype,
                       std::uint64_t seed) {
  return random_uniform(features_for(graph, target, row), 0.5, 1.5, dtype, seed);
}

struct ShapePair {
  std::vector<std::int64_t> lhs, rhs;
};

/// Pairs that broadcast, also under dot, with every way of lining up: equal, one for a run, axes in between, scalars,
/// lengths on both sides of a vector's, and more than one block of dot products.
inline std::vector<ShapePair> shape_pairs(BinaryOp op) {
  std::vector<ShapePair> pairs{{{}, {}},           {{1}, {1}},          {{5}, {5}},       {{16}, {16}},
                               {{3, 17}, {3, 17}}, {{2, 3, 4}, {3, 4}}, {{1, 4}, {3, 4}}, {{2, 1, 5}, {3, 5}},
                               {{40}, {40}},       {{11, 1}, {11, 1}}};
  if (op != BinaryOp::dot) {
    pairs.insert(pairs.end(), {{{3, 4}, {3, 1}},
                               {{3, 1}, {3, 4}},
                               {{7}, {}},
                               {{}, {7}},
                               {{3, 33}, {1}},
                               {{1}, {3, 33}},
                               {{2, 1, 3}, {1, 4, 1}},
                               {{2, 3, 1, 2}, {3, 5, 1}}});
  }
  return pairs;
}

inline bool is_copy(BinaryOp op) { return op == BinaryOp::copy_lhs || op == BinaryOp::copy_rhs; }

}  // namespace bough::test
