#include "bough/graph/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

namespace bough {
namespace {

constexpr std::size_t words = 4;
constexpr std::int64_t batch_size = 64 * words;
constexpr std::int64_t node_cost = 16;  // what looking at a node costs, in edges of a split row

/// One bit for each of the tokens that paths start at.
struct Starts {
  std::array<std::uint64_t, words> bits{};

  bool any() const {
    return std::ranges::any_of(bits, [](std::uint64_t word) { return word != 0; });
  }
  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const std::uint64_t word : bits) sum += std::popcount(word);
    return sum;
  }
  void set(std::int64_t i) { bits[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64); }
};

/// Walks from many tokens at once, one step of all of them at a time.
class Walk {
 public:
  explicit Walk(const AttentionGraph& graph)
      : graph_(graph),
        out_edges_(graph.graph.csr(EdgeIds::implied)),
        source_of_node_(source_nodes(graph)),
        is_token_(static_cast<std::size_t>(graph.graph.num_dst())),
        reached_(is_token_.size()),
        frontier_(is_token_.size()),
        next_frontier_(is_token_.size()) {
    for (const std::int32_t token : graph.tokens) is_token_[static_cast<std::size_t>(token)] = true;
  }

  /// Follows edges from the tokens at first, first + step, ... (at most 256) until nothing is new or the work is spent.
  void run(std::int64_t first, std::int64_t step, std::int64_t& work, TokenDistances& result) {
    std::ranges::fill(reached_, Starts{});
    std::vector<std::int32_t> active, next_active;
    std::int64_t missing = 0;
    for (std::int64_t i = 0; i < batch_size && first + i * step < graph_.num_tokens(); ++i) {
      const std::int64_t position = first + i * step;
      const std::int32_t token = graph_.tokens[static_cast<std::size_t>(position)];
      reached_[static_cast<std::size_t>(token)].set(i);
      frontier_[static_cast<std::size_t>(token)] = reached_[static_cast<std::size_t>(token)];
      active.push_back(token);
      missing += (graph_.causal ? graph_.num_tokens() - position : graph_.num_tokens()) - 1;
      ++result.first_tokens;
    }
    for (std::int64_t steps = 1; !active.empty(); ++steps) {
      next_active.clear();
      bool token_reached = false;
      for (const std::int32_t node : active) {
        work -= follow(node, next_active);
        frontier_[static_cast<std::size_t>(node)] = {};
      }
      for (const std::int32_t node : next_active) {
        if (!is_token_[static_cast<std::size_t>(node)]) continue;
        token_reached = true;
        missing -= next_frontier_[static_cast<std::size_t>(node)].count();
      }
      if (token_reached) result.longest = std::max(result.longest, steps);
      std::swap(frontier_, next_frontier_);
      std::swap(active, next_active);
      if (missing == 0) break;
      if (work < 0 && !active.empty()) {
        result.exact = false;
        break;
      }
    }
    for (const std::int32_t node : active) frontier_[static_cast<std::size_t>(node)] = {};
    if (missing != 0 && active.empty()) result.all_connected = false;
  }

 private:
  /// Where a node that is updated appears as a source: itself, or the same token on the source side.
  static std::vector<std::int32_t> source_nodes(const AttentionGraph& graph) {
    std::vector<std::int32_t> sources;
    if (!graph.graph.is_bipartite()) return sources;
    sources.assign(static_cast<std::size_t>(graph.graph.num_dst()), -1);
    for (std::size_t i = 0; i < graph.source_kinds.size(); ++i) {
      if (graph.source_kinds[i] != NodeKind::token) continue;
      const auto position = static_cast<std::size_t>(graph.source_covers[i].begin);
      sources[static_cast<std::size_t>(graph.tokens[position])] = static_cast<std::int32_t>(i);
    }
    return sources;
  }

  /// Passes on what reached a node last; returns what it cost.
  std::int64_t follow(std::int32_t node, std::vector<std::int32_t>& next_active) {
    const std::int32_t source = source_of_node_.empty() ? node : source_of_node_[static_cast<std::size_t>(node)];
    if (source < 0) return 0;
    const Starts frontier = frontier_[static_cast<std::size_t>(node)];
    const auto begin = static_cast<std::size_t>(out_edges_.offsets[static_cast<std::size_t>(source)]);
    const auto end = static_cast<std::size_t>(out_edges_.offsets[static_cast<std::size_t>(source) + 1]);
    for (std::size_t e = begin; e < end; ++e) {
      const auto other = static_cast<std::size_t>(out_edges_.indices[e]);
      Starts& known = reached_[other];
      Starts fresh;
      for (std::size_t w = 0; w < words; ++w) fresh.bits[w] = frontier.bits[w] & ~known.bits[w];
      if (!fresh.any()) continue;
      Starts& next = next_frontier_[other];
      if (!next.any()) next_active.push_back(static_cast<std::int32_t>(other));
      for (std::size_t w = 0; w < words; ++w) {
        known.bits[w] |= fresh.bits[w];
        next.bits[w] |= fresh.bits[w];
      }
    }
    return node_cost + static_cast<std::int64_t>(end - begin);
  }

  const AttentionGraph& graph_;
  CsrView out_edges_;
  std::vector<std::int32_t> source_of_node_;
  std::vector<char> is_token_;
  std::vector<Starts> reached_;
  std::vector<Starts> frontier_;       ///< what reached a node in the last step
  std::vector<Starts> next_frontier_;  ///< and in this one
};

}  // namespace

TokenDistances token_distances(const AttentionGraph& graph, std::int64_t work) {
  TokenDistances result;
  graph.validate_nodes();
  if (graph.tokens.empty()) return result;
  Walk walk(graph);
  const std::int64_t batches = (graph.num_tokens() + batch_size - 1) / batch_size;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    walk.run(batch, batches, work, result);
    if (work < 0 && batch + 1 < batches) {
      result.exact = false;
      break;
    }
  }
  return result;
}

DegreeRange token_degrees(const AttentionGraph& graph) {
  DegreeRange range;
  graph.validate_nodes();
  if (graph.tokens.empty()) return range;
  const CscView rows = graph.graph.csc(EdgeIds::implied);
  range.least = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const std::int32_t token : graph.tokens) {
    const std::int64_t degree = rows.degree(token);
    sum += degree;
    range.least = std::min(range.least, degree);
    range.most = std::max(range.most, degree);
  }
  range.mean = static_cast<double>(sum) / static_cast<double>(graph.num_tokens());
  return range;
}

}  // namespace bough
