#include "bough/graph/attention_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "graph/attention/assembly.h"

namespace bough {
namespace {

constexpr std::int64_t checked_rows = 4096;  // a row of ten edges takes some 10 ns to check

[[noreturn]] void refuse(const std::string& message) { throw GraphError("attention graph", message); }

void require_size(std::string_view what, std::size_t size, std::int64_t expected, std::string_view of) {
  if (static_cast<std::int64_t>(size) != expected) {
    refuse(fmt::format("{} has {} entries, but there are {} {}", what, size, expected, of));
  }
}

void require_ids(std::string_view what, const std::vector<std::int32_t>& ids, std::int64_t count) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= count)
      refuse(fmt::format("{} contains node {}, but there are nodes 0 to {}", what, id, count - 1));
  }
}

void require_edges(const AttentionGraph& nodes, const Graph& graph) {
  if (graph.num_edges() > 0 && graph.edge_types().empty()) refuse("edges need relation ids as edge types");
  const CscView rows = graph.csc(EdgeIds::implied);
  if (!rows.in_edge_order) refuse("edges must be sorted by destination, then source");
  const CausalOrder order(nodes, graph.is_bipartite());
  parallel_chunks(rows.num_rows(), checked_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t node = begin; node < end; ++node) {
      const auto first = static_cast<std::size_t>(rows.offsets[static_cast<std::size_t>(node)]);
      const auto sources = rows.indices.subspan(first, static_cast<std::size_t>(rows.degree(node)));
      if (const auto twice = std::ranges::adjacent_find(sources); twice != sources.end()) {
        refuse(fmt::format("the edge from node {} to node {} occurs twice", *twice, node));
      }
      if (nodes.causal) order.require(static_cast<std::int32_t>(node), sources);
    }
  });
}

void require_same_nodes(const Graph& part, const Graph& whole) {
  if (part.num_src() != whole.num_src() || part.num_dst() != whole.num_dst() ||
      part.num_edge_types() != whole.num_edge_types()) {
    refuse("head groups and stages must have the nodes and relations of the graph");
  }
}

void require_tokens(const AttentionGraph& nodes) {
  require_ids("tokens", nodes.tokens, nodes.graph.num_dst());
  std::vector<bool> seen(static_cast<std::size_t>(nodes.graph.num_dst()));
  for (const std::int32_t token : nodes.tokens) {
    if (seen[static_cast<std::size_t>(token)]) refuse(fmt::format("tokens contains node {} twice", token));
    seen[static_cast<std::size_t>(token)] = true;
  }
}

void require_covers(const AttentionGraph& nodes) {
  const auto require = [&](const TokenRange& range) {
    if (range.begin < 0 || range.begin > range.end || range.end > nodes.num_tokens()) {
      refuse(fmt::format("a node covers tokens {} to {} of {}", range.begin, range.end - 1, nodes.num_tokens()));
    }
  };
  std::ranges::for_each(nodes.covers, require);
  for (std::size_t i = 0; i < nodes.source_kinds.size(); ++i) {
    if (nodes.source_kinds[i] != NodeKind::token) continue;  // others lie outside the sequence
    require(nodes.source_covers[i]);
    if (nodes.source_covers[i].begin == nodes.source_covers[i].end) refuse("a source that is a token covers none");
  }
}

void require_sequences(const AttentionGraph& nodes) {
  if (nodes.sequences.empty()) refuse("sequences is empty; a single graph has one");
  const auto require = [](std::string_view what, std::int64_t begin, std::int64_t end, std::int64_t count) {
    if (begin < 0 || begin > end || end > count) {
      refuse(fmt::format("a sequence has {} {} to {} of {}", what, begin, end - 1, count));
    }
  };
  for (const Sequence& sequence : nodes.sequences) {
    require("nodes", sequence.node_begin, sequence.node_end, nodes.graph.num_dst());
    require("sources", sequence.source_begin, sequence.source_end, nodes.graph.num_src());
    require("tokens", sequence.token_begin, sequence.token_end, nodes.num_tokens());
    require("read-out nodes", sequence.readout_begin, sequence.readout_end, std::ssize(nodes.readout));
    if (sequence.root < -1 || sequence.root >= nodes.graph.num_dst()) {
      refuse(fmt::format("the root of a sequence is node {} of {}", sequence.root, nodes.graph.num_dst()));
    }
  }
}

}  // namespace

const char* to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::token:
      return "token";
    case NodeKind::span:
      return "span";
    case NodeKind::relay:
      return "relay";
    case NodeKind::global:
      return "global";
    case NodeKind::memory:
      return "memory";
    case NodeKind::input:
      return "input";
    case NodeKind::source:
      return "source";
  }
  return "unknown";
}

AttentionForm attention_form(const Graph& graph) {
  return *graph.cached<AttentionForm>([] { return AttentionForm::plain; });
}

void record_form(const AttentionGraph& graph) {
  const bool fixed = std::ranges::find(graph.kinds, NodeKind::input) != graph.kinds.end();
  const AttentionForm form = !graph.head_groups.empty() ? AttentionForm::head_groups
                             : !graph.stages.empty()    ? AttentionForm::stages
                             : graph.soft_span          ? AttentionForm::soft_span
                             : fixed                    ? AttentionForm::fixed_nodes
                                                        : AttentionForm::plain;
  graph.graph.cached<AttentionForm>([form] { return form; });
}

double attention_degree(const AttentionGraph& graph) {
  if (graph.tokens.empty()) return 0;
  const auto in_edges_of_tokens = [&](const Graph& edges) {
    require_ids("tokens", graph.tokens, edges.num_dst());
    const std::span<const std::int64_t> offsets = edges.csc(EdgeIds::implied).offsets;
    std::int64_t sum = 0;
    for (const std::int32_t token : graph.tokens) {
      sum += offsets[static_cast<std::size_t>(token) + 1] - offsets[static_cast<std::size_t>(token)];
    }
    return static_cast<double>(sum);
  };
  const auto tokens = static_cast<double>(graph.tokens.size());
  if (graph.head_groups.empty()) return in_edges_of_tokens(graph.graph) / tokens;
  double sum = 0;
  for (const Graph& group : graph.head_groups) sum += in_edges_of_tokens(group);
  return sum / tokens / static_cast<double>(graph.head_groups.size());
}

void AttentionGraph::validate_nodes() const {
  const AttentionGraph& nodes = *this;
  const std::int64_t count = nodes.graph.num_dst();
  const bool bipartite = nodes.graph.is_bipartite();
  require_size("levels", nodes.levels.size(), count, "nodes");
  require_size("kinds", nodes.kinds.size(), count, "nodes");
  require_size("covers", nodes.covers.size(), count, "nodes");
  require_size("source_kinds", nodes.source_kinds.size(), bipartite ? nodes.graph.num_src() : 0, "separate sources");
  require_size("source_covers", nodes.source_covers.size(), bipartite ? nodes.graph.num_src() : 0, "separate sources");
  require_size("relations", nodes.relations.size(), nodes.graph.num_edge_types(), "relations");
  require_tokens(nodes);
  require_ids("readout", nodes.readout, count);
  if (nodes.root < -1 || nodes.root >= count) refuse(fmt::format("the root is node {} of {}", nodes.root, count));
  require_covers(nodes);
  require_sequences(nodes);
  for (const Graph& group : nodes.head_groups) require_same_nodes(group, nodes.graph);
  for (const Graph& stage : nodes.stages) require_same_nodes(stage, nodes.graph);
}

void AttentionGraph::validate() const {
  validate_nodes();
  require_edges(*this, graph);
  for (const Graph& group : head_groups) require_edges(*this, group);
  for (const Graph& stage : stages) require_edges(*this, stage);
}

std::string to_string(const AttentionGraph& graph) {
  std::string text = fmt::format("attention_graph(tokens={}, ", graph.num_tokens());
  if (graph.graph.is_bipartite()) text += fmt::format("sources={}, ", graph.graph.num_src());
  text += fmt::format("nodes={}, edges={}, relations={}, attention_degree={:.4g}", graph.graph.num_dst(),
                      graph.graph.num_edges(), graph.num_relations(), attention_degree(graph));
  if (graph.sequences.size() > 1) text += fmt::format(", sequences={}", graph.sequences.size());
  if (graph.root >= 0) text += fmt::format(", root={}", graph.root);
  if (!graph.head_groups.empty()) text += fmt::format(", head_groups={}", graph.head_groups.size());
  if (!graph.stages.empty()) text += fmt::format(", stages={}", graph.stages.size());
  if (graph.soft_span.has_value()) text += fmt::format(", max_span={}", graph.soft_span->max_span);
  return text + (graph.causal ? ", causal)" : ")");
}

std::ostream& operator<<(std::ostream& stream, const AttentionGraph& graph) { return stream << to_string(graph); }

}  // namespace bough
