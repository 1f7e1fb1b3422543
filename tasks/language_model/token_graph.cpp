#include "bough/tasks/token_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bough/core/errors.h"

namespace bough {
namespace {

/// A pattern that builds each graph once and remembers it: several steps here look at the same ones.
class BuiltOnce : public GraphGenerator {
 public:
  explicit BuiltOnce(const GraphGenerator& generator) : generator_(generator) {}

  AttentionGraph build(const BuildOptions& options) const override {
    const auto [entry, added] = built_.try_emplace({options.length, options.past});
    if (added) entry->second = generator_.build(options);
    return entry->second;
  }
  std::int64_t num_relations(std::int64_t max_length) const override { return generator_.num_relations(max_length); }

 private:
  const GraphGenerator& generator_;
  mutable std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, AttentionGraph> built_;
};

/// Tokens of a window that are computed at once.
struct Segment {
  std::int64_t begin = 0;
  BuildOptions options = {};
  std::optional<std::int64_t> remembered = {};  ///< tokens whose states the next one reads
};

std::int64_t count_memory(const AttentionGraph& graph) {
  return std::ranges::count(graph.source_kinds, NodeKind::memory);
}

std::vector<Segment> segments_of(const GraphGenerator& generator, std::int64_t length) {
  const AttentionGraph whole = generator.build({.length = length, .causal = true});
  if (!whole.graph.is_bipartite()) return {{.options = {.length = length, .causal = true}}};
  const bool reads_other_text = std::ranges::any_of(
      whole.source_kinds, [](NodeKind kind) { return kind != NodeKind::token && kind != NodeKind::memory; });
  if (reads_other_text) {
    throw ConfigError("char_lm",
                      "the pattern reads another text, and here is only one; use a pattern whose tokens "
                      "attend to their own window");
  }
  const std::int64_t half = length / 2;
  const Segment first{.options = {.length = half, .causal = true, .past = 0}};
  const BuildOptions second{.length = length - half, .causal = true, .past = half};
  const std::int64_t remembered = count_memory(generator.build(second));
  if (count_memory(generator.build(first.options)) > 0 || remembered > half) {
    throw ConfigError("char_lm",
                      fmt::format("the pattern remembers {} tokens before the second half of a window, which "
                                  "has {} before it; it must heed BuildOptions::past",
                                  remembered, half));
  }
  return {{.begin = 0, .options = first.options, .remembered = remembered},
          {.begin = half, .options = second, .remembered = 0}};
}

/// Rows of the batch that are tokens of the segment.
std::vector<std::int32_t> rows_of(const Segment& segment, std::int64_t length, std::int64_t windows) {
  std::vector<std::int32_t> rows;
  for (std::int64_t window = 0; window < windows; ++window) {
    for (std::int64_t token = 0; token < segment.options.length; ++token) {
      rows.push_back(static_cast<std::int32_t>(window * length + segment.begin + token));
    }
  }
  return rows;
}

Tensor as_tensor(const std::vector<std::int32_t>& rows, Device device) {
  return Tensor::from_vector(rows, {std::ssize(rows)}).to(device);
}

/// All segments as one graph of tokens: what is remembered of a token is the token.
AttentionGraph joined(const GraphGenerator& generator, const std::vector<Segment>& segments, std::int64_t length) {
  std::vector<std::int32_t> src, dst, types;
  AttentionGraph result;
  for (const Segment& segment : segments) {
    const AttentionGraph part = generator.build(segment.options);
    const CooView coo = part.graph.coo();
    const auto begin = static_cast<std::int32_t>(segment.begin);
    for (std::size_t e = 0; e < coo.src.size(); ++e) {
      src.push_back(begin + part.source_covers[static_cast<std::size_t>(coo.src[e])].begin);
      dst.push_back(begin + part.covers[static_cast<std::size_t>(coo.dst[e])].begin);
      types.push_back(part.graph.edge_types()[e]);
    }
    result.relations = part.relations;
    result.soft_span = part.soft_span;
  }
  result.graph = Graph::from_edges(
      std::move(src), std::move(dst),
      {.num_nodes = length, .edge_types = std::move(types), .num_edge_types = generator.num_relations(length)});
  result.relations.resize(static_cast<std::size_t>(generator.num_relations(length)));
  const auto count = static_cast<std::size_t>(length);
  result.tokens.resize(count);
  std::iota(result.tokens.begin(), result.tokens.end(), 0);
  result.readout = result.tokens;
  result.levels.assign(count, 0);
  result.kinds.assign(count, NodeKind::token);
  for (const std::int32_t token : result.tokens) result.covers.push_back({token, token + 1});
  result.sequences = {{.node_end = length, .source_end = length, .token_end = length, .readout_end = length}};
  result.causal = true;
  return result;
}

}  // namespace

AttentionGraph window_graph(const GraphGenerator& generator, std::int64_t length) {
  const BuiltOnce once(generator);
  const std::vector<Segment> segments = segments_of(once, length);
  return segments.size() == 1 ? once.build(segments.front().options) : joined(once, segments, length);
}

TokenGraph::TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
                       Device device) {
  const BuiltOnce once(generator);
  const AttentionGraph one = window_graph(once, length);
  attention_degree_ = bough::attention_degree(one);
  num_edges_ = one.graph.num_edges();
  num_nodes_ = one.graph.num_nodes();

  const std::vector<Segment> segments = segments_of(once, length);
  std::vector<std::int32_t> order(static_cast<std::size_t>(windows * length));
  std::int32_t place = 0;
  for (const Segment& segment : segments) {
    const std::vector<BuildOptions> sequences(static_cast<std::size_t>(windows), segment.options);
    const AttentionGraph batch = build_batch(once, sequences);
    parts_.push_back(
        {nn::make_layer_schedule(batch, {.layers = layers, .memory = segment.remembered}).to(device), Tensor()});
    if (segments.size() == 1) continue;
    const std::vector<std::int32_t> rows = rows_of(segment, length, windows);
    for (const std::int32_t row : rows) order[static_cast<std::size_t>(row)] = place++;
    parts_.back().rows = as_tensor(rows, device);
  }
  if (segments.size() > 1) order_ = as_tensor(order, device);
}

std::int64_t TokenGraph::computed_nodes() const {
  std::int64_t nodes = 0;
  for (const Part& part : parts_) {
    for (const auto& stages : part.schedule.layers) {
      for (const nn::LayerStep& step : stages) nodes += step.graphs.front().num_dst();
    }
  }
  return nodes;
}

std::int64_t TokenGraph::followed_edges() const {
  std::int64_t edges = 0;
  for (const Part& part : parts_) {
    for (const auto& stages : part.schedule.layers) {
      for (const nn::LayerStep& step : stages) {
        // Groups of heads share the width of a node, so together they cost as much as one graph of their mean size.
        std::int64_t all = 0;
        for (const Graph& graph : step.graphs) all += graph.num_edges();
        edges += all / static_cast<std::int64_t>(step.graphs.size());
      }
    }
  }
  return edges;
}

}  // namespace bough
