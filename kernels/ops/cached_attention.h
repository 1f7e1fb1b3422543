#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

/// Graph attention as decoding needs it: a few new destinations attend to rows of a cache, and a step has no Graph,
/// which would take longer to make than to run along.
namespace bough {

/// What each destination of a step reads, for the heads of one group.
class CachedEdges {
 public:
  /// Forgets all destinations, keeps the memory.
  void clear();
  /// One more edge into the destination that is being listed; `type` is its relation, `distance` for edge weights.
  void add(std::int32_t cached_row, std::int32_t type, std::int32_t distance = 0) {
    rows_.push_back(cached_row);
    types_.push_back(type);
    distances_.push_back(distance);
  }
  /// Ends the list of one destination and begins that of the next.
  void end_destination() { offsets_.push_back(static_cast<std::int64_t>(rows_.size())); }

  std::int64_t num_destinations() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  std::int64_t num_edges() const { return static_cast<std::int64_t>(rows_.size()); }
  std::span<const std::int64_t> offsets() const { return offsets_; }
  std::span<const std::int32_t> rows() const { return rows_; }
  std::span<const std::int32_t> types() const { return types_; }
  std::span<const std::int32_t> distances() const { return distances_; }
  /// 0, 1, 2, ..., the numbers of the edges.
  std::span<const std::int32_t> edge_ids() const;

 private:
  std::vector<std::int64_t> offsets_{0};
  std::vector<std::int32_t> rows_, types_, distances_;
  mutable std::vector<std::int32_t> edge_ids_;
};

/// What cached_attention takes beside edges and tensors.
struct CachedAttentionOptions {
  std::int64_t heads = 1;
  double scale = 1;
  Tensor relation_keys = {};                      ///< [relations, width] for all heads, or undefined
  Tensor edge_weights = {};                       ///< [distances, heads], or undefined; for one group of heads only
  std::optional<std::int64_t> destinations = {};  ///< only so many, the first ones; default: all
};

/// Destination i attends with the first `dim` columns of row i of queries [>= destinations, >= dim] to rows of
/// cache [capacity, 2 dim], keys beside values -> [destinations, dim], float32. Heads, relations and scale as in
/// graph_attention; the groups share the heads out. An edge is weighted with the row of edge_weights that its distance
/// names.
///
/// A destination's result depends on its own edges, in their order, and on what they name, not on the others: bitwise,
/// on the CPU. O(edges dim). Without gradient. Rows, types and distances are those of rows of the cache and the tables:
/// they are not checked.
Tensor cached_attention(std::span<const CachedEdges> groups, const Tensor& queries, const Tensor& cache,
                        const CachedAttentionOptions& options);

/// The same by graph_attention on a graph made for the step: what GPUs do, and what tests compare with.
Tensor cached_attention_on_graph(std::span<const CachedEdges> groups, const Tensor& queries, const Tensor& cache,
                                 const CachedAttentionOptions& options);

/// Puts columns begin .. begin + cache width of row i of `values` into row rows[i] of the cache, in place.
void store_cached_rows(const Tensor& values, std::int64_t begin, std::span<const std::int32_t> rows, Tensor& cache);

}  // namespace bough
