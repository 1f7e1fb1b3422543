#include "bough/graph/batch.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"

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

void require_same_make(const AttentionGraph& one, const AttentionGraph& other) {
  if (one.head_groups.size() != other.head_groups.size() || one.stages.size() != other.stages.size()) {
    throw GraphError("build_batch", "graphs of all lengths must have equally many head groups and stages");
  }
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

/// An id means the same in all graphs, but a length may lack some of them.
void add_names(std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.resize(std::max(names.size(), more.size()));
  for (std::size_t id = 0; id < more.size(); ++id) {
    if (names[id].empty()) names[id] = more[id];
  }
}

void append_nodes(AttentionGraph& batch, const AttentionGraph& part) {
  Sequence place;
  place.node_begin = static_cast<std::int64_t>(batch.levels.size());
  place.source_begin =
      part.graph.is_bipartite() ? static_cast<std::int64_t>(batch.source_kinds.size()) : place.node_begin;
  place.token_begin = static_cast<std::int64_t>(batch.tokens.size());
  place.readout_begin = static_cast<std::int64_t>(batch.readout.size());
  append(batch.levels, part.levels);
  append(batch.kinds, part.kinds);
  append(batch.source_kinds, part.source_kinds);
  append_ids(batch.tokens, part.tokens, place.node_begin);
  append_ids(batch.readout, part.readout, place.node_begin);
  append_ranges(batch.covers, part.covers, place.token_begin);
  append_ranges(batch.source_covers, part.source_covers, place.token_begin);
  place.node_end = place.node_begin + part.graph.num_dst();
  place.source_end = place.source_begin + part.graph.num_src();
  place.token_end = place.token_begin + part.num_tokens();
  place.readout_end = static_cast<std::int64_t>(batch.readout.size());
  if (part.root >= 0) place.root = part.root + static_cast<std::int32_t>(place.node_begin);
  batch.sequences.push_back(place);
}

}  // namespace

AttentionGraph build_batch(const GraphGenerator& generator, std::span<const std::int64_t> lengths, bool causal) {
  std::vector<BuildOptions> options;
  options.reserve(lengths.size());
  for (const std::int64_t length : lengths) options.push_back({.length = length, .causal = causal});
  return build_batch(generator, options);
}

AttentionGraph build_batch(const GraphGenerator& generator, std::span<const BuildOptions> options) {
  if (options.empty()) throw GraphError("build_batch", "a batch needs at least one sequence");
  using Key =
      std::tuple<std::int64_t, bool, std::vector<std::int64_t>, std::vector<std::int64_t>, std::optional<std::int64_t>>;
  std::map<Key, AttentionGraph> graphs;
  std::vector<const AttentionGraph*> sequences;
  sequences.reserve(options.size());
  for (const BuildOptions& one : options) {
    if (one.causal != options.front().causal) {
      throw GraphError("build_batch", "the sequences of a batch are causal all or none");
    }
    const auto [entry, added] =
        graphs.try_emplace({one.length, one.causal, one.sentences, one.source_sentences, one.past});
    if (added) entry->second = generator.build(one);
    sequences.push_back(&entry->second);
    require_same_make(*sequences.front(), *sequences.back());
  }
  if (sequences.size() == 1) return std::move(graphs.begin()->second);

  AttentionGraph result;
  // Before the nodes, because it refuses what is too large for ids.
  result.graph = side_by_side(sequences, [](const AttentionGraph& part) { return part.graph; });
  for (std::size_t i = 0; i < sequences.front()->head_groups.size(); ++i) {
    result.head_groups.push_back(
        side_by_side(sequences, [i](const AttentionGraph& part) { return part.head_groups[i]; }));
  }
  for (std::size_t i = 0; i < sequences.front()->stages.size(); ++i) {
    result.stages.push_back(side_by_side(sequences, [i](const AttentionGraph& part) { return part.stages[i]; }));
  }
  reserve(result, sequences);
  for (const AttentionGraph* sequence : sequences) append_nodes(result, *sequence);
  result.root = result.sequences.front().root;
  for (const auto& [key, graph] : graphs) add_names(result.relations, graph.relations);
  result.soft_span = sequences.front()->soft_span;
  result.causal = options.front().causal;
  return result;
}

}  // namespace bough
