#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/graph/graph_generator.h"

namespace bough {
namespace {

/// Where one sequence's nodes, sources, tokens and edges begin in the batch.
struct Place {
  std::size_t graph;  ///< which of the different graphs it is
  std::int64_t node = 0;
  std::int64_t source = 0;
  std::int64_t token = 0;
  std::int64_t readout = 0;
};

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

/// Puts the graphs that `graph_of` picks side by side.
template <typename GraphOf>
Graph side_by_side(const std::vector<AttentionGraph>& graphs, const std::vector<Place>& places,
                   std::int64_t num_relations, const GraphOf& graph_of) {
  std::vector<std::int64_t> first_edge{0};
  std::int64_t num_src = 0;
  std::int64_t num_dst = 0;
  for (const Place& place : places) {
    const Graph& part = graph_of(graphs[place.graph]);
    first_edge.push_back(first_edge.back() + part.num_edges());
    num_src = place.source + part.num_src();
    num_dst = place.node + part.num_dst();
  }
  IdBuffer src(first_edge.back()), dst(first_edge.back()), types(first_edge.back());
  const auto count = static_cast<std::int64_t>(places.size());
  parallel_chunks(count, rows_per_chunk(first_edge.back() / count, 128 * 1024),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                      const Place& place = places[i];
                      const Graph& part = graph_of(graphs[place.graph]);
                      const CooView edges = part.coo();
                      const auto shifted = [](std::int64_t by) {
                        return [by](std::int32_t id) { return id + static_cast<std::int32_t>(by); };
                      };
                      std::ranges::transform(edges.src, src.data() + first_edge[i], shifted(place.source));
                      std::ranges::transform(edges.dst, dst.data() + first_edge[i], shifted(place.node));
                      std::ranges::copy(part.edge_types(), types.data() + first_edge[i]);
                    }
                  });
  if (graph_of(graphs.front()).is_bipartite()) {
    return Graph::bipartite(
        std::move(src), std::move(dst),
        {.num_src = num_src, .num_dst = num_dst, .edge_types = std::move(types), .num_edge_types = num_relations});
  }
  return Graph::from_edges(std::move(src), std::move(dst),
                           {.num_nodes = num_dst, .edge_types = std::move(types), .num_edge_types = num_relations});
}

/// Room for all nodes at once. GraphError if ids would not fit, or the graphs are of different make.
void reserve(AttentionGraph& batch, const std::vector<AttentionGraph>& graphs, const std::vector<Place>& places) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  std::int64_t nodes = 0;
  std::int64_t sources = 0;
  std::int64_t edges = 0;
  std::size_t tokens = 0;
  std::size_t readout = 0;
  for (const Place& place : places) {
    const AttentionGraph& part = graphs[place.graph];
    if (part.graph.is_bipartite() != graphs.front().graph.is_bipartite() ||
        part.head_groups.size() != graphs.front().head_groups.size() ||
        part.stages.size() != graphs.front().stages.size()) {
      throw GraphError("build_batch",
                       "graphs of different lengths must have equally many head groups and stages, and be "
                       "bipartite all or none");
    }
    nodes += part.graph.num_dst();
    sources += part.graph.num_src();
    edges += part.graph.num_edges();
    tokens += part.tokens.size();
    readout += part.readout.size();
    if (std::max({nodes, sources, edges}) > limit) {
      throw GraphError("build_batch",
                       fmt::format("{} sequences have more than {} nodes or edges in all; make the batch "
                                   "smaller",
                                   places.size(), limit));
    }
  }
  batch.levels.reserve(static_cast<std::size_t>(nodes));
  batch.kinds.reserve(static_cast<std::size_t>(nodes));
  batch.covers.reserve(static_cast<std::size_t>(nodes));
  batch.tokens.reserve(tokens);
  batch.readout.reserve(readout);
  batch.sequences.reserve(places.size());
  if (!graphs.front().graph.is_bipartite()) return;
  batch.source_kinds.reserve(static_cast<std::size_t>(sources));
  batch.source_covers.reserve(static_cast<std::size_t>(sources));
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
  std::vector<AttentionGraph> graphs;
  std::vector<Place> places;
  std::map<std::tuple<std::int64_t, bool, std::vector<std::int64_t>, std::vector<std::int64_t>>, std::size_t> known;
  for (const BuildOptions& one : options) {
    if (one.causal != options.front().causal) {
      throw GraphError("build_batch", "the sequences of a batch are causal all or none");
    }
    const auto [entry, added] =
        known.try_emplace({one.length, one.causal, one.sentences, one.source_sentences}, graphs.size());
    if (added) graphs.push_back(generator.build(one));
    places.push_back({entry->second});
  }
  if (places.size() == 1) return std::move(graphs.front());

  const auto widest =
      std::ranges::max_element(graphs, {}, [](const AttentionGraph& graph) { return graph.graph.num_edge_types(); });
  AttentionGraph batch;
  reserve(batch, graphs, places);
  batch.causal = options.front().causal;
  batch.relations = widest->relations;
  batch.soft_span = graphs.front().soft_span;
  for (Place& place : places) {
    const AttentionGraph& part = graphs[place.graph];
    place.node = static_cast<std::int64_t>(batch.levels.size());
    place.source = part.graph.is_bipartite() ? static_cast<std::int64_t>(batch.source_kinds.size()) : place.node;
    place.token = static_cast<std::int64_t>(batch.tokens.size());
    place.readout = static_cast<std::int64_t>(batch.readout.size());
    append(batch.levels, part.levels);
    append(batch.kinds, part.kinds);
    append(batch.source_kinds, part.source_kinds);
    append_ids(batch.tokens, part.tokens, place.node);
    append_ids(batch.readout, part.readout, place.node);
    append_ranges(batch.covers, part.covers, place.token);
    append_ranges(batch.source_covers, part.source_covers, place.token);
    batch.sequences.push_back({.node_begin = place.node,
                               .node_end = place.node + part.graph.num_dst(),
                               .source_begin = place.source,
                               .source_end = place.source + part.graph.num_src(),
                               .token_begin = place.token,
                               .token_end = place.token + part.num_tokens(),
                               .readout_begin = place.readout,
                               .readout_end = static_cast<std::int64_t>(batch.readout.size()),
                               .root = part.root < 0 ? -1 : part.root + static_cast<std::int32_t>(place.node)});
  }
  batch.root = batch.sequences.front().root;

  const auto num_relations = static_cast<std::int64_t>(batch.relations.size());
  const auto side = [&](const auto& graph_of) { return side_by_side(graphs, places, num_relations, graph_of); };
  batch.graph = side([](const AttentionGraph& part) -> const Graph& { return part.graph; });
  for (std::size_t i = 0; i < graphs.front().head_groups.size(); ++i) {
    batch.head_groups.push_back(side([i](const AttentionGraph& part) -> const Graph& { return part.head_groups[i]; }));
  }
  for (std::size_t i = 0; i < graphs.front().stages.size(); ++i) {
    batch.stages.push_back(side([i](const AttentionGraph& part) -> const Graph& { return part.stages[i]; }));
  }
  return batch;
}

}  // namespace bough
