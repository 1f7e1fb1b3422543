#include "kernels/mp/degree_buckets.h"

#include <algorithm>
#include <numeric>

namespace bough::mp {
namespace {

DegreeBuckets make_buckets(const Graph& graph) {
  const CscView csc = graph.csc();
  std::vector<std::int32_t> nodes;
  for (std::int64_t node = 0; node < graph.num_dst(); ++node) {
    if (csc.degree(node) > 0) nodes.push_back(static_cast<std::int32_t>(node));
  }
  std::ranges::stable_sort(nodes, {}, [&](std::int32_t node) { return csc.degree(node); });

  DegreeBuckets result;
  std::vector<std::int32_t> place(static_cast<std::size_t>(graph.num_dst()), static_cast<std::int32_t>(nodes.size()));
  std::vector<std::int32_t> edges, src, dst;
  const auto num_edges = static_cast<std::size_t>(graph.num_edges());
  edges.reserve(num_edges);
  src.reserve(num_edges);
  dst.reserve(num_edges);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<std::size_t>(nodes[i]);
    place[node] = static_cast<std::int32_t>(i);
    if (result.buckets.empty() || result.buckets.back().degree != csc.degree(nodes[i])) {
      result.buckets.push_back({csc.degree(nodes[i]), 0});
    }
    ++result.buckets.back().nodes;
    for (auto p = static_cast<std::size_t>(csc.offsets[node]); p < static_cast<std::size_t>(csc.offsets[node + 1]);
         ++p) {
      edges.push_back(csc.edge_ids[p]);
      src.push_back(csc.indices[p]);
      dst.push_back(nodes[i]);
    }
  }
  result.nodes = RowIds(std::move(nodes));
  result.edge_ids = RowIds(std::move(edges));
  result.place_of_node = RowIds(std::move(place));
  result.graph =
      Graph::bipartite(std::move(src), std::move(dst), {.num_src = graph.num_src(), .num_dst = graph.num_dst()});
  return result;
}

}  // namespace

std::shared_ptr<const DegreeBuckets> degree_buckets(const Graph& graph) {
  return graph.cached<DegreeBuckets>([&] { return make_buckets(graph); });
}

}  // namespace bough::mp
