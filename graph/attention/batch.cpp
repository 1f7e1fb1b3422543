#include "bough/graph/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "graph/attention/assembly.h"

namespace bough {
namespace {

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void append_ids(std::vector<std::int32_t>& all, const std::vector<std::int32_t>& more, std::int64_t shift) {
  for (const std::int32_t id : more) all.push_back(id + static_cast<std::int32_t>(shift));
}

void append_ranges(std::vector<TokenRange>& all, const std::vector<TokenRange>& more, std::int64_t shift) {
  const auto by = static_cast<std::int32_t>(shift);
  for (const TokenRange range : more) all.push_back({range.begin + by, range.end + by});
}

/// The graphs of one part (everything, a head group, a stage) of all sequences, side by side.
template <typename GraphOf>
Graph side_by_side(const std::vector<const AttentionGraph*>& sequences, const GraphOf& graph_of) {
  std::vector<Graph> graphs;
  graphs.reserve(sequences.size());
  for (const AttentionGraph* sequence : sequences) graphs.push_back(graph_of(*sequence));
  return batch(graphs);
}

void require_same_make(const char* where, const AttentionGraph& one, const AttentionGraph& other) {
  const auto require = [where](bool same, const char* rule) {
    if (!same) throw GraphError(where, rule);
  };
  require(!other.sequences.empty(), "a graph without sequences cannot be in a batch; a single graph has one");
  require(one.causal == other.causal, "the sequences of a batch are causal all or none");
  require(one.head_groups.size() == other.head_groups.size() && one.stages.size() == other.stages.size(),
          "the graphs of a batch must have equally many head groups and stages");
  require(one.soft_span == other.soft_span, "the graphs of a batch must have the same soft span, or none");
}

/// Room for everything that one entry for each node, token or sequence needs.
void reserve(AttentionGraph& batch, const std::vector<const AttentionGraph*>& sequences) {
  const auto sum = [&](auto size_of) {
    std::size_t total = 0;
    for (const AttentionGraph* sequence : sequences) total += size_of(*sequence);
    return total;
  };
  const std::size_t nodes = sum([](const AttentionGraph& sequence) { return sequence.levels.size(); });
  const std::size_t sources = sum([](const AttentionGraph& sequence) { return sequence.source_kinds.size(); });
  batch.levels.reserve(nodes);
  batch.kinds.reserve(nodes);
  batch.covers.reserve(nodes);
  batch.source_kinds.reserve(sources);
  batch.source_covers.reserve(sources);
  batch.tokens.reserve(sum([](const AttentionGraph& sequence) { return sequence.tokens.size(); }));
  batch.readout.reserve(sum([](const AttentionGraph& sequence) { return sequence.readout.size(); }));
  batch.sequences.reserve(sequences.size());
}

/// An id means the same in all graphs, but some may lack it.
void add_names(const char* where, std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.resize(std::max(names.size(), more.size()));
  for (std::size_t id = 0; id < more.size(); ++id) {
    if (names[id].empty()) names[id] = more[id];
    if (more[id].empty() || more[id] == names[id]) continue;
    throw GraphError(where, fmt::format("relation {} is '{}' in one graph and '{}' in another; the graphs of a batch "
                                        "share one table of relations",
                                        id, names[id], more[id]));
  }
}

void append_nodes(AttentionGraph& batch, const AttentionGraph& part) {
  const auto nodes = static_cast<std::int64_t>(batch.levels.size());
  const std::int64_t sources = part.graph.is_bipartite() ? static_cast<std::int64_t>(batch.source_kinds.size()) : nodes;
  const std::int64_t tokens = batch.num_tokens();
  const auto readout = static_cast<std::int64_t>(batch.readout.size());
  append(batch.levels, part.levels);
  append(batch.kinds, part.kinds);
  append(batch.source_kinds, part.source_kinds);
  append_ids(batch.tokens, part.tokens, nodes);
  append_ids(batch.readout, part.readout, nodes);
  append_ranges(batch.covers, part.covers, tokens);
  append_ranges(batch.source_covers, part.source_covers, tokens);
  for (Sequence sequence : part.sequences) {
    sequence.node_begin += nodes;
    sequence.node_end += nodes;
    sequence.source_begin += sources;
    sequence.source_end += sources;
    sequence.token_begin += tokens;
    sequence.token_end += tokens;
    sequence.readout_begin += readout;
    sequence.readout_end += readout;
    if (sequence.root >= 0) sequence.root += static_cast<std::int32_t>(nodes);
    batch.sequences.push_back(sequence);
  }
}

/// All parts side by side; the same graph may be there any number of times.
AttentionGraph joined(const char* where, const std::vector<const AttentionGraph*>& parts) {
  if (parts.empty()) throw GraphError(where, "a batch needs at least one sequence");
  const AttentionGraph& first = *parts.front();
  for (const AttentionGraph* part : parts) require_same_make(where, first, *part);
  if (parts.size() == 1) return first;

  AttentionGraph result;
  // Before the nodes, because it refuses what is too large for ids.
  result.graph = side_by_side(parts, [](const AttentionGraph& part) { return part.graph; });
  for (std::size_t i = 0; i < first.head_groups.size(); ++i) {
    result.head_groups.push_back(side_by_side(parts, [i](const AttentionGraph& part) { return part.head_groups[i]; }));
  }
  for (std::size_t i = 0; i < first.stages.size(); ++i) {
    result.stages.push_back(side_by_side(parts, [i](const AttentionGraph& part) { return part.stages[i]; }));
  }
  reserve(result, parts);
  for (const AttentionGraph* part : parts) append_nodes(result, *part);
  std::set<const AttentionGraph*> named;
  for (const AttentionGraph* part : parts) {
    if (named.insert(part).second) add_names(where, result.relations, part->relations);
  }
  result.root = result.sequences.front().root;
  result.soft_span = first.soft_span;
  result.causal = first.causal;
  record_form(result);
  return result;
}

}  // namespace

AttentionGraph build_batch(const GraphGenerator& generator, std::span<const std::int64_t> lengths, bool causal) {
  std::vector<BuildOptions> options;
  options.reserve(lengths.size());
  for (const std::int64_t length : lengths) options.push_back({.length = length, .causal = causal});
  return build_batch(generator, options);
}

AttentionGraph build_batch(const GraphGenerator& generator, std::span<const BuildOptions> options) {
  using Key =
      std::tuple<std::int64_t, bool, std::vector<std::int64_t>, std::vector<std::int64_t>, std::optional<std::int64_t>>;
  std::map<Key, AttentionGraph> graphs;
  std::vector<const AttentionGraph*> sequences;
  sequences.reserve(options.size());
  for (const BuildOptions& one : options) {
    const auto [entry, added] =
        graphs.try_emplace({one.length, one.causal, one.sentences, one.source_sentences, one.past});
    if (added) entry->second = build_checked(generator, one);
    sequences.push_back(&entry->second);
  }
  return joined("build_batch", sequences);
}

AttentionGraph batch(std::span<const AttentionGraph> graphs) {
  std::vector<const AttentionGraph*> parts;
  parts.reserve(graphs.size());
  for (const AttentionGraph& graph : graphs) {
    graph.validate_nodes();
    parts.push_back(&graph);
  }
  return joined("batch", parts);
}

}  // namespace bough
