#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bough/graph/attention_graph_builder.h"

namespace bough {

/// A graph whose rows take part in a merge, and how its node and relation ids are rewritten.
struct RowSource {
  explicit RowSource(Graph from) : graph(std::move(from)) {}

  Graph graph;
  /// Nodes below `shared` keep their ids, the others move up by `shift`.
  std::int32_t shared = 0;
  std::int32_t shift = 0;
  std::function<std::int32_t(std::int32_t)> relation = {};  ///< empty: as it is
};

/// A rule that gives each node the edges of all graphs. An edge that several have keeps the relation of the first of
/// them.
InEdgeRule merge_rows(std::vector<RowSource> graphs);

}  // namespace bough
