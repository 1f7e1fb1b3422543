#include "nn/modules/recurrent_levels.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/mp/frame.h"

namespace bough::nn {
namespace {

/// An edge in terms of levels.
struct PlacedEdge {
  std::size_t level;         ///< of the source
  std::int32_t source;       ///< row in that level
  std::int32_t destination;  ///< row in the level that is made
};

Tensor index_tensor(const std::vector<std::int32_t>& values, Device device) {
  return Tensor::from_vector(values, {static_cast<std::int64_t>(values.size())}, device);
}

bool counts_up_to(const std::vector<std::int32_t>& values, std::size_t end) {
  if (values.size() != end) return false;
  for (std::size_t i = 0; i < end; ++i) {
    if (values[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

class LevelBuilder {
 public:
  LevelBuilder(const Graph& graph, const LevelRules& rules, Device device)
      : graph_(graph), rules_(rules), device_(device), nodes_(topological_levels(graph)) {
    const auto count = static_cast<std::size_t>(graph.num_nodes());
    level_of_.resize(count);
    row_of_.resize(count);
    for (std::size_t level = 0; level < nodes_.size(); ++level) {
      std::int32_t row = 0;
      for (const std::int32_t node : nodes_[level]) {
        level_of_[static_cast<std::size_t>(node)] = level;
        row_of_[static_cast<std::size_t>(node)] = row++;
      }
    }
  }

  RecurrentLevels build() const {
    RecurrentLevels result;
    std::vector<std::int32_t> order, places(level_of_.size());
    for (std::size_t level = 0; level < nodes_.size(); ++level) {
      result.sizes.push_back(static_cast<std::int64_t>(nodes_[level].size()));
      result.levels.push_back({result.sizes.back(), level == 0 ? std::vector<LevelEdges>{} : edges_into(level)});
      for (const std::int32_t node : nodes_[level]) {
        places[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(order.size());
        order.push_back(node);
      }
    }
    result.order = index_tensor(order, device_);
    result.places = index_tensor(places, device_);
    return result;
  }

 private:
  std::vector<LevelEdges> edges_into(std::size_t level) const {
    const CscView csc = graph_.csc();
    const std::span<const std::int32_t> types = graph_.edge_types();
    std::vector<std::vector<PlacedEdge>> edges(static_cast<std::size_t>(std::max<std::int64_t>(1, rules_.positions)));
    for (const std::int32_t node : nodes_[level]) {
      const auto row = static_cast<std::size_t>(node);
      for (auto p = static_cast<std::size_t>(csc.offsets[row]); p < static_cast<std::size_t>(csc.offsets[row + 1]);
           ++p) {
        const auto source = static_cast<std::size_t>(csc.indices[p]);
        const std::int32_t position =
            rules_.positions > 1 && !types.empty() ? types[static_cast<std::size_t>(csc.edge_ids[p])] : 0;
        require_position(node, position);
        std::vector<PlacedEdge>& same = edges[static_cast<std::size_t>(position)];
        if (rules_.positions > 0 && !same.empty() && same.back().destination == row_of_[row])
          throw_crowded(node, position);
        same.push_back({level_of_[source], row_of_[source], row_of_[row]});
      }
    }
    std::vector<LevelEdges> result;
    for (std::vector<PlacedEdge>& same : edges) result.push_back(grouped(same, nodes_[level].size()));
    return result;
  }

  LevelEdges grouped(std::vector<PlacedEdge>& edges, std::size_t nodes) const {
    std::stable_sort(edges.begin(), edges.end(),
                     [](const PlacedEdge& a, const PlacedEdge& b) { return a.level < b.level; });
    LevelEdges result;
    std::vector<std::int32_t> destinations, rows;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      destinations.push_back(edges[e].destination);
      rows.push_back(edges[e].source);
      const std::size_t level = edges[e].level;
      if (e + 1 < edges.size() && edges[e + 1].level == level) continue;
      result.sources.push_back(
          {level, counts_up_to(rows, nodes_[level].size()) ? Tensor() : index_tensor(rows, device_)});
      rows.clear();
    }
    if (!counts_up_to(destinations, nodes)) result.destinations = index_tensor(destinations, device_);
    return result;
  }

  void require_position(std::int32_t node, std::int32_t position) const {
    if (position < std::max<std::int64_t>(1, rules_.positions)) return;
    throw GraphError("recurrent", fmt::format("an edge into node {} has type {}; {} has the positions 0..{}", node,
                                              position, rules_.cell, rules_.positions - 1));
  }

  [[noreturn]] void throw_crowded(std::int32_t node, std::int32_t position) const {
    if (rules_.positions == 1) {
      throw GraphError("recurrent",
                       fmt::format("node {} has more than the one predecessor that {} takes", node, rules_.cell));
    }
    throw GraphError("recurrent", fmt::format("node {} has more than one predecessor at position {}{}", node, position,
                                              graph_.edge_types().empty() ? "; the graph has no edge types" : ""));
  }

  const Graph& graph_;
  LevelRules rules_;
  Device device_;
  std::vector<IdArray> nodes_;
  std::vector<std::size_t> level_of_;
  std::vector<std::int32_t> row_of_;
};

}  // namespace

std::shared_ptr<const RecurrentLevels> recurrent_levels(const Graph& graph, const LevelRules& rules, Device device) {
  const std::uint64_t place = device.kind == Device::Kind::cpu ? 0 : static_cast<std::uint64_t>(device.index) + 1;
  return graph.cached<RecurrentLevels>([&] { return LevelBuilder(graph, rules, device).build(); },
                                       place << 32 | static_cast<std::uint64_t>(rules.positions));
}

}  // namespace bough::nn
