// Patterns whose edges follow from the distance alone: full, window, blocks, chain, dilated, logsparse, adaptive_span.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using Rows = std::vector<std::vector<std::int32_t>>;
using Names = std::vector<std::string>;

TEST(Full, EveryTokenSeesEveryToken) {
  const AttentionGraph graph = test::build({{"kind", "full"}, {"max_distance", 2}}, 4, false);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_EQ(test::relations_of(graph, 0), (Names{"self", "right(1)", "right(2)", "right(2)"}));
  EXPECT_EQ(test::relations_of(graph, 3), (Names{"left(2)", "left(2)", "left(1)", "self"}));
  EXPECT_EQ(graph.relations, (Names{"self", "left(1)", "right(1)", "left(2)", "right(2)"}));
  EXPECT_EQ(graph.root, -1);
  EXPECT_EQ(graph.readout, graph.tokens);
}

TEST(Full, CausalTokensSeeThemselvesAndTheOnesBefore) {
  const AttentionGraph graph = test::build({{"kind", "full"}}, 3, true);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0}, {0, 1}, {0, 1, 2}}));
  EXPECT_EQ(test::relations_of(graph, 2), (Names{"left(2)", "left(1)", "self"}));
}

TEST(Full, DistanceZeroMakesOneRelation) {
  const AttentionGraph graph = test::build({{"kind", "full"}, {"max_distance", 0}}, 3, false);
  EXPECT_EQ(graph.relations, Names{"self"});
}

TEST(Full, ThatWouldNotFitIsRefusedQuickly) {
  EXPECT_THROW(generators().make("full")->build({.length = 1'000'000}), GraphError);
}

TEST(Window, ReachesWidthTokensOnEachSide) {
  const AttentionGraph graph = test::build({{"kind", "window"}, {"width", 1}}, 4, false);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}}));
  EXPECT_EQ(test::relations_of(graph, 1), (Names{"left(1)", "self", "right(1)"}));
  EXPECT_EQ(test::rows_of(test::build({{"kind", "window"}, {"width", 2}}, 4, true).graph),
            (Rows{{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}}));
  EXPECT_EQ(test::rows_of(test::build({{"kind", "window"}, {"width", 0}}, 2, false).graph), (Rows{{0}, {1}}));
  EXPECT_THROW(generators().make("window", {{"width", -1}}), ConfigError);
}

TEST(Blocks, TokensSeeTheirOwnBlock) {
  const nlohmann::json blocks = {{"kind", "blocks"}, {"size", 2}};
  EXPECT_EQ(test::rows_of(test::build(blocks, 5, false).graph), (Rows{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4}}));
  EXPECT_EQ(test::rows_of(test::build(blocks, 5, true).graph), (Rows{{0}, {0, 1}, {2}, {2, 3}, {4}}));
  EXPECT_EQ(test::relations_of(test::build(blocks, 5, false), 2), (Names{"self", "right(1)"}));
}

TEST(Chain, LeadsFromEachTokenToTheNextCausalOrNot) {
  for (const bool causal : {true, false}) {
    const AttentionGraph graph = test::build({{"kind", "chain"}}, 4, causal);
    EXPECT_EQ(test::rows_of(graph.graph), (Rows{{}, {0}, {1}, {2}}));
    EXPECT_EQ(graph.relations, Names{"left(1)"});
    EXPECT_EQ(graph.root, -1);
    EXPECT_EQ(graph.readout, graph.tokens);
  }
  EXPECT_EQ(test::build({{"kind", "chain"}}, 1, true).graph.num_edges(), 0);
}

TEST(Chain, SkipsTokens) {
  const AttentionGraph graph = test::build({{"kind", "chain"}, {"skip", 2}}, 5, true);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{}, {}, {0}, {1}, {2}}));
  EXPECT_EQ(test::relations_of(graph, 4), Names{"left(2)"});
  EXPECT_EQ(test::build({{"kind", "chain"}, {"skip", 9}}, 5, true).graph.num_edges(), 0);
  EXPECT_THROW(generators().make("chain", {{"skip", 0}}), ConfigError);
}

TEST(Dilated, SeesEveryDilationthToken) {
  const nlohmann::json dilated = {{"kind", "dilated"}, {"width", 2}, {"dilation", 2}};
  const AttentionGraph graph = test::build(dilated, 7, false);
  EXPECT_EQ(test::rows_of(graph.graph),
            (Rows{{0, 2, 4}, {1, 3, 5}, {0, 2, 4, 6}, {1, 3, 5}, {0, 2, 4, 6}, {1, 3, 5}, {2, 4, 6}}));
  EXPECT_EQ(test::relations_of(graph, 2), (Names{"left(1)", "self", "right(1)", "right(2)"}));
  EXPECT_EQ(test::rows_of(test::build(dilated, 6, true).graph), (Rows{{0}, {1}, {0, 2}, {1, 3}, {0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(test::rows_of(test::build({{"kind", "dilated"}, {"width", 1}, {"dilation", 1}}, 3, false).graph),
            (Rows{{0, 1}, {0, 1, 2}, {1, 2}}));
}

TEST(LogSparse, SeesTokensAtPowersOfTwo) {
  const AttentionGraph causal = test::build({{"kind", "logsparse"}}, 10, true);
  EXPECT_EQ(test::sources_of(causal.graph, 0), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(test::sources_of(causal.graph, 3), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(test::sources_of(causal.graph, 9), (std::vector<std::int32_t>{1, 5, 7, 8, 9}));
  EXPECT_EQ(test::relations_of(causal, 9), (Names{"left(4)", "left(3)", "left(2)", "left(1)", "self"}));
  const AttentionGraph both = test::build({{"kind", "logsparse"}}, 6, false);
  EXPECT_EQ(test::sources_of(both.graph, 2), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(test::relations_of(both, 1), (Names{"left(1)", "self", "right(1)", "right(2)", "right(3)"}));
}

TEST(AdaptiveSpan, IsAWindowThatSaysHowItsHeadsLearn) {
  const AttentionGraph graph = test::build({{"kind", "adaptive_span"}, {"max_span", 1}, {"ramp", 3}}, 3, true);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0}, {0, 1}, {1, 2}}));
  EXPECT_EQ(graph.soft_span, (SoftSpan{.max_span = 1, .ramp = 3}));
  EXPECT_FALSE(test::build({{"kind", "window"}}, 3, true).soft_span);
}

}  // namespace
}  // namespace bough
