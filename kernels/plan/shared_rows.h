#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/split_rows.h"
#include "bough/graph/graph.h"

namespace bough::mp {

/// A reduction of plain copies of node features, with what rows have in common computed once.
///
/// Rows of attention graphs overlap: neighbouring tokens see nearly the same window and the same spans, spans see runs
/// of consecutive tokens. So the plan names partial results, and a row is a short list of them:
///  - blocks: 4, 16, 64, ... sources with consecutive ids, beginning at a multiple of their number, each made of four
///    of the size below. They serve all rows.
///  - common parts: what the rows 2i and 2i+1 of a group of `group_rows` share is a row of its own, which again may
///    share with its neighbour. They serve one group and are forgotten with it.
/// The order in which a row is reduced is therefore that of this plan: blocks first, then common parts from what the
/// most rows share to what two share, then the row. It depends on the edges only.
struct SharedRows {
  static constexpr std::int64_t group_rows = 64;
  /// Longer lists are split, as rows are elsewhere.
  static constexpr std::int64_t longest_list = split_rows::reduction_edges;

  std::int64_t sources = 0;
  std::int64_t rows = 0;
  std::int64_t edges = 0;

  /// The parts of each list: i < sources is a source; i >= sources the result of list i - sources, a global one;
  /// i < 0 the common part number -1 - i of the same group.
  std::vector<std::int32_t> parts;
  /// Where each list begins in parts. First the global lists, then for each group its common parts and its rows.
  std::vector<std::int64_t> offsets;
  /// Global lists by stages that need only earlier ones: the first of each, and the end.
  std::vector<std::int64_t> stages{0};
  /// The first list of each group, and the end.
  std::vector<std::int64_t> groups;
  std::int64_t most_common = 0;  ///< common parts of a group

  std::int64_t global_lists() const { return stages.back(); }
  std::int64_t num_groups() const { return std::max<std::int64_t>(0, static_cast<std::int64_t>(groups.size()) - 1); }
  std::int64_t first_row(std::int64_t group) const { return group * group_rows; }
  /// How many of the lists of a group are common parts; its rows follow.
  std::int64_t common_parts(std::int64_t group) const {
    const std::int64_t own_rows = std::min(group_rows, rows - first_row(group));
    return groups[static_cast<std::size_t>(group) + 1] - groups[static_cast<std::size_t>(group)] - own_rows;
  }
  /// Rows of features that are read and written to make all results, each as one.
  std::int64_t cost() const {
    return static_cast<std::int64_t>(parts.size()) + static_cast<std::int64_t>(offsets.size()) - 1;
  }
  bool worthwhile() const { return cost() * 5 < (edges + rows) * 4; }
};

/// O(edges), serial. A few groups are looked at first: where they share little, the result is empty (no groups).
SharedRows share_rows(const Adjacency& adjacency, std::int64_t sources);

/// The graph's plan for one direction, from its cache; null if sharing is not worth while.
std::shared_ptr<const SharedRows> shared_rows(const Graph& graph, Direction direction);

}  // namespace bough::mp
