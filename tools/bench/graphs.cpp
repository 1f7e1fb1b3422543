#include "tools/bench/graphs.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"

namespace bough::bench {

Graph partition_graph(std::int64_t length, std::int64_t k) {
  return generators().make("bpt", {{"k", k}, {"alignment", "slot"}})->build({.length = length, .causal = true}).graph;
}

Graph full_causal_graph(std::int64_t length) {
  return generators().make("full", nlohmann::json::object())->build({.length = length, .causal = true}).graph;
}

Graph drawn_graph(const DrawnGraph& what) {
  const RandomStream random{1, 0};
  std::vector<std::int32_t> src, dst;
  const auto draw = [&](std::uint32_t bits) {
    return static_cast<std::int32_t>(std::pow(uniform_float(bits), what.skew) * static_cast<float>(what.nodes));
  };
  for (std::int64_t edge = 0; edge < what.edges; ++edge) {
    const auto numbers = random.block(static_cast<std::uint64_t>(edge));
    src.push_back(draw(numbers[0]));
    dst.push_back(draw(numbers[1]));
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = what.nodes});
}

}  // namespace bough::bench
