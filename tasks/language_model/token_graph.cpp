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
    if (added) entry->second = build_checked(generator_, options);
    return entry->second;
  }
  std::int64_t num_relations(std::int64_t max_length) const override { return generator_.num_relations(max_length); }

 private:
  const GraphGenerator& generator_;
  mutable std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, AttentionGraph> built_;
};

/// Tokens of a window that are computed at once.
struct TextSegment {
  std::int64_t begin = 0;
  BuildOptions options = {};
  std::optional<std::int64_t> remembered = {};  ///< tokens whose states the next one reads
};

std::int64_t count_memory(const AttentionGraph& graph) {
  return std::ranges::count(graph.source_kinds, NodeKind::memory);
}

void require_one_text(const AttentionGraph& graph) {
  const bool reads_other_text = std::ranges::any_of(
      graph.source_kinds, [](NodeKind kind) { return kind != NodeKind::token && kind != NodeKind::memory; });
  if (!reads_other_text) return;
  throw ConfigError("char_lm",
                    "the pattern reads another text, and here is only one; use a pattern whose tokens "
                    "attend to their own window");
}

/// Tokens that a segment remembers which has so many before it.
std::int64_t remembered_of_past(const GraphGenerator& generator, std::int64_t length, std::int64_t past) {
  const std::int64_t remembered = count_memory(generator.build({.length = length, .causal = true, .past = past}));
  if (remembered <= past) return remembered;
  throw ConfigError("char_lm", fmt::format("the pattern remembers {} tokens before a segment, which has {} before it; "
                                           "it must heed BuildOptions::past",
                                           remembered, past));
}

/// Segments one after the other: the last may have another length. Each remembers what the pattern can of those before.
std::vector<TextSegment> consecutive(const GraphGenerator& generator, const std::vector<std::int64_t>& lengths) {
  std::vector<TextSegment> segments;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    const std::int64_t remembered = remembered_of_past(generator, length, begin);
    if (!segments.empty()) segments.back().remembered = remembered;
    segments.push_back(
        {.begin = begin, .options = {.length = length, .causal = true, .past = remembered}, .remembered = 0});
    begin += length;
  }
  return segments;
}

std::vector<TextSegment> segments_of(const GraphGenerator& generator, std::int64_t length) {
  const AttentionGraph whole = generator.build({.length = length, .causal = true});
  if (!whole.graph.is_bipartite()) return {{.options = {.length = length, .causal = true}}};
  require_one_text(whole);
  return consecutive(generator, {length / 2, length - length / 2});
}

/// Rows of the batch that are tokens of the segment.
std::vector<std::int32_t> rows_of(const TextSegment& segment, std::int64_t length, std::int64_t windows) {
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

/// All segments as one graph of tokens: what is remembered of a token is the token. Relations are those of sequences of
/// the given length.
AttentionGraph joined(const GraphGenerator& generator, const std::vector<TextSegment>& segments,
                      std::int64_t relation_length) {
  const std::int64_t length = segments.back().begin + segments.back().options.length;
  const std::int64_t num_relations = generator.num_relations(relation_length);
  std::vector<std::int32_t> src, dst, types;
  AttentionGraph result;
  for (const TextSegment& segment : segments) {
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
  result.graph =
      Graph::from_edges(std::move(src), std::move(dst),
                        {.num_nodes = length, .edge_types = std::move(types), .num_edge_types = num_relations});
  result.relations.resize(static_cast<std::size_t>(num_relations));
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
  const std::vector<TextSegment> segments = segments_of(once, length);
  return segments.size() == 1 ? once.build(segments.front().options) : joined(once, segments, length);
}

std::int64_t remembered_tokens(const GraphGenerator& generator, std::int64_t length) {
  return count_memory(generator.build({.length = length, .causal = true}));
}

AttentionGraph carried_graph(const GraphGenerator& generator, std::int64_t segment_length, std::int64_t segments) {
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(segments), segment_length);
  const BuiltOnce once(generator);
  return joined(once, consecutive(once, lengths), segment_length);
}

TokenGraph::TokenGraph(const GraphGenerator& generator, const SegmentOptions& options) : length_(options.length) {
  const BuiltOnce once(generator);
  const BuildOptions segment{
      .length = options.length, .causal = true, .past = remembered_of_past(once, options.length, options.past)};
  const AttentionGraph one = once.build(segment);
  require_one_text(one);
  attention_degree_ = bough::attention_degree(one);
  num_edges_ = one.graph.num_edges();
  num_nodes_ = one.graph.num_dst();
  const std::int64_t next = remembered_of_past(once, options.length, options.past + options.length);
  const std::vector<BuildOptions> sequences(static_cast<std::size_t>(options.windows), segment);
  parts_.push_back({nn::make_layer_schedule(build_batch(once, sequences), {.layers = options.layers, .memory = next})
                        .to(options.device),
                    Tensor()});
}

TokenGraph::TokenGraph(const GraphGenerator& generator, std::int64_t length, std::int64_t windows, std::int64_t layers,
                       Device device)
    : length_(length) {
  const BuiltOnce once(generator);
  const AttentionGraph one = window_graph(once, length);
  attention_degree_ = bough::attention_degree(one);
  num_edges_ = one.graph.num_edges();
  num_nodes_ = one.graph.num_nodes();

  const std::vector<TextSegment> segments = segments_of(once, length);
  std::vector<std::int32_t> order(static_cast<std::size_t>(windows * length));
  std::int32_t place = 0;
  for (const TextSegment& segment : segments) {
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

std::int64_t TokenGraph::remembered_rows() const {
  std::int64_t rows = 0;
  for (const Part& part : parts_) rows += part.schedule.num_outside * std::ssize(part.schedule.layers);
  return rows;
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
