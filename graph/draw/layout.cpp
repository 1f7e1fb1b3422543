#include "graph/draw/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::int64_t max_drawn_nodes = 4096;

/// Puts boxes into rows begin, begin + step, ...: each into the first row whose last box ends before it starts.
/// Returns the number of rows used.
int fill_rows(std::vector<NodeBox*>& boxes, int first_row, int step) {
  std::ranges::stable_sort(boxes, {}, [](const NodeBox* box) { return std::pair(box->begin, box->end); });
  std::vector<double> ends;
  for (NodeBox* box : boxes) {
    const auto free = std::ranges::find_if(ends, [&](double end) { return end <= box->begin; });
    const auto row = static_cast<int>(free - ends.begin());
    if (free == ends.end()) ends.push_back(0);
    ends[static_cast<std::size_t>(row)] = box->end;
    box->row = first_row + step * row;
  }
  return static_cast<int>(ends.size());
}

bool below_tokens(NodeKind kind) {
  return kind == NodeKind::input || kind == NodeKind::memory || kind == NodeKind::source;
}

/// Nodes that stand for the whole sequence, or for nothing in particular, get one column each in the middle, so that
/// several of them stand side by side instead of hiding each other.
std::vector<NodeBox> boxes_of(const std::vector<TokenRange>& covers, const std::vector<NodeKind>& kinds,
                              double num_tokens) {
  std::vector<NodeBox> boxes;
  std::map<NodeKind, std::int64_t> count, placed;
  for (const NodeKind kind : kinds) ++count[kind];
  for (std::size_t i = 0; i < covers.size(); ++i) {
    const NodeKind kind = kinds[i];
    if (kind == NodeKind::relay || kind == NodeKind::global) {
      const double begin =
          (num_tokens - static_cast<double>(2 * count[kind] - 1)) / 2 + static_cast<double>(2 * placed[kind]++);
      boxes.push_back({begin, begin + 1, 0});
    } else {
      boxes.push_back({static_cast<double>(covers[i].begin), static_cast<double>(covers[i].end), 0});
    }
  }
  return boxes;
}

std::string describe(NodeKind kind, TokenRange covers, std::int32_t level, std::int32_t id) {
  switch (kind) {
    case NodeKind::token:
      return fmt::format("token {}", covers.begin);
    case NodeKind::span:
      return fmt::format("span of tokens {} to {} (level {})", covers.begin, covers.end - 1, level);
    case NodeKind::memory:
      return fmt::format("memory of position {}", covers.begin);
    case NodeKind::input:
      return fmt::format("input of token {}", covers.begin);
    case NodeKind::relay:
    case NodeKind::global:
    case NodeKind::source:
      break;
  }
  return fmt::format("{} {}", to_string(kind), id);
}

}  // namespace

Layout lay_out(const AttentionGraph& graph) {
  graph.validate_nodes();
  Layout layout;
  const auto num_tokens = static_cast<double>(graph.num_tokens());
  layout.nodes = boxes_of(graph.covers, graph.kinds, num_tokens);
  layout.sources = boxes_of(graph.source_covers, graph.source_kinds, num_tokens);

  std::map<std::int32_t, std::vector<NodeBox*>> by_level;
  std::vector<NodeBox*> above, below;
  for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
    const NodeKind kind = graph.kinds[i];
    NodeBox* const box = &layout.nodes[i];
    if (below_tokens(kind)) {
      below.push_back(box);
    } else if (kind == NodeKind::relay || kind == NodeKind::global) {
      above.push_back(box);
    } else {
      by_level[graph.levels[i]].push_back(box);
    }
  }
  int row = 0;
  for (auto& [level, boxes] : by_level) row += fill_rows(boxes, row, 1);
  layout.highest_row = row - 1 + fill_rows(above, row, 1);
  for (NodeBox& box : layout.sources) below.push_back(&box);
  layout.lowest_row = -fill_rows(below, -1, -1);

  layout.end_column = num_tokens;
  for (const std::vector<NodeBox>* boxes : {&layout.nodes, &layout.sources}) {
    for (const NodeBox& box : *boxes) {
      layout.first_column = std::min(layout.first_column, box.begin);
      layout.end_column = std::max(layout.end_column, box.end);
    }
  }
  return layout;
}

std::int32_t chosen_node(const AttentionGraph& graph, const DrawOptions& options) {
  const auto count = static_cast<std::int64_t>(graph.kinds.size() + graph.source_kinds.size());
  if (count > max_drawn_nodes) {
    throw GraphError("draw", fmt::format("a picture of {} nodes could not be read; at most {} are drawn, a shorter "
                                         "length shows the same pattern",
                                         count, max_drawn_nodes));
  }
  if (options.node < -1 || options.node >= static_cast<std::int64_t>(graph.kinds.size())) {
    throw GraphError("draw", fmt::format("there is no node {}, the graph has {}", options.node, graph.kinds.size()));
  }
  if (options.node >= 0) return static_cast<std::int32_t>(options.node);
  return graph.tokens.empty() ? 0 : graph.tokens[graph.tokens.size() / 2];
}

std::string title_of(const AttentionGraph& graph, const DrawOptions& options) {
  if (!options.title.empty()) return options.title;
  return fmt::format("Attention graph of {} token{}", graph.num_tokens(), graph.num_tokens() == 1 ? "" : "s");
}

std::string describe_node(const AttentionGraph& graph, std::int32_t node) {
  const auto i = static_cast<std::size_t>(node);
  return describe(graph.kinds[i], graph.covers[i], graph.levels[i], node);
}

std::string describe_source(const AttentionGraph& graph, std::int32_t source) {
  if (!graph.graph.is_bipartite()) return describe_node(graph, source);
  const auto i = static_cast<std::size_t>(source);
  return describe(graph.source_kinds[i], graph.source_covers[i], 0, source);
}

std::int32_t source_level(const AttentionGraph& graph, std::int32_t source) {
  return graph.graph.is_bipartite() ? 0 : graph.levels[static_cast<std::size_t>(source)];
}

}  // namespace bough
