#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "tests/graph/generators/edge_list.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using test::NamedEdge;
using test::TokenSet;

/// The graph of BP-Transformer by its definition: nodes are (level, index) pairs, every step one node, nothing clever.
/// Edges are sorted by destination, then source.
class SlowPartition {
 public:
  struct Edge {
    std::int32_t src;
    std::int32_t dst;
    std::int32_t relation;
    auto operator<=>(const Edge&) const = default;
  };

  SlowPartition(int length, int k, bool slot_rule, bool causal, int clip = 1000)
      : k_(k), slot_(slot_rule), clip_(clip) {
    sizes_.push_back(length);
    while (sizes_.back() > 1) sizes_.push_back((sizes_.back() + 1) / 2);
    firsts_.push_back(0);
    for (const int size : sizes_) firsts_.push_back(firsts_.back() + size);
    for (int token = 0; token < length; ++token) {
      const std::size_t row = edges_.size();
      add(0, token, token, relation(0, 0));
      walk_left(token);
      if (!causal) walk_right(token);
      std::sort(edges_.begin() + static_cast<std::ptrdiff_t>(row), edges_.end());
    }
    for (int level = 1; level < levels(); ++level) {
      for (int span = 0; span < size(level); ++span) {
        for (int token = span << level; token < length && token >> level == span; ++token) {
          edges_.push_back({token, id(level, span), relation(level, 0)});
        }
      }
    }
  }

  const std::vector<Edge>& edges() const { return edges_; }
  int levels() const { return static_cast<int>(sizes_.size()); }
  int num_nodes() const { return id(levels() - 1, 0) + 1; }

 private:
  int id(int level, int index) const { return firsts_[static_cast<std::size_t>(level)] + index; }
  int size(int level) const { return level < levels() ? sizes_[static_cast<std::size_t>(level)] : 0; }
  int relation(int level, int which) const {
    const int places = slot_ ? k_ : k_ + 1;
    return (2 * places + 1) * std::min(level, clip_) + which;
  }
  void add(int level, int index, int token, int relation_id) {
    edges_.push_back({id(level, index), token, relation_id});
  }

  void walk_right(int token) {
    int level = 0;
    int p = token + 1;
    int used = 0;
    while (p < size(level)) {
      for (int j = used; j < k_; ++j, ++p) {
        if (p < size(level)) add(level, p, token, relation(level, 2 * j + 2));
      }
      used = 0;
      if (p % 2 == 1) {
        const bool exists = p < size(level);
        if (slot_) {
          if (exists) add(level, p, token, relation(level + 1, 2));
          used = 1;
        } else if (exists) {
          add(level, p, token, relation(level, 2 * k_ + 2));
        }
        ++p;
      }
      p /= 2;
      ++level;
    }
  }

  void walk_left(int token) {
    int level = 0;
    int p = token - 1;
    int used = 0;
    while (p >= 0) {
      for (int j = used; j < k_; ++j, --p) {
        if (p >= 0) add(level, p, token, relation(level, 2 * j + 1));
      }
      used = 0;
      if (p < 0) return;
      if (p % 2 == 0) {
        if (slot_) {
          add(level, p, token, relation(level + 1, 1));
          used = 1;
        } else {
          add(level, p, token, relation(level, 2 * k_ + 1));
        }
        --p;
      }
      if (p < 0) return;
      p /= 2;
      ++level;
    }
  }

  int k_;
  bool slot_;
  int clip_;
  std::vector<int> sizes_;
  std::vector<int> firsts_;
  std::vector<Edge> edges_;
};

constexpr int densities[] = {1, 2, 3, 4, 8, 16, 64};

json specification(int k, bool slot_rule) {
  return {{"kind", "bpt"}, {"k", k}, {"alignment", slot_rule ? "slot" : "pair"}};
}

/// Calls f(k, slot_rule, causal, generator) for every combination.
template <typename F>
void for_each_variant(const F& f) {
  for (const int k : densities) {
    for (const bool slot_rule : {false, true}) {
      const auto generator = generators().make(specification(k, slot_rule));
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(testing::Message() << "k " << k << (slot_rule ? " slot" : " pair") << (causal ? " causal" : ""));
        f(k, slot_rule, causal, *generator);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

void expect_same_as_definition(const AttentionGraph& graph, int length, int k, bool slot_rule, bool causal) {
  const SlowPartition slow(length, k, slot_rule, causal);
  const CooView edges = graph.graph.coo();
  ASSERT_EQ(graph.graph.num_nodes(), slow.num_nodes());
  ASSERT_EQ(edges.src.size(), slow.edges().size());
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    const SlowPartition::Edge edge{edges.src[e], edges.dst[e], graph.graph.edge_types()[e]};
    ASSERT_EQ(edge, slow.edges()[e]) << "edge " << e << ": " << edge.src << "->" << edge.dst << " relation "
                                     << edge.relation;
  }
}

/// What a token attends to is disjoint and covers exactly the tokens it may know.
void expect_partition(const AttentionGraph& graph, bool causal) {
  const CscView rows = graph.graph.csc();
  const auto length = static_cast<std::int32_t>(graph.tokens.size());
  for (std::int32_t token = 0; token < length; ++token) {
    std::vector<TokenRange> ranges;
    for (auto e = rows.offsets[static_cast<std::size_t>(token)]; e < rows.offsets[static_cast<std::size_t>(token) + 1];
         ++e) {
      ranges.push_back(graph.covers[static_cast<std::size_t>(rows.indices[static_cast<std::size_t>(e)])]);
    }
    std::ranges::sort(ranges, {}, &TokenRange::begin);
    std::int32_t covered = 0;
    for (const TokenRange& range : ranges) {
      ASSERT_EQ(range.begin, covered) << "token " << token;
      covered = range.end;
    }
    ASSERT_EQ(covered, causal ? token + 1 : length) << "token " << token;
  }
}

void expect_distance_at_most_two(const AttentionGraph& graph) {
  const CooView edges = graph.graph.coo();
  std::vector<TokenSet> one(static_cast<std::size_t>(graph.graph.num_nodes()));
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    const auto src = static_cast<std::size_t>(edges.src[e]);
    if (src < graph.tokens.size()) one[static_cast<std::size_t>(edges.dst[e])].set(src);
  }
  std::vector<TokenSet> two = one;
  for (std::size_t e = 0; e < edges.src.size(); ++e) {
    two[static_cast<std::size_t>(edges.dst[e])] |= one[static_cast<std::size_t>(edges.src[e])];
  }
  for (std::size_t token = 0; token < graph.tokens.size(); ++token) {
    ASSERT_EQ(two[token].count(), graph.tokens.size()) << "token " << token;
  }
}

TEST(BinaryPartition, HasTheEdgeCountsOfTheSpecification) {
  const auto edges = [](int n, int k) { return test::build(specification(k, true), n, true).graph.num_edges(); };
  EXPECT_EQ(edges(2048, 1), 45057);
  EXPECT_EQ(edges(2048, 4), 87173);
  EXPECT_EQ(edges(2048, 64), 510718);
  EXPECT_EQ(edges(8192, 1), 212993);
  EXPECT_EQ(edges(8192, 4), 430237);
  EXPECT_EQ(edges(8192, 64), 3036767);
}

TEST(BinaryPartition, GivesTheExampleOfTheSpecification) {
  std::vector<NamedEdge> expected = {
      {0, 0, "self"},   {0, 1, "left(0,0)"}, {1, 1, "self"},   {0, 2, "left(1,0)"}, {1, 2, "left(0,0)"},
      {2, 2, "self"},   {2, 3, "left(0,0)"}, {3, 3, "self"},   {4, 3, "left(1,0)"}, {0, 4, "anc(1)"},
      {1, 4, "anc(1)"}, {2, 5, "anc(1)"},    {3, 5, "anc(1)"}, {0, 6, "anc(2)"},    {1, 6, "anc(2)"},
      {2, 6, "anc(2)"}, {3, 6, "anc(2)"},
  };
  EXPECT_EQ(test::named_edges(test::build(specification(1, true), 4, true)), expected);
  expected[3].relation = "left(0,1)";
  EXPECT_EQ(test::named_edges(test::build(specification(1, false), 4, true)), expected);
}

TEST(BinaryPartition, NumbersRelationsAsTheSpecificationSays) {
  const AttentionGraph slot = test::build(specification(3, true), 64, false);
  const AttentionGraph pair = test::build(specification(3, false), 64, false);
  EXPECT_EQ(slot.relations[0], "self");
  EXPECT_EQ(slot.relations[7 * 2], "anc(2)");
  EXPECT_EQ(slot.relations[7 * 2 + 2 * 1 + 1], "left(2,1)");
  EXPECT_EQ(slot.relations[7 * 2 + 2 * 1 + 2], "right(2,1)");
  EXPECT_EQ(pair.relations[9 * 2 + 2 * 3 + 2], "right(2,3)");
  EXPECT_EQ(slot.graph.num_edge_types(), 7 * 7);
  EXPECT_EQ(pair.graph.num_edge_types(), 9 * 7);
}

TEST(BinaryPartition, NodesAreTokensThenLevelsAndTheRootLast) {
  const AttentionGraph graph = test::build(specification(1, false), 5, false);
  EXPECT_EQ(graph.levels, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3}));
  EXPECT_EQ(graph.root, 10);
  EXPECT_EQ(graph.readout, std::vector<std::int32_t>{10});
  EXPECT_EQ(graph.covers[7], (TokenRange{4, 5}));
  EXPECT_EQ(graph.covers[8], (TokenRange{0, 4}));
  EXPECT_EQ(graph.covers[9], (TokenRange{4, 5}));
  EXPECT_EQ(graph.covers[10], (TokenRange{0, 5}));
  EXPECT_EQ(graph.kinds[4], NodeKind::token);
  EXPECT_EQ(graph.kinds[5], NodeKind::span);
}

TEST(BinaryPartition, OneTokenIsItsOwnRoot) {
  const AttentionGraph graph = test::build(specification(4, false), 1, true);
  EXPECT_EQ(graph.root, 0);
  EXPECT_EQ(test::named_edges(graph), (std::vector<NamedEdge>{{0, 0, "self"}}));
}

// One test, so that the 8400 graphs are built once.
TEST(BinaryPartition, EqualsTheDefinitionAndKeepsTheInvariantsForEveryLengthUpTo300) {
  for_each_variant([](int k, bool slot_rule, bool causal, const GraphGenerator& generator) {
    for (int n = 1; n <= 300; ++n) {
      SCOPED_TRACE(testing::Message() << "n " << n);
      const AttentionGraph graph = generator.build({.length = n, .causal = causal});
      ASSERT_EQ(graph.graph.num_edge_types(), generator.num_relations(n));
      expect_same_as_definition(graph, n, k, slot_rule, causal);
      expect_partition(graph, causal);
      if (!causal) expect_distance_at_most_two(graph);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(BinaryPartition, EqualsTheDefinitionForRandomLargerLengths) {
  const RandomStream random{17};
  std::uint64_t draw = 0;
  for_each_variant([&](int k, bool slot_rule, bool causal, const GraphGenerator& generator) {
    const int n = 301 + static_cast<int>(random(draw++) % 5000);
    SCOPED_TRACE(testing::Message() << "n " << n);
    const AttentionGraph graph = generator.build({.length = n, .causal = causal});
    expect_same_as_definition(graph, n, k, slot_rule, causal);
    expect_partition(graph, causal);
  });
}

TEST(BinaryPartition, NoTokenDependsOnALaterOneThroughAnyNumberOfLayers) {
  for_each_variant([](int, bool, bool causal, const GraphGenerator& generator) {
    if (!causal) return;
    for (int n = 1; n <= 300; n += n < 70 ? 1 : 23) {
      SCOPED_TRACE(testing::Message() << "n " << n);
      test::expect_causal(generator.build({.length = n, .causal = true}));
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(BinaryPartition, LargeDensityGivesTheFullGraphOnTokens) {
  for (const bool slot_rule : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const int n : {1, 2, 7, 64}) {
        const AttentionGraph graph = test::build(specification(n, slot_rule), n, causal);
        for (std::int32_t token = 0; token < n; ++token) {
          std::vector<std::int32_t> all(static_cast<std::size_t>(causal ? token + 1 : n));
          std::iota(all.begin(), all.end(), 0);
          EXPECT_EQ(test::sources_of(graph.graph, token), all);
        }
      }
    }
  }
}

TEST(BinaryPartition, EdgesGrowAsLengthTimesItsLogarithm) {
  for (const int k : {1, 4, 16}) {
    const auto generator = generators().make(specification(k, false));
    for (const int n : {1000, 16000}) {
      const double bound = n * (2.0 * (k + 1) * (std::log2(n / k) + 2) + std::log2(n) + 2);
      EXPECT_LE(static_cast<double>(generator->build({.length = n}).graph.num_edges()), bound);
    }
  }
}

TEST(BinaryPartition, ClippedLevelsShareTheRelationsOfTheClipLevel) {
  json clipped = specification(2, true);
  clipped["clip_levels"] = 3;
  const auto generator = generators().make(clipped);
  EXPECT_EQ(generator->num_relations(8), 5 * 4);
  EXPECT_EQ(generator->num_relations(4), 5 * 3);
  EXPECT_EQ(generator->num_relations(100000), 5 * 4);
  const AttentionGraph graph = generator->build({.length = 200});
  const SlowPartition slow(200, 2, true, false, 3);
  ASSERT_EQ(graph.graph.num_edges(), static_cast<std::int64_t>(slow.edges().size()));
  for (std::size_t e = 0; e < slow.edges().size(); ++e) {
    ASSERT_EQ(graph.graph.edge_types()[e], slow.edges()[e].relation);
  }
}

TEST(BinaryPartition, IsTheSameForOneTwoAndSevenThreads) {
  const auto generator = generators().make(specification(4, true));
  const auto build = [&](int threads) {
    const test::ThreadCount scope(threads);
    return generator->build({.length = 20000, .causal = true});
  };
  const AttentionGraph one = build(1);
  for (const int threads : {2, 7}) {
    const AttentionGraph other = build(threads);
    EXPECT_TRUE(std::ranges::equal(one.graph.coo().src, other.graph.coo().src));
    EXPECT_TRUE(std::ranges::equal(one.graph.coo().dst, other.graph.coo().dst));
    EXPECT_TRUE(std::ranges::equal(one.graph.edge_types(), other.graph.edge_types()));
  }
}

TEST(BinaryPartition, RefusesWhatCannotBeBuilt) {
  EXPECT_THROW(generators().make("bpt", {{"k", 0}}), ConfigError);
  EXPECT_THROW(generators().make("bpt", {{"alignment", "pears"}}), ConfigError);
  const auto generator = generators().make("bpt");
  EXPECT_THROW(generator->build({.length = 0}), GraphError);
  EXPECT_THROW(generator->build({.length = -5}), GraphError);
  EXPECT_THROW(generator->build({.length = 3'000'000'000}), GraphError);
  EXPECT_THROW(generators().make("bpt", {{"k", 65536}})->build({.length = 200'000}), GraphError);
}

TEST(BinaryPartition, ArityTwoIsTheSameAsKary) {
  for (const int n : {1, 2, 3, 17, 100}) {
    for (const bool causal : {false, true}) {
      const AttentionGraph binary = test::build(specification(3, false), n, causal);
      const AttentionGraph kary = test::build({{"kind", "kary"}, {"arity", 2}, {"k", 3}}, n, causal);
      EXPECT_EQ(test::named_edges(binary), test::named_edges(kary));
      EXPECT_EQ(binary.relations, kary.relations);
    }
  }
}

}  // namespace
}  // namespace bough
