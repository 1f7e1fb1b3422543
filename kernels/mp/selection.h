#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/batches.h"

namespace bough::mp {

/// Numbers of rows, on the host and on every device that has asked for them. Copies share them.
class RowIds {
 public:
  /// Undefined: all rows in order.
  RowIds() = default;
  explicit RowIds(std::vector<std::int32_t> ids);
  explicit RowIds(std::span<const std::int32_t> ids) : RowIds(std::vector(ids.begin(), ids.end())) {}

  bool defined() const { return copies_ != nullptr; }
  std::span<const std::int32_t> host() const;
  std::int64_t size() const { return static_cast<std::int64_t>(host().size()); }
  /// int32 [size], copied there when first asked for. Thread-safe.
  Tensor on(Device device) const;

 private:
  struct Copies;
  std::shared_ptr<Copies> copies_;
};

/// ids[places[0]], ids[places[1]], ...; the places themselves if the ids are undefined.
RowIds picked_ids(const RowIds& ids, const RowIds& places);

/// Rows of a feature that belong to the ids, which must be in range; all of them if the ids are undefined.
Tensor rows_at(const Tensor& feature, const RowIds& ids);

/// Edges that send and nodes that receive, as a graph of their own: from all sources of the frame to the receivers,
/// which are numbered by their place among them.
struct Selection {
  Graph graph;
  RowIds edge_ids;   ///< the frame's number of each edge; undefined: all of them in order
  RowIds receivers;  ///< the frame's number of each receiver; undefined: all of them in order
};

/// GraphError naming the first number that is not below `count` or appears twice. O(n log n).
void require_distinct(std::string_view where, std::string_view what, const IdArray& ids, std::int64_t count);

Selection select_all(const Graph& graph);
/// All in-edges of some nodes.
Selection select_into(const Graph& graph, const IdArray& nodes);
/// Some edges, received by their destinations in ascending order.
Selection select_edges(const Graph& graph, const IdArray& edges);

/// What a function of the user's own gave: ConfigError if that is nothing, ShapeError unless every field has `count`
/// rows, one for each of the things it was asked about.
void require_rows(std::string_view where, const Fields& fields, std::int64_t count, std::string_view things);

}  // namespace bough::mp
