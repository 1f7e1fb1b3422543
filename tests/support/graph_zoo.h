#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bough/core/random.h"
#include "bough/graph/graph.h"

/// Small graphs with every ugly property: what works on all of them works on graphs people bring.
namespace bough::zoo {

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Typed, unsorted, with whatever multi-edges and self-loops chance brings. num_types = 0: untyped.
inline Graph random_graph(std::int64_t nodes, std::int64_t edges, std::uint64_t seed, std::int32_t num_types = 0) {
  const RandomStream random{seed, 0};
  std::vector<std::int32_t> src, dst, types;
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    const auto numbers = random.block(static_cast<std::uint64_t>(edge));
    src.push_back(static_cast<std::int32_t>(numbers[0] % nodes));
    dst.push_back(static_cast<std::int32_t>(numbers[1] % nodes));
    if (num_types > 0) types.push_back(static_cast<std::int32_t>(numbers[2] % static_cast<std::uint32_t>(num_types)));
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes, .edge_types = std::move(types)});
}

/// Few nodes with very many edges, many with hardly any, at both ends.
inline Graph power_law(std::int64_t nodes, std::int64_t edges, std::uint64_t seed) {
  const RandomStream random{seed, 0};
  const auto skewed = [&](std::uint32_t bits) {
    return static_cast<std::int32_t>(std::pow(uniform_float(bits), 4.0f) * static_cast<float>(nodes));
  };
  std::vector<std::int32_t> src, dst;
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    const auto numbers = random.block(static_cast<std::uint64_t>(edge));
    src.push_back(skewed(numbers[0]));
    dst.push_back(skewed(numbers[1]));
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes});
}

/// Node 0 receives from all of `others`, a row that kernels split if it is long; with `both` it also sends to them.
/// Sources descend.
inline Graph split_row(std::int64_t others, bool both = false) {
  std::vector<std::int32_t> src, dst;
  for (auto other = static_cast<std::int32_t>(others); other >= 1; --other) {
    src.push_back(other);
    dst.push_back(0);
    if (both) {
      src.push_back(0);
      dst.push_back(other);
    }
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = others + 1});
}

inline Graph chain(std::int64_t nodes) {
  std::vector<std::int32_t> src, dst;
  for (std::int32_t node = 1; node < nodes; ++node) {
    src.push_back(node - 1);
    dst.push_back(node);
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes});
}

/// Node i receives from nodes i-width .. i: runs of consecutive sources, given sorted by destination; type = distance.
inline Graph causal_window(std::int64_t nodes, std::int64_t width) {
  std::vector<std::int32_t> src, dst, types;
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t from = std::max<std::int64_t>(0, node - width); from <= node; ++from) {
      src.push_back(static_cast<std::int32_t>(from));
      dst.push_back(static_cast<std::int32_t>(node));
      types.push_back(static_cast<std::int32_t>(node - from));
    }
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes, .edge_types = std::move(types)});
}

inline Graph random_bipartite(std::int64_t num_src, std::int64_t num_dst, std::int64_t edges, std::uint64_t seed) {
  const RandomStream random{seed, 0};
  std::vector<std::int32_t> src, dst;
  for (std::int64_t edge = 0; edge < edges; ++edge) {
    const auto numbers = random.block(static_cast<std::uint64_t>(edge));
    src.push_back(static_cast<std::int32_t>(numbers[0] % num_src));
    dst.push_back(static_cast<std::int32_t>(numbers[1] % num_dst));
  }
  return Graph::bipartite(std::move(src), std::move(dst), {.num_src = num_src, .num_dst = num_dst});
}

/// All of them. row_edges sets the length of the split rows: 100'000 where the operation is cheap, fewer for gradient
/// checks.
inline std::vector<NamedGraph> all(std::int64_t row_edges = 300) {
  return {
      {"no nodes", Graph()},
      {"nodes without edges", Graph::from_edges({}, {}, {.num_nodes = 5})},
      {"one node with a self-loop", Graph::from_edges({0}, {0}, {.num_nodes = 1})},
      {"isolated nodes at both ends", Graph::from_edges({3, 2, 3}, {2, 4, 4}, {.num_nodes = 8})},
      {"self-loops", Graph::from_edges({0, 1, 2, 2, 1}, {0, 1, 2, 0, 2}, {.num_nodes = 3})},
      {"multi-edges",
       Graph::from_edges({1, 0, 1, 1, 0, 1}, {0, 1, 0, 0, 1, 1}, {.num_nodes = 2, .edge_types = {0, 2, 1, 0, 2, 3}})},
      {"a split row", split_row(row_edges)},
      {"a split column", split_row(row_edges).reverse()},
      {"a split row and column", split_row(row_edges, true)},
      {"a chain", chain(40)},
      {"a causal window", causal_window(50, 7)},
      {"random", random_graph(60, 400, 1)},
      {"random with types", random_graph(30, 300, 2, 5)},
      {"dense with multi-edges", random_graph(7, 200, 3, 3)},
      {"power law", power_law(200, 1500, 4)},
      {"bipartite", random_bipartite(17, 9, 80, 5)},
      {"bipartite with one destination", random_bipartite(40, 1, 60, 6)},
      {"bipartite without sources", Graph::bipartite({}, {}, {.num_src = 0, .num_dst = 4})},
      {"bipartite without destinations", Graph::bipartite({}, {}, {.num_src = 4, .num_dst = 0})},
  };
}

}  // namespace bough::zoo
