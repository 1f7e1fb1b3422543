#pragma once

#include <cstdint>
#include <string>

#include "bough/graph/graph.h"

namespace bough {

/// What graph_attention will do with a graph: see how much of it runs as dense tiles. A call with options that tiles do
/// not take (see AttentionKernel) leaves all rows to the row kernel instead.
struct AttentionPlanSummary {
  std::int64_t tiles = 0;                 ///< up to 16 destinations and the union of their sources
  std::int64_t segment_tiles = 0;         ///< of these: parts of rows that share sources with rows far away
  std::int64_t columns = 0;               ///< of all tiles together: a source, or two that different lanes have
  std::int64_t places = 0;                ///< for edges in all tiles: columns times lanes
  std::int64_t tile_edges = 0;            ///< edges in tiles
  std::int64_t rows_left = 0;             ///< rows with edges that are left to the row kernel
  std::int64_t row_edges = 0;             ///< their edges
  std::int64_t split_rows = 0;            ///< rows that are computed in parts, whose results are merged
  std::int64_t staged_blocks = 0;         ///< sets of sources whose keys and values are copied into the cache together
  std::int64_t staged_sources = 0;        ///< sources copied, all staged blocks together
  std::int64_t dictionary_relations = 0;  ///< relations listed for tiles in which a source has several
  std::int64_t partitions = 0;            ///< independent parts of the backward pass for each head
  std::int64_t bytes = 0;                 ///< of the plan
  double milliseconds = 0;                ///< it took to make

  /// Share of a tile's places that hold an edge.
  double fill() const { return places == 0 ? 0 : static_cast<double>(tile_edges) / static_cast<double>(places); }
  /// Share of the edges that run in tiles.
  double tiled_share() const {
    const std::int64_t edges = tile_edges + row_edges;
    return edges == 0 ? 0 : static_cast<double>(tile_edges) / static_cast<double>(edges);
  }
};

/// Makes the plan if it is not there yet. With relations: as for a call with relation tables; GraphError if the graph
/// has edges without types.
AttentionPlanSummary attention_plan_summary(const Graph& graph, bool with_relations = false);

/// The summary as readable lines.
std::string to_string(const AttentionPlanSummary& summary);

}  // namespace bough
