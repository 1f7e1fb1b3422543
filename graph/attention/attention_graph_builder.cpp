#include "bough/graph/attention_graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "graph/attention/assembly.h"

namespace bough {
namespace {

constexpr std::int64_t max_nodes = std::numeric_limits<std::int32_t>::max();
constexpr const char* where = "attention graph";

void require_node(std::string_view what, std::int64_t node, std::int64_t count) {
  if (node >= 0 && node < count) return;
  throw GraphError(where, fmt::format("{} is node {}, but there are nodes 0 to {}", what, node, count - 1));
}

}  // namespace

AttentionGraphBuilder::AttentionGraphBuilder(const BuildOptions& options) : causal_(options.causal) {
  if (options.length < 1 || options.length > max_sequence_length) {
    throw GraphError(where,
                     fmt::format("length must be from 1 to {} tokens, not {}", max_sequence_length, options.length));
  }
  length_ = static_cast<std::int32_t>(options.length);
  const auto count = static_cast<std::size_t>(length_);
  graph_.causal = causal_;
  graph_.tokens.resize(count);
  std::iota(graph_.tokens.begin(), graph_.tokens.end(), 0);
  graph_.levels.assign(count, 0);
  graph_.kinds.assign(count, NodeKind::token);
  graph_.covers.resize(count);
  for (std::int32_t i = 0; i < length_; ++i) graph_.covers[static_cast<std::size_t>(i)] = {i, i + 1};
}

std::int32_t AttentionGraphBuilder::add_node(NodeKind kind, std::int32_t level, TokenRange covers) {
  if (num_nodes() == max_nodes) throw GraphError(where, fmt::format("more than {} nodes", max_nodes));
  graph_.levels.push_back(level);
  graph_.kinds.push_back(kind);
  graph_.covers.push_back(covers);
  return num_nodes() - 1;
}

std::int32_t AttentionGraphBuilder::add_span(std::int32_t level, std::int64_t first_token, std::int64_t end_token) {
  if (first_token == end_token) {
    throw GraphError(where, fmt::format("a span of tokens {0} to {0}, the end not included, is empty", first_token));
  }
  if (first_token < 0 || end_token > length_ || first_token > end_token) {
    throw GraphError(where, fmt::format("a span of tokens {} to {} does not fit a sequence of {}", first_token,
                                        end_token - 1, length_));
  }
  if (level < 0) throw GraphError(where, fmt::format("a span cannot have level {}", level));
  return add_node(NodeKind::span, level,
                  {static_cast<std::int32_t>(first_token), static_cast<std::int32_t>(end_token)});
}

std::int32_t AttentionGraphBuilder::add_relay() { return add_node(NodeKind::relay, 1, {0, length_}); }
std::int32_t AttentionGraphBuilder::add_global() { return add_node(NodeKind::global, 1, {0, length_}); }

std::int32_t AttentionGraphBuilder::add_input(std::int32_t token) {
  require_node("the token of an input", token, length_);
  return add_node(NodeKind::input, 0, {token, token + 1});
}

std::int32_t AttentionGraphBuilder::add_sources(NodeKind kind, std::int64_t count, std::int64_t first_position) {
  const auto first = static_cast<std::int64_t>(graph_.source_kinds.size());
  if (count < 0 || count > max_sequence_length || first + count > max_nodes) {
    throw GraphError(where, fmt::format("{} further source nodes: at most {} at once and {} in all are possible", count,
                                        max_sequence_length, max_nodes));
  }
  bipartite_ = true;
  graph_.source_kinds.insert(graph_.source_kinds.end(), static_cast<std::size_t>(count), kind);
  graph_.source_covers.reserve(static_cast<std::size_t>(first + count));
  for (std::int64_t i = first_position; i < first_position + count; ++i) {
    graph_.source_covers.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1)});
  }
  return static_cast<std::int32_t>(first);
}

std::int32_t AttentionGraphBuilder::add_source_memory(std::int64_t count) {
  return add_sources(NodeKind::memory, count, -count);
}
std::int32_t AttentionGraphBuilder::add_source_tokens() { return add_sources(NodeKind::token, length_, 0); }
std::int32_t AttentionGraphBuilder::add_source_sequence(std::int64_t count) {
  return add_sources(NodeKind::source, count, 0);
}

std::int64_t AttentionGraphBuilder::num_sources() const {
  return bipartite_ ? static_cast<std::int64_t>(graph_.source_kinds.size()) : num_nodes();
}

std::int32_t AttentionGraphBuilder::add_relation(std::string name) {
  const auto taken = [&](const RelationGroup& group) { return group.count == 1 && group.name(0) == name; };
  if (std::ranges::any_of(relations_, taken)) {
    throw GraphError(where, fmt::format("there is already a relation called '{}'", name));
  }
  return add_relations(1, [name = std::move(name)](std::int64_t) { return name; });
}

std::int32_t AttentionGraphBuilder::add_relations(std::int64_t count, std::function<std::string(std::int64_t)> name) {
  const std::int32_t first = num_relations_;
  if (count < 0 || count > max_nodes - first) {
    throw GraphError(where, fmt::format("{} further relations: at most {} in all are possible", count, max_nodes));
  }
  relations_.push_back({count, std::move(name)});
  num_relations_ += static_cast<std::int32_t>(count);
  return first;
}

void AttentionGraphBuilder::add_edge(std::int32_t source, std::int32_t destination, std::int32_t relation) {
  require_node("the source of an edge", source, num_sources());
  add_edges(source, source + 1, destination, relation);
}

void AttentionGraphBuilder::add_edges(std::int32_t begin, std::int32_t end, std::int32_t destination,
                                      std::int32_t relation) {
  require_node("the destination of an edge", destination, num_nodes());
  if (begin < end) parts_.back().runs.push_back({destination, begin, end, relation});
}

void AttentionGraphBuilder::add_rule(InEdgeRule rule) { add_rule(0, length_, std::move(rule)); }

void AttentionGraphBuilder::add_rule(std::int32_t begin, std::int32_t end, InEdgeRule rule) {
  if (begin < 0 || end > num_nodes()) {
    throw GraphError(where, fmt::format("a rule is for nodes {} to {}, but there are nodes 0 to {}", begin, end - 1,
                                        num_nodes() - 1));
  }
  if (begin < end) parts_.back().rules.push_back({begin, end, std::move(rule)});
}

void AttentionGraphBuilder::start_part(Division division) {
  const bool first = division_ == Division::none;
  const bool has_edges = !parts_.front().rules.empty() || !parts_.front().runs.empty();
  if (first ? has_edges : division != division_) {
    throw GraphError(where, "head groups or stages start before the first edge, and a graph has one or the other");
  }
  division_ = division;
  if (!first) parts_.emplace_back();
}

void AttentionGraphBuilder::start_head_group() { start_part(Division::head_groups); }
void AttentionGraphBuilder::start_stage() { start_part(Division::stages); }

void AttentionGraphBuilder::set_root(std::int32_t node) {
  require_node("the root", node, num_nodes());
  graph_.root = node;
}

void AttentionGraphBuilder::set_readout(std::vector<std::int32_t> nodes) {
  for (const std::int32_t node : nodes) require_node("the read-out", node, num_nodes());
  graph_.readout = std::move(nodes);
}

/// All edges of a part, which must outlive the rule.
InEdgeRule AttentionGraphBuilder::rule_of(Part& part) {
  std::ranges::stable_sort(part.runs, {}, &EdgeRun::destination);
  return [&part](std::int32_t node, InEdges& in) {
    for (const Rule& rule : part.rules) {
      if (node >= rule.begin && node < rule.end) rule.emit(node, in);
    }
    if (part.runs.empty()) return;
    for (const EdgeRun& run : std::ranges::equal_range(part.runs, node, {}, &EdgeRun::destination)) {
      in.add_interval(run.begin, run.end, run.relation);
    }
  };
}

double AttentionGraphBuilder::attention_degree() const {
  if (division_ == Division::stages) {
    AttentionGraphBuilder copy = *this;
    return bough::attention_degree(copy.build());
  }
  double edges = 0;
  std::vector<Part> parts = parts_;
  for (Part& part : parts) edges += static_cast<double>(count_in_edges(length_, rule_of(part)));
  return edges / static_cast<double>(parts.size()) / length_;
}

Graph AttentionGraphBuilder::assemble(Part& part) const {
  return assemble_graph(graph_, bipartite_, num_relations_, rule_of(part));
}

void AttentionGraphBuilder::assemble_all(AttentionGraph& result) {
  if (division_ == Division::none) {
    result.graph = assemble(parts_.front());
    return;
  }
  std::vector<Graph> graphs;
  std::vector<RowSource> rows;
  for (Part& part : parts_) {
    graphs.push_back(assemble(part));
    rows.emplace_back(graphs.back());
  }
  result.graph = assemble_graph(graph_, bipartite_, num_relations_, merge_rows(std::move(rows)));
  (division_ == Division::stages ? result.stages : result.head_groups) = std::move(graphs);
}

AttentionGraph AttentionGraphBuilder::build() {
  try {
    AttentionGraph result = graph_;
    assemble_all(result);
    result.relations.reserve(static_cast<std::size_t>(num_relations_));
    for (const RelationGroup& group : relations_) {
      for (std::int64_t i = 0; i < group.count; ++i) result.relations.push_back(group.name(i));
    }
    if (result.readout.empty()) {
      result.readout = result.root >= 0 ? std::vector<std::int32_t>{result.root} : result.tokens;
    }
    result.sequences = {{.node_end = num_nodes(),
                         .source_end = num_sources(),
                         .token_end = length_,
                         .readout_end = static_cast<std::int64_t>(result.readout.size()),
                         .root = result.root}};
    record_form(result);
    return result;
  } catch (const std::bad_alloc&) {
    throw AllocationError(where, fmt::format("a sequence of {} tokens: the graph does not fit into memory", length_));
  }
}

}  // namespace bough
