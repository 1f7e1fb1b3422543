#include "bough/detail/mp/adjacency.h"

#include <fmt/format.h>

#include "bough/core/errors.h"

namespace bough::mp {

End end_of(Target target, Direction direction) {
  if (target == Target::edge) return End::edge;
  const Target row = direction == Direction::by_source ? Target::source : Target::destination;
  return target == row ? End::row : End::neighbour;
}

std::int64_t rows_of_target(const Graph& graph, Target target) {
  switch (target) {
    case Target::source:
      return graph.num_src();
    case Target::destination:
      return graph.num_dst();
    case Target::edge:
      break;
  }
  return graph.num_edges();
}

void require_edge_types(std::string_view where, std::string_view what, const Graph& graph) {
  if (graph.num_edges() == 0 || !graph.edge_types().empty()) return;
  throw GraphError(
      where,
      fmt::format("{} needs a graph with edge types, and this one has none; give edge_types when it is made", what));
}

Adjacency edges_by(const Graph& graph, Direction direction) {
  const CompressedView view =
      direction == Direction::by_source ? graph.csr(EdgeIds::implied) : graph.csc(EdgeIds::implied);
  return {view.offsets.data(), view.indices.data(), view.in_edge_order ? nullptr : view.edge_ids.data(),
          view.num_rows()};
}

EdgeList edge_list(const Graph& graph, bool reads_destinations) {
  const CooView coo = graph.coo();
  EdgeList edges{coo.src.data(), coo.dst.data(), nullptr, graph.num_edges()};
  if (reads_destinations) {
    const CscView csc = graph.csc(EdgeIds::implied);
    if (!csc.in_edge_order) edges.order = csc.edge_ids.data();
  }
  return edges;
}

}  // namespace bough::mp
