#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "kernels/attention/plan/planner.h"
#include "tests/support/graph_zoo.h"

/// Small graphs for tests of single steps of the attention planner.
namespace bough::test {

using Rows = std::vector<std::vector<std::int32_t>>;

/// A graph whose destination i has the sources rows[i], with a type for each edge if there are types.
inline Graph graph_of_rows(const Rows& rows, const Rows& types = {}) {
  std::vector<std::int32_t> src, dst, edge_types;
  auto nodes = static_cast<std::int64_t>(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows[row].size(); ++i) {
      src.push_back(rows[row][i]);
      dst.push_back(static_cast<std::int32_t>(row));
      nodes = std::max<std::int64_t>(nodes, rows[row][i] + 1);
      if (!types.empty()) edge_types.push_back(types[row][i]);
    }
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes, .edge_types = std::move(edge_types)});
}

/// Consecutive numbers.
inline std::vector<std::int32_t> numbers(std::int32_t begin, std::int32_t end) {
  std::vector<std::int32_t> result;
  for (std::int32_t i = begin; i < end; ++i) result.push_back(i);
  return result;
}

/// A tile of whole rows.
inline DraftTile tile_of_rows(const Graph& graph, const std::vector<std::int32_t>& rows) {
  const CscView edges = graph.csc();
  DraftTile tile;
  for (const std::int32_t row : rows) {
    tile.add(row, edges.offsets[static_cast<std::size_t>(row)], edges.offsets[static_cast<std::size_t>(row) + 1]);
  }
  return tile;
}

inline TileColumns columns_of(const Graph& graph, const DraftTile& tile) {
  std::vector<LaneMask> lanes_of(static_cast<std::size_t>(graph.num_src()), 0);
  return tile_columns(graph.csc(), tile, lanes_of);
}

inline TileRelations relations_of(const Graph& graph, const DraftTile& tile) {
  return tile_relations(graph.csc(), graph.edge_types(), tile, columns_of(graph, tile));
}

inline Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal = true) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

/// The zoo and a few attention graphs.
inline std::vector<Graph> planned_graphs() {
  std::vector<Graph> result{pattern("bpt", {{"k", 4}, {"alignment", "slot"}}, 600),
                            pattern("bpt", {{"k", 3}}, 150, false),
                            pattern("window", {{"width", 20}}, 200),
                            pattern("longformer", {{"width", 24}, {"global", 2}}, 150, false),
                            pattern("sparse_fixed", {{"stride", 16}, {"c", 2}}, 300),
                            pattern("full", {}, 1200)};
  for (const zoo::NamedGraph& named : zoo::all()) result.push_back(named.graph);
  return result;
}

/// Row tiles of a graph, as the planner drafts them without a row offset.
inline std::vector<DraftTile> row_tiles_of(const Graph& graph) {
  const CscView edges = graph.csc();
  const RowFacts facts = row_facts(edges, graph.edge_types());
  return draft_row_tiles(edges, graph.num_src(), tile_rows(edges, graph.num_src(), facts), TileCosts{});
}

}  // namespace bough::test
