#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include "bough/core/errors.h"
#include "bough/graph/attention_graph_builder.h"
#include "tests/graph/generators/edge_list.h"
#include "tests/support/errors.h"
#include "tests/support/graph_compare.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using test::NamedEdge;
using testing::HasSubstr;
using Nodes = std::vector<std::int32_t>;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const GraphError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AttentionGraphBuilder, MixesRulesIntervalsAndSingleEdges) {
  AttentionGraphBuilder builder({.length = 4});
  const std::int32_t self = builder.add_relation("self");
  const std::int32_t up = builder.add_relation("up");
  const std::int32_t down = builder.add_relation("down");
  const std::int32_t span = builder.add_span(1, 0, 4);
  EXPECT_EQ(span, 4);
  builder.add_rule([=](std::int32_t token, InEdges& in) { in.add(token, self); });
  builder.add_edges(0, 4, span, up);
  builder.add_edge(span, 1, down);
  builder.set_root(span);
  const AttentionGraph graph = builder.build();
  graph.validate();
  EXPECT_EQ(test::named_edges(graph), (std::vector<NamedEdge>{{0, 0, "self"},
                                                              {1, 1, "self"},
                                                              {4, 1, "down"},
                                                              {2, 2, "self"},
                                                              {3, 3, "self"},
                                                              {0, 4, "up"},
                                                              {1, 4, "up"},
                                                              {2, 4, "up"},
                                                              {3, 4, "up"}}));
  EXPECT_EQ(graph.root, 4);
  EXPECT_EQ(graph.readout, Nodes{4});
  EXPECT_EQ(graph.levels, (Nodes{0, 0, 0, 0, 1}));
  EXPECT_EQ(graph.relations, (std::vector<std::string>{"self", "up", "down"}));
  std::ostringstream stream;
  stream << graph;
  EXPECT_EQ(stream.str(), "attention_graph(tokens=4, nodes=5, edges=9, relations=3, attention_degree=1.25, root=4)");
}

TEST(AttentionGraphBuilder, BuiltTwiceGivesEqualGraphs) {
  AttentionGraphBuilder builder({.length = 4});
  const std::int32_t near = builder.add_relation("near");
  const std::int32_t up = builder.add_relation("up");
  builder.start_stage();
  builder.add_rule([=](std::int32_t token, InEdges& in) { in.add(token, near); });
  builder.add_edge(3, 0, near);
  builder.start_stage();
  builder.add_edges(0, 4, builder.add_span(1, 0, 4), up);
  builder.set_root(4);
  const AttentionGraph first = builder.build(), second = builder.build();
  second.validate();
  test::expect_same_graph(second.graph, first.graph);
  ASSERT_EQ(second.stages.size(), 2u);
  for (const std::size_t stage : {0, 1}) test::expect_same_graph(second.stages[stage], first.stages[stage]);
  EXPECT_EQ(second.tokens, first.tokens);
  EXPECT_EQ(second.relations, first.relations);
  EXPECT_EQ(second.readout, first.readout);
  EXPECT_EQ(second.covers, first.covers);
  EXPECT_EQ(second.sequences.size(), 1u);
}

TEST(AttentionGraphBuilder, GoesOnAfterABuildAndAfterOneThatFailed) {
  AttentionGraphBuilder builder({.length = 3});
  const std::int32_t a = builder.add_relation("a");
  builder.add_edge(0, 1, a);
  const AttentionGraph before = builder.build();
  builder.add_edge(0, 2, builder.add_relation("b"));
  builder.set_root(2);
  const AttentionGraph after = builder.build();
  EXPECT_EQ(test::named_edges(before), (std::vector<NamedEdge>{{0, 1, "a"}}));
  EXPECT_EQ(before.readout, (Nodes{0, 1, 2}));
  EXPECT_EQ(test::named_edges(after), (std::vector<NamedEdge>{{0, 1, "a"}, {0, 2, "b"}}));
  EXPECT_EQ(after.readout, Nodes{2});
  builder.add_edge(1, 2, 7);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(error_of([&] { builder.build(); }), HasSubstr("relation 7"));
}

TEST(AttentionGraphBuilder, LetsTheGraphTellWhatItsEdgesAloneLeaveOut) {
  const auto form_of = [](auto change) {
    AttentionGraphBuilder builder({.length = 3});
    const std::int32_t a = builder.add_relation("a");
    change(builder);
    builder.add_edge(0, 1, a);
    return attention_form(builder.build().graph);
  };
  EXPECT_EQ(form_of([](AttentionGraphBuilder& builder) { builder.add_relay(); }), AttentionForm::plain);
  EXPECT_EQ(form_of([](AttentionGraphBuilder& builder) { builder.start_stage(); }), AttentionForm::stages);
  EXPECT_EQ(form_of([](AttentionGraphBuilder& builder) { builder.start_head_group(); }), AttentionForm::head_groups);
  EXPECT_EQ(form_of([](AttentionGraphBuilder& builder) { builder.add_input(0); }), AttentionForm::fixed_nodes);
  EXPECT_EQ(form_of([](AttentionGraphBuilder& builder) { builder.set_soft_span({.max_span = 2}); }),
            AttentionForm::soft_span);
  EXPECT_EQ(attention_form(Graph::from_edges({0}, {1})), AttentionForm::plain);
}

TEST(AttentionForm, StaysWithGraphsThatPatternsMakeOfOthers) {
  const nlohmann::json split = {{"kind", "sparse_strided"}, {"stride", 2}, {"split_heads", true}};
  for (const char* kind : {"causal", "remap"}) {
    EXPECT_EQ(attention_form(test::build({{"kind", kind}, {"of", split}}, 6, true).graph), AttentionForm::head_groups);
  }
}

TEST(AttentionGraphBuilder, SortsRowsThatComeInAnyOrder) {
  AttentionGraphBuilder builder({.length = 6});
  builder.add_relations(6, [](std::int64_t i) { return std::to_string(i); });
  builder.add_rule(5, 6, [](std::int32_t, InEdges& in) {
    in.add(4, 4);
    in.add_interval(0, 3, 2, -1);
    in.add(3, 5);
  });
  EXPECT_EQ(test::named_edges(builder.build()),
            (std::vector<NamedEdge>{{0, 5, "2"}, {1, 5, "1"}, {2, 5, "0"}, {3, 5, "5"}, {4, 5, "4"}}));
}

TEST(AttentionGraphBuilder, HasNoEdgesIfNoneAreAdded) {
  AttentionGraphBuilder builder({.length = 3});
  const AttentionGraph graph = builder.build();
  EXPECT_EQ(graph.graph.num_edges(), 0);
  EXPECT_EQ(graph.graph.num_nodes(), 3);
  EXPECT_EQ(attention_degree(graph), 0);
}

TEST(AttentionGraphBuilder, KnowsGlobalRelayAndInputNodes) {
  AttentionGraphBuilder builder({.length = 3});
  EXPECT_EQ(builder.add_global(), 3);
  EXPECT_EQ(builder.add_relay(), 4);
  EXPECT_EQ(builder.add_input(2), 5);
  const AttentionGraph graph = builder.build();
  EXPECT_EQ(graph.covers[3], (TokenRange{0, 3}));
  EXPECT_EQ(graph.covers[5], (TokenRange{2, 3}));
  EXPECT_STREQ(to_string(graph.kinds[3]), "global");
  EXPECT_STREQ(to_string(graph.kinds[4]), "relay");
  EXPECT_STREQ(to_string(graph.kinds[5]), "input");
}

TEST(AttentionGraphBuilder, RefusesEdgesAndRelationsThatDoNotExist) {
  const auto with_rule = [](InEdgeRule rule) {
    return error_of([&] {
      AttentionGraphBuilder builder({.length = 3});
      builder.add_relation("only");
      builder.add_rule(1, 2, rule);
      builder.build();
    });
  };
  EXPECT_THAT(with_rule([](std::int32_t, InEdges& in) { in.add(3, 0); }),
              HasSubstr("node 1 has in-edges from nodes 3 to 3, but sources are 0 to 2"));
  EXPECT_THAT(with_rule([](std::int32_t, InEdges& in) { in.add_interval(-1, 2, 0); }), HasSubstr("from nodes -1 to 1"));
  EXPECT_THAT(with_rule([](std::int32_t, InEdges& in) { in.add(0, 1); }), HasSubstr("relation 1, but there are 1"));
  EXPECT_THAT(with_rule([](std::int32_t, InEdges& in) { in.add_interval(0, 3, 0, 1); }), HasSubstr("relation 2"));
  EXPECT_THAT(with_rule([](std::int32_t, InEdges& in) { in.add(0, -1); }), HasSubstr("relation -1"));
  EXPECT_EQ(with_rule([](std::int32_t, InEdges& in) { in.add_interval(2, 2, 7); }), "no error");
}

TEST(AttentionGraphBuilder, RefusesAnEdgeGivenTwice) {
  const std::string message = error_of([] {
    AttentionGraphBuilder builder({.length = 3});
    builder.add_relation("a");
    builder.add_relation("b");
    builder.add_edges(0, 3, 2, 0);
    builder.add_edge(1, 2, 1);
    builder.build();
  });
  EXPECT_THAT(message, HasSubstr("the edge from node 1 to node 2 is given twice, with relations 0 and 1"));
}

TEST(AttentionGraphBuilder, RefusesRulesThatChangeTheirMind) {
  for (const std::int64_t second : {0, 1, 3}) {
    std::atomic<int> calls = 0;
    EXPECT_THAT(error_of([&] {
                  AttentionGraphBuilder builder({.length = 4});
                  builder.add_relation("a");
                  builder.add_rule(
                      3, 4, [&](std::int32_t, InEdges& in) { in.add_interval(0, calls++ == 0 ? 2 : second, 0); });
                  builder.build();
                }),
                HasSubstr("rules must depend on the node alone"));
  }
}

TEST(AttentionGraphBuilder, KeepsCausalGraphsCausal) {
  const auto with_edge = [](bool span_first, std::int32_t source, std::int32_t destination) {
    return error_of([&] {
      AttentionGraphBuilder builder({.length = 4, .causal = true});
      builder.add_relation("a");
      builder.add_span(1, 0, 2);  // node 4
      builder.add_span(1, 2, 4);  // node 5
      if (span_first) builder.add_edge(0, 4, 0);
      builder.add_edge(source, destination, 0);
      builder.build();
    });
  };
  EXPECT_THAT(with_edge(false, 2, 1), HasSubstr("node 1, which knows tokens up to 1, cannot attend to node 2"));
  EXPECT_THAT(with_edge(true, 4, 0), HasSubstr("cannot attend to node 4, which knows tokens up to 1"));
  EXPECT_THAT(with_edge(true, 5, 2), HasSubstr("cannot attend to node 5"));
  EXPECT_EQ(with_edge(true, 4, 1), "no error");
  EXPECT_EQ(with_edge(true, 4, 5), "no error");
  EXPECT_EQ(with_edge(true, 5, 3), "no error");
}

TEST(AttentionGraphBuilder, RefusesNodesThatMakeNoSense) {
  AttentionGraphBuilder builder({.length = 4});
  EXPECT_THROW(builder.add_span(1, 2, 5), GraphError);
  EXPECT_THAT(test::error_message<GraphError>([&] { builder.add_span(1, 3, 3); }), testing::HasSubstr("is empty"));
  EXPECT_THROW(builder.add_span(1, 2, 2), GraphError);
  EXPECT_THROW(builder.add_span(-1, 0, 2), GraphError);
  EXPECT_THROW(builder.add_input(4), GraphError);
  EXPECT_THROW(builder.set_root(4), GraphError);
  EXPECT_THROW(builder.set_readout({0, 9}), GraphError);
  EXPECT_THROW(builder.add_edge(0, 4, 0), GraphError);
  EXPECT_THROW(builder.add_edge(4, 0, 0), GraphError);
  EXPECT_THROW(builder.add_rule(0, 5, [](std::int32_t, InEdges&) {}), GraphError);
  EXPECT_THROW(builder.add_source_memory(-1), GraphError);
  builder.add_relation("a");
  EXPECT_THROW(builder.add_relation("a"), GraphError);
  EXPECT_THROW(builder.add_relations(std::int64_t{1} << 40, [](std::int64_t) { return ""; }), GraphError);
}

TEST(AttentionGraphBuilder, RefusesGraphsWithTooManyEdgesWhileCounting) {
  AttentionGraphBuilder builder({.length = 1'000'000});
  builder.add_relation("a");
  builder.add_rule([](std::int32_t, InEdges& in) { in.add_interval(0, 1'000'000, 0); });
  EXPECT_THAT(error_of([&] { builder.build(); }), HasSubstr("more than 2147483647 edges"));
}

TEST(AttentionGraphBuilder, ExceptionsOfRulesReachTheCaller) {
  AttentionGraphBuilder builder({.length = 100'000});
  builder.add_rule([](std::int32_t node, InEdges&) {
    if (node == 77'777) throw std::runtime_error("no");
  });
  EXPECT_THROW(builder.build(), std::runtime_error);
}

TEST(AttentionGraphBuilder, UnitesHeadGroupsWithTheRelationOfTheFirst) {
  AttentionGraphBuilder builder({.length = 3});
  const std::int32_t near = builder.add_relation("near");
  const std::int32_t far = builder.add_relation("far");
  builder.start_head_group();
  builder.add_edges(0, 2, 2, near);
  builder.start_head_group();
  builder.add_edges(1, 3, 2, far);
  const AttentionGraph graph = builder.build();
  graph.validate();
  EXPECT_EQ(test::named_edges(graph), (std::vector<NamedEdge>{{0, 2, "near"}, {1, 2, "near"}, {2, 2, "far"}}));
  EXPECT_EQ(test::named_edges(graph, graph.head_groups[1]), (std::vector<NamedEdge>{{1, 2, "far"}, {2, 2, "far"}}));
  AttentionGraphBuilder late({.length = 3});
  late.add_relation("a");
  late.add_edge(0, 1, 0);
  EXPECT_THROW(late.start_stage(), GraphError);
}

TEST(Validate, SeesPartsThatDoNotFit) {
  const auto broken = [](auto change) {
    AttentionGraphBuilder builder({.length = 3, .causal = true});
    builder.add_relation("a");
    builder.add_edges(0, 3, 2, 0);
    AttentionGraph graph = builder.build();
    EXPECT_NO_THROW(graph.validate());
    change(graph);
    return error_of([&] { graph.validate(); });
  };
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.levels.pop_back(); }), HasSubstr("levels has 2 entries"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.kinds.clear(); }), HasSubstr("kinds"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.covers[0].end = 9; }), HasSubstr("covers tokens 0 to 8"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.relations.push_back("b"); }), HasSubstr("relations"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.tokens[1] = 3; }), HasSubstr("tokens contains node 3"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.root = 5; }), HasSubstr("root"));
  EXPECT_THAT(broken([](AttentionGraph& graph) { graph.sequences.clear(); }), HasSubstr("sequences"));
  const auto edges = [](IdArray src, IdArray dst, IdArray types) {
    return [=](AttentionGraph& graph) {
      graph.graph = Graph::from_edges(src, dst, {.num_nodes = 3, .edge_types = types, .num_edge_types = 1});
    };
  };
  EXPECT_THAT(broken(edges({1, 0}, {2, 2}, {0, 0})), HasSubstr("sorted"));
  EXPECT_THAT(broken(edges({1, 1}, {2, 2}, {0, 0})), HasSubstr("occurs twice"));
  EXPECT_THAT(broken(edges({2}, {1}, {0})), HasSubstr("in a causal graph"));
}

}  // namespace
}  // namespace bough
