#include "bough/graph/combinators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bough/core/errors.h"
#include "tests/graph/generators/edge_list.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using nlohmann::json;
using test::NamedEdge;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Nodes = std::vector<std::int32_t>;

TEST(Union, HasTheEdgesOfAllMembersOnce) {
  const json both = {
      {"kind", "union"},
      {"of", {{{"kind", "window"}, {"width", 1}}, {{"kind", "dilated"}, {"width", 1}, {"dilation", 2}}}}};
  const AttentionGraph graph = test::build(both, 4, false);
  EXPECT_EQ(test::named_edges(graph), (std::vector<NamedEdge>{{0, 0, "window:self"},
                                                              {1, 0, "window:right(1)"},
                                                              {2, 0, "dilated:right(1)"},
                                                              {0, 1, "window:left(1)"},
                                                              {1, 1, "window:self"},
                                                              {2, 1, "window:right(1)"},
                                                              {3, 1, "dilated:right(1)"},
                                                              {0, 2, "dilated:left(1)"},
                                                              {1, 2, "window:left(1)"},
                                                              {2, 2, "window:self"},
                                                              {3, 2, "window:right(1)"},
                                                              {1, 3, "dilated:left(1)"},
                                                              {2, 3, "window:left(1)"},
                                                              {3, 3, "window:self"}}));
}

TEST(Union, SharesTokensAndKeepsOtherNodesApart) {
  const json both = {{"kind", "union"}, {"of", {{{"kind", "hierarchical"}, {"size", 2}}, {{"kind", "bpt"}, {"k", 1}}}}};
  const AttentionGraph graph = test::build(both, 4, true);  // blocks 4 and 5, spans 6 and 7, root 8
  EXPECT_EQ(graph.levels, (Nodes{0, 0, 0, 0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(graph.root, 8);
  EXPECT_EQ(graph.readout, Nodes{8});
  EXPECT_EQ(test::sources_of(graph.graph, 5), (Nodes{2, 3, 4, 5}));
  EXPECT_EQ(test::sources_of(graph.graph, 7), (Nodes{2, 3}));
  EXPECT_EQ(test::sources_of(graph.graph, 3), (Nodes{2, 3, 6}));
  EXPECT_EQ(test::relations_of(graph, 3),
            (std::vector<std::string>{"hierarchical:left(1)", "hierarchical:self", "bpt:left(1,0)"}));
}

TEST(Union, OfOneIsTheSameGraph) {
  const AttentionGraph one = test::build({{"kind", "bpt"}, {"k", 2}}, 50, true);
  const AttentionGraph united = test::build({{"kind", "union"}, {"of", {{{"kind", "bpt"}, {"k", 2}}}}}, 50, true);
  EXPECT_TRUE(std::ranges::equal(one.graph.coo().src, united.graph.coo().src));
  EXPECT_TRUE(std::ranges::equal(one.graph.edge_types(), united.graph.edge_types()));
}

TEST(Union, TellsMembersOfTheSameKindApart) {
  const AttentionGraph graph = test::build(
      {{"kind", "union"},
       {"of",
        {{{"kind", "dilated"}, {"width", 1}, {"dilation", 2}}, {{"kind", "dilated"}, {"width", 1}, {"dilation", 3}}}}},
      4, true);
  EXPECT_EQ(test::relations_of(graph, 3),
            (std::vector<std::string>{"dilated#2:left(1)", "dilated:left(1)", "dilated:self"}));
}

TEST(Union, KeepsRelationIdsForEveryLengthWhenTablesGrow) {
  const auto both = generators().make(
      {{"kind", "union"},
       {"of",
        {{{"kind", "full"}, {"max_distance", 100000}}, {{"kind", "window"}, {"width", 2}}, {{"kind", "memory"}}}}});
  EXPECT_THROW(both->build({.length = 4}), GraphError);  // memory has sources of its own
  const auto growing = generators().make({{"kind", "union"},
                                          {"of",
                                           {{{"kind", "full"}, {"max_distance", 100000}},
                                            {{"kind", "window"}, {"width", 2}},
                                            {{"kind", "dilated"}, {"width", 100000}, {"dilation", 2}}}}});
  const AttentionGraph longer = growing->build({.length = 60});
  const AttentionGraph shorter = growing->build({.length = 9});
  ASSERT_LE(shorter.relations.size(), longer.relations.size());
  for (std::size_t id = 0; id < shorter.relations.size(); ++id) {
    if (shorter.relations[id].empty()) continue;
    EXPECT_EQ(shorter.relations[id], longer.relations[id]);
  }
  EXPECT_EQ(growing->num_relations(9), shorter.graph.num_edge_types());
}

TEST(Union, RefusesMembersThatCannotBeUnited) {
  const auto error = [](const json& of) {
    try {
      test::build({{"kind", "union"}, {"of", of}}, 4, false);
    } catch (const Error& caught) {
      return std::string(caught.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error(json::array()), HasSubstr("of must be a list of at least 1"));
  EXPECT_THAT(error({"memory"}), HasSubstr("'memory' cannot be a member: its sources"));
  EXPECT_THAT(error({"star", "bpt"}), HasSubstr("its layers have several stages"));
  EXPECT_THAT(error({"adaptive_span"}), HasSubstr("learn how far"));
  EXPECT_THAT(error({{{"kind", "sparse_strided"}, {"split_heads", true}}}), HasSubstr("different graphs"));
  EXPECT_THAT(error({{{"kind", "bpt"}, {"length", 4}}}), HasSubstr("\"length\" is no parameter of a pattern"));
  EXPECT_THROW(unite({}), ConfigError);
  EXPECT_THROW(unite({{"a", nullptr}}), ConfigError);
  EXPECT_THROW(unite({{"a", generators().make("bpt")}, {"a", generators().make("full")}}), ConfigError);
  EXPECT_FALSE(generators().make({{"kind", "union"}, {"of", {"star"}}})->supports_causal());
}

TEST(Causal, RemovesWhatWouldLookAhead) {
  const AttentionGraph graph = test::build({{"kind", "causal"}, {"of", {{"kind", "window"}, {"width", 1}}}}, 3, false);
  EXPECT_TRUE(graph.causal);
  EXPECT_EQ(test::rows_of(graph.graph), (std::vector<Nodes>{{0}, {0, 1}, {1, 2}}));
}

TEST(Causal, GivesPartitionTreesTheirCausalForm) {
  for (const int n : {1, 2, 7, 32, 61}) {
    const json bpt = {{"kind", "bpt"}, {"k", 2}};
    EXPECT_EQ(test::named_edges(test::build({{"kind", "causal"}, {"of", bpt}}, n, true)),
              test::named_edges(test::build(bpt, n, true)));
  }
}

TEST(Causal, RestrictsStagesToo) {
  const AttentionGraph graph = test::build({{"kind", "causal"}, {"of", {{"kind", "star"}}}}, 3, true);
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(test::sources_of(graph.stages[0], 0), (Nodes{0, 4}));           // itself and its input
  EXPECT_EQ(test::sources_of(graph.stages[0], 2), (Nodes{0, 1, 2, 3, 6}));  // the last may depend on the relay
}

TEST(Remap, RenamesAndMergesRelations) {
  const json remapped = {{"kind", "remap"},
                         {"of", {{"kind", "window"}, {"width", 2}}},
                         {"names", {{"left", "before"}, {"right", "after"}, {"right(1)", "next"}}}};
  const AttentionGraph graph = test::build(remapped, 4, false);
  EXPECT_EQ(test::relations_of(graph, 1), (std::vector<std::string>{"before", "self", "next", "after"}));
  EXPECT_EQ(graph.relations.front(), "before");
  EXPECT_EQ(test::rows_of(graph.graph), test::rows_of(test::build({{"kind", "window"}, {"width", 2}}, 4, false).graph));
}

TEST(Remap, GivesTheRestOneName) {
  const AttentionGraph graph = test::build(
      {{"kind", "remap"}, {"of", {{"kind", "bpt"}}}, {"names", {{"self", "me"}}}, {"rest", "other"}}, 9, true);
  EXPECT_EQ(graph.relations, (std::vector<std::string>{"me", "other"}));
  EXPECT_EQ(graph.graph.num_edge_types(), 2);
}

TEST(Combinators, TakeABareNameAndSayWhereAMemberIsWrong) {
  EXPECT_EQ(test::named_edges(test::build({{"kind", "causal"}, {"of", "full"}}, 5, true)),
            test::named_edges(test::build("full", 5, true)));
  const auto message = [](const json& specification) {
    return test::error_message<ConfigError>([&] { generators().make(specification); });
  };
  const json wrong = {{"kind", "window"}, {"widht", 3}};
  EXPECT_THAT(message({{"kind", "union"}, {"of", {"bpt", wrong}}}),
              AllOf(StartsWith("[of[1]] window: unknown key \"widht\""), HasSubstr("did you mean \"width\"?")));
  EXPECT_THAT(message({{"kind", "causal"}, {"of", {{"kind", "union"}, {"of", {"bpt", wrong}}}}}),
              StartsWith("[of.of[1]] window: unknown key"));
  EXPECT_THAT(message({{"kind", "union"}, {"of", {"windov"}}}), HasSubstr("did you mean \"window\"?"));
}

TEST(Combinators, KeysOfWholeGraphsAreNotThoseOfPatterns) {
  const auto message = [](const json& specification) {
    return test::error_message<ConfigError>([&] { generators().make(specification); });
  };
  EXPECT_THAT(message({{"kind", "window"}, {"length", 64}}), HasSubstr("task.length"));
  EXPECT_THAT(message({{"kind", "window"}, {"causal", true}}), HasSubstr("belongs to the whole graph"));
  EXPECT_THAT(message({{"kind", "window"}, {"degre", 14}}),
              AllOf(HasSubstr("did you mean \"degree\"?"), HasSubstr("known keys are width, degree")));
  EXPECT_THAT(message({{"kind", "full"}, {"degre", 14}}), testing::Not(HasSubstr("\"degree\"")));
}

TEST(Remap, RefusesNamesThatAreNoText) {
  EXPECT_THROW(generators().make({{"kind", "remap"}, {"of", {{"kind", "bpt"}}}, {"names", {{"self", 3}}}}),
               ConfigError);
  EXPECT_THROW(generators().make({{"kind", "remap"}}), ConfigError);
  EXPECT_THROW(remap_relations(nullptr, {}), ConfigError);
  EXPECT_THROW(restrict_to_past(nullptr), ConfigError);
}

}  // namespace
}  // namespace bough
