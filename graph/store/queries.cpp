#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/graph/graph.h"
#include "graph/store/rows.h"

namespace bough {
namespace {

/// The positions in a row of csc whose index is `other`.
struct Positions {
  std::int64_t begin;
  std::int64_t end;
};

Positions find(const CompressedView& view, std::int64_t row, std::int64_t other) {
  const auto first = view.indices.begin() + view.offsets[static_cast<std::size_t>(row)];
  const auto last = view.indices.begin() + view.offsets[static_cast<std::size_t>(row) + 1];
  const auto [begin, end] = std::equal_range(first, last, static_cast<std::int32_t>(other));
  return {begin - view.indices.begin(), end - view.indices.begin()};
}

void require_ends(const char* where, const Graph& graph, std::int64_t src, std::int64_t dst) {
  if (src < 0 || src >= graph.num_src() || dst < 0 || dst >= graph.num_dst()) {
    throw GraphError(where, fmt::format("no such pair of nodes: {} to {}, with {} sources and {} destinations", src,
                                        dst, graph.num_src(), graph.num_dst()));
  }
}

/// Copies rows of a view; `row_ends` and `index_ends` receive the two ends of each edge.
void select(const CompressedView& view, std::span<const std::int32_t> rows, EdgeSelection& selection,
            std::vector<std::int32_t>& row_ends, std::vector<std::int32_t>& index_ends) {
  selection.offsets = row_offsets(view, rows);
  const auto total = static_cast<std::size_t>(selection.offsets.back());
  selection.edge_ids.resize(total);
  row_ends.resize(total);
  index_ends.resize(total);
  for_each_row(view, rows, selection.offsets,
               [&](std::int32_t row, std::int64_t from, std::int64_t count, std::int64_t to) {
                 for (std::int64_t i = 0; i < count; ++i) {
                   selection.edge_ids[static_cast<std::size_t>(to + i)] = edge_at(view, from + i);
                   index_ends[static_cast<std::size_t>(to + i)] = view.indices[static_cast<std::size_t>(from + i)];
                 }
                 std::fill_n(row_ends.begin() + to, count, row);
               });
}

}  // namespace

bool Graph::has_edge(std::int64_t src, std::int64_t dst) const {
  require_ends("Graph::has_edge", *this, src, dst);
  const Positions positions = find(csc(EdgeIds::implied), dst, src);
  return positions.begin != positions.end;
}

std::vector<std::int32_t> Graph::edges_between(std::int64_t src, std::int64_t dst) const {
  require_ends("Graph::edges_between", *this, src, dst);
  const CscView view = csc(EdgeIds::implied);
  const Positions positions = find(view, dst, src);
  std::vector<std::int32_t> edges;
  for (std::int64_t at = positions.begin; at < positions.end; ++at) edges.push_back(edge_at(view, at));
  return edges;
}

EdgeSelection Graph::in_edges(const IdArray& nodes) const {
  require_nodes("Graph::in_edges", nodes.span(), num_dst());
  EdgeSelection selection;
  select(csc(EdgeIds::implied), nodes.span(), selection, selection.dst, selection.src);
  return selection;
}

EdgeSelection Graph::out_edges(const IdArray& nodes) const {
  require_nodes("Graph::out_edges", nodes.span(), num_src());
  EdgeSelection selection;
  select(csr(EdgeIds::implied), nodes.span(), selection, selection.src, selection.dst);
  return selection;
}

}  // namespace bough
