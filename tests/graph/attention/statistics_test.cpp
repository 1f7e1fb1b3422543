#include "bough/graph/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/batch.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using nlohmann::json;

/// Shortest paths by relaxing every edge until nothing changes.
TokenDistances slow_distances(const AttentionGraph& graph) {
  constexpr std::int64_t far = 1'000'000;
  TokenDistances result{.first_tokens = graph.num_tokens()};
  for (std::size_t start = 0; start < graph.tokens.size(); ++start) {
    std::vector<std::int64_t> distance(static_cast<std::size_t>(graph.graph.num_nodes()), far);
    distance[static_cast<std::size_t>(graph.tokens[start])] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t e = 0; e < graph.graph.coo().src.size(); ++e) {
        const std::int64_t through = distance[static_cast<std::size_t>(graph.graph.coo().src[e])] + 1;
        std::int64_t& to = distance[static_cast<std::size_t>(graph.graph.coo().dst[e])];
        if (through < to) {
          to = through;
          changed = true;
        }
      }
    }
    for (std::size_t end = graph.causal ? start : 0; end < graph.tokens.size(); ++end) {
      const std::int64_t steps = distance[static_cast<std::size_t>(graph.tokens[end])];
      if (steps == far) result.all_connected = false;
      if (steps < far) result.longest = std::max(result.longest, steps);
    }
  }
  return result;
}

TEST(TokenDistances, AreThoseOfTheObviousSearch) {
  for (const json& specification :
       {json{{"kind", "bpt"}, {"k", 1}}, json{{"kind", "window"}, {"width", 2}}, json{{"kind", "blocks"}, {"size", 7}},
        json{{"kind", "dilated"}, {"width", 1}, {"dilation", 3}}, json{{"kind", "logsparse"}},
        json{{"kind", "hierarchical"}, {"size", 5}, {"feedback", true}}, json{{"kind", "expander"}, {"degree", 3}}}) {
    for (const bool causal : {false, true}) {
      for (const int n : {1, 2, 30, 70, 300}) {
        if (n == 300 && specification["kind"] != "bpt" && specification["kind"] != "blocks") continue;  // slow
        SCOPED_TRACE(testing::Message() << specification << " n " << n << " causal " << causal);
        const AttentionGraph graph = test::build(specification, n, causal);
        const TokenDistances quick = token_distances(graph);
        const TokenDistances slow = slow_distances(graph);
        EXPECT_EQ(quick.longest, slow.longest);
        EXPECT_EQ(quick.all_connected, slow.all_connected);
        EXPECT_EQ(quick.first_tokens, n);
        EXPECT_TRUE(quick.exact);
      }
    }
  }
}

TEST(TokenDistances, FollowTokensOnTheSourceSide) {
  EXPECT_EQ(token_distances(test::build({{"kind", "memory"}}, 20, true)).longest, 1);
  EXPECT_TRUE(token_distances(test::build({{"kind", "memory"}}, 20, true)).all_connected);
  EXPECT_FALSE(token_distances(test::build({{"kind", "cross"}}, 20, true)).all_connected);
  EXPECT_EQ(token_distances(test::build({{"kind", "star"}}, 20, false)).longest, 2);
}

TEST(TokenDistances, StopWhenTheWorkIsSpentAndSaySo) {
  const AttentionGraph graph = test::build({{"kind", "window"}, {"width", 1}}, 5000, false);
  const TokenDistances some = token_distances(graph, 100'000);
  EXPECT_FALSE(some.exact);
  EXPECT_LT(some.first_tokens, 5000);
  EXPECT_LE(some.longest, 4999);
  EXPECT_TRUE(some.all_connected);
  EXPECT_EQ(token_distances(test::build({{"kind", "bpt"}}, 5000, false), 10'000'000).longest, 2);
}

TEST(TokenDegrees, AreMeanLeastAndMost) {
  const DegreeRange range = token_degrees(test::build({{"kind", "full"}}, 4, true));
  EXPECT_DOUBLE_EQ(range.mean, 2.5);
  EXPECT_EQ(range.least, 1);
  EXPECT_EQ(range.most, 4);
  EXPECT_DOUBLE_EQ(attention_degree(test::build({{"kind", "bpt"}, {"k", 1}}, 4, true)), 9 / 4.0);
}

TEST(TokenDegrees, RefuseTokensThatAreNoNodesAndPartsThatDoNotFit) {
  AttentionGraph graph = test::build({{"kind", "full"}}, 4, true);
  graph.tokens = {0, 1, 2, 400};
  EXPECT_THROW(attention_degree(graph), GraphError);
  EXPECT_THROW(token_degrees(graph), GraphError);
  EXPECT_THROW(token_distances(graph), GraphError);
  graph.tokens = {0, 1, 2, 3};
  graph.covers.clear();
  const std::array<AttentionGraph, 2> graphs{graph, graph};
  EXPECT_THROW(batch(graphs), GraphError);
}

}  // namespace
}  // namespace bough
