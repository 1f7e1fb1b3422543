#pragma once

#include <cstdint>

#include "bough/graph/graph.h"

/// Graphs that several benchmarks measure on.
namespace bough::bench {

/// Causal partition graph over tokens, rule "slot", with relations.
Graph partition_graph(std::int64_t length, std::int64_t k);

struct DrawnGraph {
  std::int64_t nodes = 100'000, edges = 2'000'000;
  /// Ends are drawn as nodes * x^skew with x uniform: 1 is a random graph, more is a power law at both ends.
  float skew = 1;
};
Graph drawn_graph(const DrawnGraph& what);

/// Every token attends to itself and all tokens before it.
Graph full_causal_graph(std::int64_t length);

}  // namespace bough::bench
