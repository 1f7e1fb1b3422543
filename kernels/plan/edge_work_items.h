#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bough/graph/graph.h"

namespace bough::mp {

/// Edges at positions begin .. end-1 of the graph by destination.
struct EdgeWorkItem {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// In which order to visit edges that each write a result of their own, so that sources stay in the cache.
///
/// By destination alone, every level of spans in an attention graph reads all tokens once more. So rows, the long ones
/// in parts, are ordered by where their first source is, in blocks of `block_sources`: tokens and all spans above them
/// are then visited together. No work items where rows have so few edges that their own order is as good.
struct EdgeWorkItems {
  static constexpr std::int64_t longest_part = 512;   ///< edges of one row
  static constexpr std::int64_t longest_item = 1024;  ///< edges of several rows
  static constexpr std::int64_t block_sources = 256;

  std::vector<EdgeWorkItem> items;
};

/// O(sources + rows + edges / longest_part).
EdgeWorkItems make_edge_work_items(const CscView& edges, std::int64_t sources);

/// The graph's work items, from its cache.
std::shared_ptr<const EdgeWorkItems> edge_work_items(const Graph& graph);

}  // namespace bough::mp
