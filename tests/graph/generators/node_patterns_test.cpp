// Patterns with further nodes beside the tokens, or sources of their own: star, hierarchical, kary, memory, cross.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "tests/graph/generators/edge_list.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Names = std::vector<std::string>;
using Nodes = std::vector<std::int32_t>;
using Rows = std::vector<Nodes>;

TEST(Star, SatellitesSeeTheRingTheRelayAndTheirInputThenTheRelaySeesThem) {
  const AttentionGraph graph = test::build({{"kind", "star"}}, 4, false);  // relay 4, inputs 5..8
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(test::rows_of(graph.stages[0]),
            (Rows{{0, 1, 3, 4, 5}, {0, 1, 2, 4, 6}, {1, 2, 3, 4, 7}, {0, 2, 3, 4, 8}, {}, {}, {}, {}, {}}));
  EXPECT_EQ(test::rows_of(graph.stages[1]), (Rows{{}, {}, {}, {}, {0, 1, 2, 3, 4}, {}, {}, {}, {}}));
  EXPECT_EQ(graph.graph.num_edges(), 25);
  EXPECT_EQ(test::relations_of(graph, 0), (Names{"self", "right", "left", "relay", "input"}));
  EXPECT_EQ(test::relations_of(graph, 4), (Names{"satellite", "satellite", "satellite", "satellite", "relay self"}));
  EXPECT_EQ(graph.root, 4);
  EXPECT_EQ(graph.kinds[4], NodeKind::relay);
  EXPECT_EQ(graph.kinds[5], NodeKind::input);
  EXPECT_EQ(graph.covers[6], (TokenRange{1, 2}));
}

TEST(Star, RingsOfOneAndTwoHaveNoDoubleNeighbours) {
  EXPECT_EQ(test::sources_of(test::build({{"kind", "star"}}, 1, false).graph, 0), (Nodes{0, 1, 2}));
  EXPECT_EQ(test::sources_of(test::build({{"kind", "star"}}, 2, false).graph, 1), (Nodes{0, 1, 2, 4}));
}

TEST(Star, SaysThatItHasNoCausalForm) {
  try {
    generators().make("star")->build({.length = 4, .causal = true});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[star] has no causal form"));
  }
}

TEST(Hierarchical, TokensWithinBlocksThenBlocksAmongEachOther) {
  const json blocks = {{"kind", "hierarchical"}, {"size", 2}};
  const AttentionGraph graph = test::build(blocks, 5, false);  // blocks 5, 6, 7
  EXPECT_EQ(test::rows_of(graph.graph),
            (Rows{{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4}, {0, 1, 5, 6, 7}, {2, 3, 5, 6, 7}, {4, 5, 6, 7}}));
  EXPECT_EQ(test::relations_of(graph, 6), (Names{"member", "member", "block left(1)", "block self", "block right(1)"}));
  EXPECT_EQ(graph.readout, (Nodes{5, 6, 7}));
  EXPECT_EQ(graph.levels, (Nodes{0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(test::rows_of(test::build(blocks, 5, true).graph),
            (Rows{{0}, {0, 1}, {2}, {2, 3}, {4}, {0, 1, 5}, {2, 3, 5, 6}, {4, 5, 6, 7}}));
}

/// Sentences of 2, 3 and 1 tokens, one of none among them.
AttentionGraph sentences(const std::string& reads, bool causal) {
  return generators()
      .make({{"kind", "sentences"}, {"reads", reads}})
      ->build({.length = 6, .causal = causal, .sentences = {2, 0, 3, 1}});
}

TEST(Sentences, TokensSeeTheNodesOfEarlierOnes) {
  const AttentionGraph graph = sentences("nodes", false);  // nodes 6, 7, 8
  EXPECT_EQ(test::rows_of(graph.graph),
            (Rows{{0, 1}, {0, 1}, {2, 3, 4, 6}, {2, 3, 4, 6}, {2, 3, 4, 6}, {5, 6, 7}, {0, 1}, {2, 3, 4}, {5}}));
  EXPECT_EQ(test::relations_of(graph, 3), (Names{"left(1)", "self", "right(1)", "sentence left(1)"}));
  EXPECT_EQ(test::relations_of(graph, 5), (Names{"self", "sentence left(2)", "sentence left(1)"}));
  EXPECT_EQ(test::relations_of(graph, 7), (Names{"member", "member", "member"}));
  EXPECT_EQ(graph.readout, (Nodes{6, 7, 8}));
  EXPECT_EQ(test::rows_of(sentences("nodes", true).graph),
            (Rows{{0}, {0, 1}, {2, 6}, {2, 3, 6}, {2, 3, 4, 6}, {5, 6, 7}, {0, 1}, {2, 3, 4}, {5}}));
}

TEST(Sentences, TokensSeeAllTokensOfEarlierOnesOrNone) {
  EXPECT_EQ(test::rows_of(sentences("tokens", true).graph),
            (Rows{{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(test::relations_of(sentences("tokens", false), 3), (Names{"past", "past", "left(1)", "self", "right(1)"}));
  EXPECT_EQ(test::rows_of(sentences("nothing", false).graph),
            (Rows{{0, 1}, {0, 1}, {2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {5}}));
}

TEST(Sentences, HaveASizeWhereTheTaskDoesNotSayWhichTheyAre) {
  const json twos = {{"kind", "sentences"}, {"reads", "nothing"}, {"size", 2}};
  EXPECT_EQ(test::rows_of(test::build(twos, 5, true).graph), (Rows{{0}, {0, 1}, {2}, {2, 3}, {4}}));
  const auto error_of = [](std::vector<std::int64_t> lengths) -> std::string {
    try {
      generators().make("sentences")->build({.length = 6, .sentences = std::move(lengths)});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of({2, 3}), HasSubstr("have 5 tokens in all, but the sequence has 6"));
  EXPECT_THAT(error_of({-1, 7}), HasSubstr("-1 tokens"));
}

TEST(Hierarchical, FeedbackLetsTokensSeeBlocks) {
  const json blocks = {{"kind", "hierarchical"}, {"size", 2}, {"feedback", true}};
  EXPECT_EQ(test::sources_of(test::build(blocks, 5, false).graph, 2), (Nodes{2, 3, 5, 6, 7}));
  EXPECT_EQ(test::relations_of(test::build(blocks, 5, false), 2),
            (Names{"self", "right(1)", "block before", "own block", "block after"}));
  EXPECT_EQ(test::sources_of(test::build(blocks, 5, true).graph, 3), (Nodes{2, 3, 5}));
}

TEST(Kary, GroupsOfThree) {
  const AttentionGraph graph =
      test::build({{"kind", "kary"}, {"arity", 3}, {"k", 1}}, 9, true);  // spans 9..11, root 12
  EXPECT_EQ(graph.covers[10], (TokenRange{3, 6}));
  EXPECT_EQ(graph.root, 12);
  EXPECT_EQ(test::sources_of(graph.graph, 2), (Nodes{0, 1, 2}));
  EXPECT_EQ(test::sources_of(graph.graph, 3), (Nodes{0, 1, 2, 3}));
  EXPECT_EQ(test::relations_of(graph, 3), (Names{"left(0,2)", "left(0,1)", "left(0,0)", "self"}));
  EXPECT_EQ(test::sources_of(graph.graph, 4), (Nodes{3, 4, 9}));
  EXPECT_EQ(test::relations_of(graph, 4), (Names{"left(0,0)", "self", "left(1,0)"}));
  EXPECT_EQ(test::sources_of(graph.graph, 8), (Nodes{6, 7, 8, 9, 10}));
  EXPECT_EQ(test::sources_of(graph.graph, 12), (Nodes{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Kary, WhatATokenAttendsToIsDisjointAndCoversEverything) {
  for (const int arity : {2, 3, 5}) {
    for (const int k : {1, 2, 7}) {
      for (int n = 1; n <= 120; ++n) {
        const AttentionGraph graph = test::build({{"kind", "kary"}, {"arity", arity}, {"k", k}}, n, false);
        for (std::int32_t token = 0; token < n; ++token) {
          std::vector<TokenRange> ranges;
          for (const std::int32_t source : test::sources_of(graph.graph, token)) {
            ranges.push_back(graph.covers[static_cast<std::size_t>(source)]);
          }
          std::ranges::sort(ranges, {}, &TokenRange::begin);
          std::int32_t covered = 0;
          for (const TokenRange& range : ranges) ASSERT_EQ(std::exchange(covered, range.end), range.begin);
          ASSERT_EQ(covered, n);
        }
      }
    }
  }
}

TEST(Memory, SourcesAreTheCachedTokensThenTheSegment) {
  const AttentionGraph graph = test::build({{"kind", "memory"}, {"length", 2}}, 3, true);
  EXPECT_TRUE(graph.graph.is_bipartite());
  EXPECT_EQ(graph.graph.num_src(), 5);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}}));
  EXPECT_EQ(test::relations_of(graph, 1), (Names{"left(3)", "left(2)", "left(1)", "self"}));
  EXPECT_EQ(graph.source_kinds[1], NodeKind::memory);
  EXPECT_EQ(graph.source_kinds[2], NodeKind::token);
  EXPECT_EQ(graph.source_covers[0], (TokenRange{-2, -1}));
  EXPECT_EQ(graph.source_covers[4], (TokenRange{2, 3}));
  EXPECT_EQ(test::sources_of(test::build({{"kind", "memory"}, {"length", 1}}, 3, false).graph, 0), (Nodes{0, 1, 2, 3}));
}

TEST(Memory, IsAsLongAsTheSegmentUnlessTold) {
  EXPECT_EQ(test::build({{"kind", "memory"}}, 6, true).graph.num_src(), 12);
  const GraphRequest request = read_graph_request({{"kind", "memory"}, {"memory_length", 4}, {"length", 6}});
  EXPECT_EQ(request.build().graph.num_src(), 10);
  EXPECT_THROW(generators().make("memory", {{"length", 4}, {"memory_length", 5}}), ConfigError);
}

TEST(Memory, ReadsNoMoreThanThereIs) {
  const auto generator = generators().make("memory", {{"length", 4}});
  const auto sources = [&](std::optional<std::int64_t> past) {
    return generator->build({.length = 3, .causal = true, .past = past}).graph.num_src();
  };
  EXPECT_EQ(sources({}), 7);
  EXPECT_EQ(sources(2), 5);
  EXPECT_EQ(sources(0), 3);
  EXPECT_EQ(sources(9), 7);
  EXPECT_THROW(sources(-1), GraphError);
  const std::vector<BuildOptions> different{{.length = 3, .past = 0}, {.length = 3, .past = 2}};
  EXPECT_EQ(build_batch(*generator, different).graph.num_src(), 3 + 5);
}

TEST(Cross, TokensSeeTheAlignedSentence) {
  const AttentionGraph graph =
      test::build({{"kind", "cross"}, {"sentences", {2, 1}}, {"source_sentences", {1, 3}}}, 3, true);
  EXPECT_EQ(graph.graph.num_src(), 4);
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0}, {0}, {1, 2, 3}}));
  EXPECT_EQ(graph.source_kinds[0], NodeKind::source);
}

TEST(Cross, TakesSentencesFromTheOptions) {
  const auto cross = generators().make("cross");
  const AttentionGraph graph = cross->build({.length = 3, .sentences = {1, 2}, .source_sentences = {2, 2}});
  EXPECT_EQ(test::rows_of(graph.graph), (Rows{{0, 1}, {2, 3}, {2, 3}}));
  EXPECT_EQ(test::rows_of(cross->build({.length = 2}).graph), (Rows{{0, 1}, {0, 1}}));
  EXPECT_EQ(test::rows_of(cross->build({.length = 2, .sentences = {1, 1}, .source_sentences = {0, 1}}).graph),
            (Rows{{}, {0}}));
}

TEST(Cross, RefusesSentencesThatDoNotFit) {
  const auto cross = generators().make("cross");
  EXPECT_THROW(cross->build({.length = 3, .sentences = {1, 1}}), ConfigError);
  EXPECT_THROW(cross->build({.length = 3, .sentences = {1, 2}, .source_sentences = {3}}), ConfigError);
  EXPECT_THROW(cross->build({.length = 3, .source_sentences = {-3}}), ConfigError);
  EXPECT_THROW(generators().make("cross", {{"sentences", {1, -2}}}), ConfigError);
}

}  // namespace
}  // namespace bough
