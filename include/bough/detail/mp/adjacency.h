#pragma once

#include <cstdint>
#include <string_view>

#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough::mp {

/// Where an operand has its row for an edge, seen from the row that is being reduced. By destination, `row` is the
/// destination and `neighbour` the source; by source it is the other way round.
enum class End : std::uint8_t { row, neighbour, edge };

/// Whether the rows of a traversal are destinations or sources.
enum class Direction : std::uint8_t { by_destination, by_source };

End end_of(Target target, Direction direction);

/// How many rows an operand of this target has.
std::int64_t rows_of_target(const Graph& graph, Target target);

/// GraphError if edges have no types, which `what` reads. A graph without edges lacks none.
void require_edge_types(std::string_view where, std::string_view what, const Graph& graph);

/// The three row numbers of one edge, indexed by End.
struct EdgeRows {
  std::int64_t number[3];
};

/// The edges of each row as a traversal sees them.
struct Adjacency {
  const std::int64_t* offsets = nullptr;
  const std::int32_t* neighbours = nullptr;  ///< null if there are none, as in segments of rows
  const std::int32_t* edge_ids = nullptr;    ///< null if position p holds edge p
  std::int64_t rows = 0;

  std::int64_t edges() const { return rows == 0 ? 0 : offsets[rows] - offsets[0]; }
  std::int64_t edge_at(std::int64_t position) const { return edge_ids == nullptr ? position : edge_ids[position]; }
  EdgeRows at(std::int64_t row, std::int64_t position) const {
    return {{row, neighbours == nullptr ? position : neighbours[position], edge_at(position)}};
  }
};

Adjacency edges_by(const Graph& graph, Direction direction);

/// The edges one by one, for results that each edge writes alone.
struct EdgeList {
  const std::int32_t* src = nullptr;
  const std::int32_t* dst = nullptr;
  const std::int32_t* order = nullptr;  ///< in which to visit them; null: as numbered
  std::int64_t edges = 0;

  /// The destination is the row, the source the neighbour.
  EdgeRows at(std::int64_t position) const {
    const std::int64_t edge = order == nullptr ? position : order[position];
    return {{dst[edge], src[edge], edge}};
  }
};

/// All edges; with an operand on the destinations in an order that keeps its rows in the cache, else as given.
EdgeList edge_list(const Graph& graph, bool reads_destinations);

}  // namespace bough::mp
