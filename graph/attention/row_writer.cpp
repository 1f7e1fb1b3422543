#include "graph/attention/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bough/core/errors.h"

namespace bough {

void InEdges::fail(std::int64_t begin, std::int64_t end, std::int64_t relation, std::int64_t last_relation) const {
  if (begin < 0 || end > num_sources_) {
    throw GraphError("attention graph", fmt::format("node {} has in-edges from nodes {} to {}, but sources are 0 to {}",
                                                    node_, begin, end - 1, num_sources_ - 1));
  }
  if (std::min(relation, last_relation) < 0 || std::max(relation, last_relation) >= num_relations_) {
    throw GraphError(
        "attention graph",
        fmt::format("an edge from node {} to node {} has relation {}, but there are {} relations", begin, node_,
                    relation < 0 || relation >= num_relations_ ? relation : last_relation, num_relations_));
  }
  throw GraphError("attention graph", fmt::format("a rule gave node {} more in-edges on its second call than on its "
                                                  "first; rules must depend on the node alone",
                                                  node_));
}

void RowWriter::refuse_changed_row(std::int32_t node, std::int64_t counted, std::int64_t written) {
  throw GraphError("attention graph",
                   fmt::format("a rule gave node {} first {} in-edges, then {}; rules must depend on "
                               "the node alone",
                               node, counted, written));
}

void RowWriter::sort_row(EdgeRow row) {
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  edges.reserve(row.sources.size());
  for (std::size_t i = 0; i < row.sources.size(); ++i) edges.emplace_back(row.sources[i], row.relations[i]);
  std::ranges::sort(edges);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i > 0 && edges[i].first == edges[i - 1].first) {
      throw GraphError("attention graph", fmt::format("the edge from node {} to node {} is given twice, with relations "
                                                      "{} and {}",
                                                      edges[i].first, row.node, edges[i - 1].second, edges[i].second));
    }
    row.sources[i] = edges[i].first;
    row.relations[i] = edges[i].second;
  }
}

}  // namespace bough
