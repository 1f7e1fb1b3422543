#include "bough/mp/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/edge_softmax.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/gradient.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

Tensor column(const std::vector<float>& values) {
  return Tensor::from_vector(values, {static_cast<std::int64_t>(values.size()), 1});
}

/// 0 -> 2, 1 -> 2, 2 -> 3; node 4 is alone.
Graph small_graph() { return Graph::from_edges({0, 1, 2}, {2, 2, 3}, {.num_nodes = 5}); }

Frame small_frame() {
  Frame frame(small_graph());
  frame.node("h") = column({1, 2, 4, 8, 16});
  frame.edge("w") = column({10, 100, 1000});
  return frame;
}

const auto copy_source = [](const EdgeBatch& edges) { return edges.src("h"); };
const auto add_messages = [](const Mailbox& mailbox) { return sum(mailbox.messages(), 1); };

TEST(Frame, PassesMessagesWithBuiltInFunctions) {
  Frame frame = small_frame();
  frame.apply_edges(fn::u_dot_v("h", "h", "score"));
  expect_close(frame.edge("score"), {4, 8, 32});
  frame.update_all(fn::u_mul_e("h", "w", "m"), fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 210, 4000, 0});
  frame.update_all(fn::copy_e("w", "m"), fn::max("m", "out"));
  expect_close(frame.node("out"), {0, 0, 100, 1000, 0});
}

TEST(Frame, RunsTheAttentionOfTheGuide) {
  const Graph graph = zoo::random_graph(20, 100, 1);
  Frame f(graph);
  f.node("k") = random_tensor({20, 2, 3}, DType::float64, 1);
  f.node("q") = random_tensor({20, 2, 3}, DType::float64, 2);
  f.node("v") = random_tensor({20, 2, 3}, DType::float64, 3);
  f.apply_edges(fn::u_dot_v("k", "q", "score"));
  f.edge("a") = edge_softmax(graph, f.edge("score"));
  f.update_all(fn::u_mul_e("v", "a", "m"), fn::sum("m", "out"));
  f.update_all([](const EdgeBatch& e) { return e.src("v") * e.edge("a"); }, add_messages, "again");
  expect_close(f.node("again"), f.node("out"));
}

TEST(Frame, GeneralFunctionsAgreeWithBuiltInOnesOnEveryGraph) {
  for (const zoo::NamedGraph& named : message_passing_graphs()) {
    SCOPED_TRACE(named.name);
    Frame frame(named.graph);
    frame.src_node("h") = features(named.graph, Target::source, {2, 3}, DType::float64, 1);
    frame.dst_node("g") = features(named.graph, Target::destination, {2, 3}, DType::float64, 2);
    frame.edge("w") = features(named.graph, Target::edge, {2, 1}, DType::float64, 3);
    const auto message = [](const EdgeBatch& e) { return (e.src("h") - e.dst("g")) * e.edge("w"); };
    const auto reduce = [](const Mailbox& m) { return max(m.messages(), 1); };
    frame.apply_edges(message, "m");
    frame.update_all(fn::copy_e("m", "m"), fn::max("m", "expected"));
    frame.update_all(message, reduce, "general");
    frame.update_all(message, fn::max("m", "half"));
    frame.update_all(fn::copy_e("m", "m"), reduce, "other half");
    for (const char* name : {"general", "half", "other half"}) {
      SCOPED_TRACE(name);
      expect_close(frame.dst_node(name), frame.dst_node("expected"));
    }
  }
}

TEST(Frame, GeneralFunctionsAreDifferentiable) {
  const Graph graph = zoo::random_bipartite(5, 6, 20, 3);
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        Frame frame(graph);
        frame.src_node("h") = x[0];
        frame.dst_node("h") = x[1];
        frame.edge("w") = x[2];
        frame.update_all([](const EdgeBatch& e) { return sigmoid(e.src("h") - e.dst("h")) * e.edge("w"); },
                         [](const Mailbox& m) { return sum(square(m.messages()), 1) * m.node("h"); }, "out");
        return frame.dst_node("out");
      },
      {random_tensor({5, 2}, DType::float64, 1), random_tensor({6, 2}, DType::float64, 2),
       random_tensor({20, 1}, DType::float64, 3)});
}

TEST(Frame, GeneralFunctionsAreBitwiseEqualForOneTwoAndSevenThreads) {
  const Graph graph = zoo::power_law(500, 6000, 2);
  expect_same_bits_for_threads([&] {
    Tensor h = random_tensor({500, 33}).set_requires_grad(true);
    Frame frame(graph);
    frame.node("h") = h;
    frame.update_all([](const EdgeBatch& e) { return relu(e.src("h") - e.dst("h")); }, add_messages, "out");
    frame.node("out").backward({.gradient = random_tensor({500, 33})});
    return std::vector<Tensor>{frame.node("out"), h.grad()};
  });
}

TEST(Frame, AFunctionMayGiveSeveralNamedResults) {
  Frame frame = small_frame();
  frame.update_all(
      [](const EdgeBatch& e) {
        return Fields{{"once", e.src("h")}, {"twice", e.src("h") * 2}};
      },
      [](const Mailbox& m) {
        return Fields{{"a", sum(m.messages("once"), 1)}, {"b", max(m.messages("twice"), 1)}};
      });
  expect_close(frame.node("a"), {0, 0, 3, 4, 0});
  expect_close(frame.node("b"), {0, 0, 4, 8, 0});
}

TEST(Frame, MailboxesHoldNodesOfOneDegreeWithTheirMessagesByAscendingSource) {
  Frame frame(Graph::from_edges({3, 1, 0, 2}, {2, 2, 1, 0}, {.num_nodes = 4}));
  frame.node("h") = column({1, 2, 4, 8});
  std::vector<std::int64_t> degrees;
  frame.update_all(
      copy_source,
      [&](const Mailbox& m) {
        degrees.push_back(m.degree());
        EXPECT_EQ(m.messages().shape(), (Shape{m.size(), m.degree(), 1}));
        if (m.degree() == 2) expect_close(m.messages(), {2, 8});
        if (m.degree() == 1) {
          EXPECT_EQ(m.nodes().to_vector<int>(), (std::vector<int>{0, 1}));
        }
        return sum(m.messages(), 1);
      },
      "out");
  EXPECT_EQ(degrees, (std::vector<std::int64_t>{1, 2}));
}

TEST(Frame, MessagesWaitOnEdgesUntilTheyAreReceived) {
  Frame frame = small_frame();
  frame.send(fn::copy_u("h", "m"));
  EXPECT_EQ(frame.num_waiting(), 3);
  frame.node("h") = column({0, 0, 0, 0, 0});  // what was sent keeps its value
  frame.recv({2}, fn::sum("m", "out"));
  EXPECT_EQ(frame.num_waiting(), 1);
  expect_close(frame.node("out"), {0, 0, 3, 0, 0});
  frame.recv({3}, fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 3, 4, 0});
  EXPECT_EQ(frame.num_waiting(), 0);
}

TEST(Frame, ReceivesMessagesThatWereSentInSeveralCalls) {
  Frame frame = small_frame();
  frame.send({1}, fn::copy_u("h", "m"));
  frame.send({2, 0}, [](const EdgeBatch& e) { return Fields{{"m", e.src("h") * 10}}; });
  frame.recv(fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 12, 40, 0});
}

TEST(Frame, ALaterMessageReplacesOneThatWaits) {
  Frame frame = small_frame();
  frame.send(fn::copy_u("h", "m"));
  frame.send({0}, fn::copy_e("w", "m"));
  EXPECT_EQ(frame.num_waiting(), 3);
  frame.recv({2, 3}, fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 12, 4, 0});
}

TEST(Frame, ReceivingTwiceOrWhatWasNeverSentIsAnError) {
  Frame frame = small_frame();
  EXPECT_THAT(error_message<GraphError>([&] { frame.recv({2}, fn::sum("m", "out")); }),
              AllOf(HasSubstr("edge 0"), HasSubstr("no message")));
  frame.send({0}, fn::copy_u("h", "m"));
  EXPECT_THAT(error_message<GraphError>([&] { frame.recv({2}, fn::sum("m", "out")); }), HasSubstr("edge 1"));
  EXPECT_EQ(frame.num_waiting(), 1) << "a failed recv takes nothing";
  frame.send({1}, fn::copy_u("h", "m"));
  frame.recv({2}, fn::sum("m", "out"));
  EXPECT_THAT(error_message<GraphError>([&] { frame.recv({2}, fn::sum("m", "out")); }),
              AllOf(HasSubstr("edge 0"), HasSubstr("received before")));
}

TEST(Frame, AReductionThatFailsLeavesTheMessagesWaiting) {
  Frame frame = small_frame();
  frame.send(fn::copy_u("h", "m"));
  const auto fails = [](const Mailbox&) -> Tensor { throw std::runtime_error("of the user's own"); };
  EXPECT_THROW(frame.recv(fails, "out"), std::runtime_error);
  EXPECT_THROW(frame.recv({2}, fails, "out"), std::runtime_error);
  EXPECT_THROW(frame.recv({2}, fn::sum("another", "out")), GraphError);
  EXPECT_FALSE(frame.has_node("out"));
  EXPECT_EQ(frame.num_waiting(), 3);
  frame.recv(fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 3, 4, 0});
}

TEST(Frame, AFunctionWhoseSecondResultDoesNotFitWritesNoneOfThem) {
  Frame frame = small_frame();
  const auto two = [](const NodeBatch& nodes) {
    return Fields{{"first", nodes.node("h")}, {"second", ones({nodes.size() + 1})}};
  };
  EXPECT_THROW(frame.apply_nodes(two), ShapeError);
  EXPECT_THROW(frame.apply_nodes({0, 3}, two), ShapeError);
  EXPECT_FALSE(frame.has_node("first"));
}

TEST(Frame, NodesWithoutInEdgesReceiveZeros) {
  Frame frame = small_frame();
  frame.send(fn::copy_u("h", "m"));
  frame.recv({4, 0}, fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 0, 0, 0});
  frame.pull({0, 1}, copy_source, add_messages, "pulled");
  expect_close(frame.node("pulled"), {0, 0, 0, 0, 0});
}

TEST(Frame, PullChangesOnlyTheChosenNodes) {
  for (const bool built_in : {true, false}) {
    Frame frame = small_frame();
    frame.node("out") = column({-1, -1, -1, -1, -1});
    if (built_in) {
      frame.pull({3, 4}, fn::u_add_v("h", "h", "m"), fn::sum("m", "out"));
    } else {
      frame.pull(
          {3, 4}, [](const EdgeBatch& e) { return e.src("h") + e.dst("h"); }, add_messages, "out");
    }
    expect_close(frame.node("out"), {-1, -1, -1, 12, 0});
  }
}

TEST(Frame, PushReachesTheDestinationsOfTheChosenNodes) {
  Frame frame = small_frame();
  frame.node("out") = column({-1, -1, -1, -1, -1});
  frame.push({0, 2}, fn::copy_u("h", "m"), fn::sum("m", "out"));
  expect_close(frame.node("out"), {-1, -1, 1, 4, -1});
}

TEST(Frame, SendAndRecvUsesTheChosenEdgesOnly) {
  Frame frame = small_frame();
  frame.send_and_recv({1, 2}, fn::u_mul_e("h", "w", "m"), fn::sum("m", "out"));
  expect_close(frame.node("out"), {0, 0, 200, 4000, 0});
  frame.send_and_recv(
      {0}, [](const EdgeBatch& e) { return e.edge("w"); }, add_messages, "out");
  expect_close(frame.node("out"), {0, 0, 10, 4000, 0});
}

TEST(Frame, AppliesFunctionsToSomeEdgesAndNodes) {
  Frame frame = small_frame();
  frame.apply_edges({2, 0}, fn::u_add_v("h", "h", "s"));
  expect_close(frame.edge("s"), {5, 0, 12});
  frame.apply_edges(
      {1}, [](const EdgeBatch& e) { return e.edge("w") * 2; }, "s");
  expect_close(frame.edge("s"), {5, 200, 12});
  frame.apply_nodes([](const NodeBatch& n) { return n.node("h") * 2; }, "t");
  frame.apply_nodes(
      {1}, [](const NodeBatch& n) { return n.node("h") * 0; }, "t");
  expect_close(frame.node("t"), {2, 0, 8, 16, 32});
}

TEST(Frame, GradientsFlowThroughChosenNodes) {
  const Graph graph = zoo::random_graph(6, 15, 2);
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        Frame frame(graph);
        frame.node("h") = x[0];
        frame.node("out") = x[0];
        frame.pull({4, 1}, fn::u_mul_v("h", "h", "m"), fn::sum("m", "out"));
        frame.push({0}, fn::copy_u("h", "m"), fn::mean("m", "out"));
        frame.send({3, 7}, fn::copy_u("out", "m"));
        return frame.node("out");
      },
      {random_tensor({6, 2}, DType::float64, 1)});
}

TEST(Frame, PropagatesOverTopologicalLevels) {
  // Numbers of paths from node 0 in a grid: binomial coefficients.
  std::vector<std::int32_t> src, dst;
  constexpr std::int32_t side = 5;
  for (std::int32_t y = 0; y < side; ++y) {
    for (std::int32_t x = 0; x < side; ++x) {
      if (x > 0) src.push_back(y * side + x - 1), dst.push_back(y * side + x);
      if (y > 0) src.push_back((y - 1) * side + x), dst.push_back(y * side + x);
    }
  }
  const Graph grid = Graph::from_edges(src, dst, {.num_nodes = side * side});
  const std::vector<IdArray> levels = topological_levels(grid);
  ASSERT_EQ(levels.size(), 9u);
  Frame frame(grid);
  std::vector<float> paths(side * side, 0);
  paths[0] = 1;
  frame.node("paths") = column(paths);
  frame.prop_nodes(std::vector<IdArray>(levels.begin() + 1, levels.end()), fn::copy_u("paths", "m"),
                   fn::sum("m", "paths"));
  EXPECT_EQ(frame.node("paths").to_vector<float>()[side * side - 1], 70);

  Frame by_edges(grid);
  by_edges.node("paths") = column(paths);
  std::vector<IdArray> frontiers;
  for (std::size_t level = 1; level < levels.size(); ++level)
    frontiers.push_back(grid.in_edges(levels[level]).edge_ids);
  by_edges.prop_edges(frontiers, fn::copy_u("paths", "m"), fn::sum("m", "paths"), "", [](const NodeBatch& n) {
    return Fields{{"doubled", n.node("paths") * 2}};
  });
  EXPECT_EQ(by_edges.node("doubled").to_vector<float>()[side * side - 1], 140);
}

TEST(Frame, TopologicalLevelsRefuseCycles) {
  EXPECT_THAT(error_message<GraphError>([] {
                topological_levels(Graph::from_edges({0, 1, 2, 1}, {1, 2, 1, 3}));
              }),
              HasSubstr("cycle"));
  // Node 0 is behind the cycle of 1 and 2, not on it.
  EXPECT_THAT(error_message<GraphError>([] {
                topological_levels(Graph::from_edges({1, 2, 2}, {2, 1, 0}));
              }),
              testing::AnyOf(HasSubstr("node 1 is on it"), HasSubstr("node 2 is on it")));
  EXPECT_THROW(topological_levels(Graph::bipartite({0}, {0})), GraphError);
  EXPECT_TRUE(topological_levels(Graph()).empty());
}

TEST(Frame, SaysWhatIsMissingOrDoesNotFit) {
  Frame frame = small_frame();
  const auto failure = [](auto&& f) { return error_message<Error>(f); };
  EXPECT_THAT(failure([&] { frame.update_all(fn::copy_u("x", "m"), fn::sum("m", "out")); }),
              AllOf(HasSubstr("'x'"), HasSubstr("h")));
  EXPECT_THAT(failure([&] {
                frame.node("never") = {};
                frame.update_all(fn::copy_u("never", "m"), fn::sum("m", "out"));
              }),
              testing::EndsWith("known are: h"));
  EXPECT_THAT(failure([&] { frame.update_all(fn::copy_u("h", "m"), fn::sum("n", "out")); }),
              AllOf(HasSubstr("'n'"), HasSubstr("'m'")));
  EXPECT_THAT(failure([&] { frame.update_all(copy_source, add_messages); }), HasSubstr("name"));
  EXPECT_THAT(failure([&] { frame.update_all(fn::copy_u("h", "m"), fn::sum("m", "out"), "other"); }),
              AllOf(HasSubstr("'out'"), HasSubstr("'other'")));
  EXPECT_THAT(failure([&] { frame.update_all([](const EdgeBatch&) { return ones({7}); }, fn::sum("m", "out")); }),
              AllOf(HasSubstr("3 edges"), HasSubstr("[7]")));
  EXPECT_THAT(failure([&] {
                frame.update_all(
                    copy_source, [](const Mailbox&) { return ones({9}); }, "out");
              }),
              AllOf(HasSubstr("nodes"), HasSubstr("[9]")));
  EXPECT_THAT(failure([&] {
                frame.update_all(copy_source, [](const Mailbox& m) {
                  return Fields{{m.degree() == 1 ? "one" : "many", sum(m.messages(), 1)}};
                });
              }),
              AllOf(HasSubstr("same fields"), HasSubstr("many")));
  EXPECT_THAT(failure([&] {
                frame.update_all(
                    copy_source,
                    [](const Mailbox& m) {
                      return ones({m.size(), m.degree()});
                    },
                    "out");
              }),
              AllOf(HasSubstr("one shape"), HasSubstr("[1, 1]"), HasSubstr("[1, 2]")));
  EXPECT_THAT(failure([&] {
                frame.apply_nodes(
                    {1, 2},
                    [](const NodeBatch&) {
                      return ones({1, 3});
                    },
                    "out");
              }),
              AllOf(HasSubstr("2 nodes"), HasSubstr("[1, 3]")));
  EXPECT_THAT(failure([&] { frame.apply_nodes([](const NodeBatch&) { return ones({}); }, "out"); }),
              AllOf(HasSubstr("5 nodes"), HasSubstr("[]")));
  EXPECT_THAT(failure([&] { frame.apply_edges([](const EdgeBatch&) { return Tensor(); }, "out"); }),
              AllOf(HasSubstr("3 edges"), HasSubstr("undefined")));
  EXPECT_THAT(failure([&] { frame.send([](const EdgeBatch&) { return Fields{}; }); }), HasSubstr("no fields"));
  frame.node("short") = ones({2});
  EXPECT_THAT(failure([&] { frame.update_all(fn::copy_u("short", "m"), fn::sum("m", "out")); }),
              AllOf(HasSubstr("'short'"), HasSubstr("[2]"), HasSubstr("5")));
  EXPECT_THAT(failure([&] {
                frame.pull({1, 7}, fn::copy_u("h", "m"), fn::sum("m", "out"));
              }),
              AllOf(HasSubstr("node 7"), HasSubstr("5")));
  EXPECT_THAT(failure([&] { frame.send({1, 1}, fn::copy_u("h", "m")); }), HasSubstr("edge 1 is listed twice"));
  EXPECT_THAT(failure([&] { frame.send({-1}, fn::copy_u("h", "m")); }), HasSubstr("edge -1"));
  Frame bipartite(Graph::bipartite({0}, {0}));
  EXPECT_THAT(failure([&] { bipartite.node("h"); }), HasSubstr("src_node"));
}

TEST(Frame, TheMessageOfAFunctionThatGivesOneTensorIsCalledM) {
  Frame frame = small_frame();
  frame.update_all(fn::copy_u("h", "m"), fn::sum("m", "expected"));
  frame.update_all(copy_source, fn::sum("m", "built_in"));
  frame.update_all(
      copy_source, [](const Mailbox& m) { return sum(m.messages("m"), 1); }, "by_name");
  frame.send(copy_source);
  frame.recv(fn::sum("m", "received"));
  for (const char* name : {"built_in", "by_name", "received"}) expect_close(frame.node(name), frame.node("expected"));
  const auto failure = [](auto&& f) { return error_message<GraphError>(f); };
  EXPECT_THAT(failure([&] { frame.update_all(copy_source, fn::sum("whatever", "out")); }),
              HasSubstr("no message 'whatever', only: m"));
  EXPECT_THAT(failure([&] {
                frame.update_all(
                    copy_source, [](const Mailbox& m) { return sum(m.messages("x"), 1); }, "out");
              }),
              HasSubstr("messages() without a name"));
}

TEST(Frame, ErrorsOfBuiltInMessagesNameTheFeatures) {
  Frame frame(Graph::from_edges({0, 1}, {1, 0}));
  frame.node("h") = ones({2, 3});
  frame.edge("w") = ones({2, 5});
  const auto update = [&] { frame.update_all(fn::u_mul_e("h", "w", "m"), fn::sum("m", "out")); };
  EXPECT_THAT(error_message<ShapeError>(update),
              AllOf(HasSubstr("node feature 'h' float32 [2, 3]"), HasSubstr("edge feature 'w' float32 [2, 5]")));
  EXPECT_THAT(error_message<ShapeError>([&] { frame.apply_edges(fn::u_mul_e("h", "w", "m")); }), HasSubstr("'w'"));
  EXPECT_THAT(error_message<GraphError>([&] { frame.apply_edges(fn::copy_e("h", "m")); }),
              HasSubstr("no edge feature 'h', but a node feature of that name"));
}

TEST(Frame, ReadingAFeatureThatIsNotThereNamesItTheNearestAndAllOthers) {
  Frame frame = small_frame();
  frame.node("layer_one") = ones({5, 2});
  const auto failure = [](auto&& f) { return error_message<GraphError>(f); };
  const std::string sentence =
      "[Frame] there is no node feature 'layer_on', did you mean 'layer_one'?; known are: h, layer_one";
  EXPECT_EQ(failure([&] { frame.node("layer_on") * 2; }), sentence);
  EXPECT_EQ(failure([&] { frame.node("layer_on").shape(); }), sentence);
  EXPECT_EQ(failure([&] { frame.node("layer_on").grad(); }), sentence);
  EXPECT_EQ(failure([&] { frame.node("layer_on").set_requires_grad(true); }), sentence);
  EXPECT_EQ(failure([&] { frame.node("layer_on").backward(); }), sentence);
  EXPECT_EQ(failure([&] { const_cast<const Frame&>(frame).node("layer_on"); }), sentence);
  EXPECT_EQ(failure([&] {
              const Tensor copy = frame.node("layer_on");
              gspmm(frame.graph(), BinaryOp::copy_lhs, ReduceOp::sum, copy, {});
            }),
            sentence);
  const std::string of_edges = "[Frame] there is no edge feature 'score'; known are: w";
  EXPECT_EQ(failure([&] { edge_softmax(frame.graph(), frame.edge("score")); }), of_edges);
  const Tensor x = ones({5, 1, 2});
  EXPECT_EQ(failure([&] { graph_attention(frame.graph(), x, x, x, {.edge_bias = frame.edge("score")}); }), of_edges);
  EXPECT_EQ(failure([&] { Frame(small_graph()).edge("score").rank(); }),
            "[Frame] there is no edge feature 'score', nor any other");
}

TEST(Frame, AFeatureThatIsNotThereCanBeAskedForAndAssigned) {
  Frame frame = small_frame();
  EXPECT_FALSE(frame.node("new").defined());
  EXPECT_FALSE(frame.has_node("new"));
  Tensor& feature = frame.node("new");
  feature = ones({5, 1});
  expect_close(frame.node("new"), {1, 1, 1, 1, 1});
}

/// A relational graph convolution: every type has a matrix, weights [types, inputs, outputs].
Tensor relational_convolution(const Graph& graph, const Tensor& x, const Tensor& weights) {
  Frame frame(graph);
  frame.node("h") = x;
  const std::int64_t inputs = weights.size(1), outputs = weights.size(2);
  const auto message = [&](const EdgeBatch& e) {
    const Tensor matrices = gather_rows(weights, e.type());
    return sum(e.src("h").reshape({e.size(), inputs, 1}) * matrices, 1).reshape({e.size(), outputs});
  };
  frame.update_all(message, fn::sum("m", "built-in"));
  frame.update_all(message, add_messages, "general");
  return frame.node("built-in") + frame.node("general");
}

/// The same as a sum over graphs that have the edges of one type each.
Tensor convolutions_by_type(const Graph& graph, const Tensor& x, const Tensor& weights) {
  Tensor result = zeros({graph.num_nodes(), weights.size(2)}, x.dtype());
  for (std::int64_t type = 0; type < graph.num_edge_types(); ++type) {
    std::vector<std::int32_t> src, dst;
    for (std::size_t edge = 0; edge < graph.edge_types().size(); ++edge) {
      if (graph.edge_types()[edge] != type) continue;
      src.push_back(graph.coo().src[edge]);
      dst.push_back(graph.coo().dst[edge]);
    }
    const Graph of_type = Graph::from_edges(src, dst, {.num_nodes = graph.num_nodes()});
    const Tensor matrix = weights.rows(type, type + 1).reshape({weights.size(1), weights.size(2)});
    result = result + gspmm(of_type, BinaryOp::copy_lhs, ReduceOp::sum, matmul(x, matrix), {});
  }
  return result * 2;
}

TEST(Frame, ARelationalConvolutionOverOneTypedGraphIsASumOverTypesWithItsGradients) {
  const Graph graph = zoo::random_graph(9, 40, 3, 4);
  ASSERT_EQ(graph.num_edge_types(), 4);
  const auto run = [&](const auto& convolution) {
    Tensor x = random_tensor({9, 3}, DType::float64, 1).set_requires_grad(true);
    Tensor weights = random_tensor({4, 3, 2}, DType::float64, 2).set_requires_grad(true);
    const Tensor result = convolution(graph, x, weights);
    sum(square(result)).backward();
    return std::vector<Tensor>{result, x.grad(), weights.grad()};
  };
  const std::vector<Tensor> one_graph = run(relational_convolution), by_type = run(convolutions_by_type);
  for (std::size_t i = 0; i < one_graph.size(); ++i) expect_close(one_graph[i], by_type[i]);
  expect_gradient([&](const std::vector<Tensor>& x) { return relational_convolution(graph, x[0], x[1]); },
                  {random_tensor({9, 3}, DType::float64, 1), random_tensor({4, 3, 2}, DType::float64, 2)});
}

TEST(Frame, BatchesOfChosenEdgesAndNodesKnowTheTypesOfTheirEdges) {
  const Graph graph = Graph::from_edges({0, 1, 2}, {2, 2, 3}, {.num_nodes = 5, .edge_types = {7, 5, 3}});
  const auto types = [](const EdgeBatch& e) { return cast(e.type(), DType::float32); };
  Frame frame(graph);
  frame.apply_edges(types, "all");
  expect_close(frame.edge("all"), {7, 5, 3});
  frame.apply_edges({2, 0}, types, "some");
  expect_close(frame.edge("some"), {7, 0, 3});
  frame.pull({3}, types, fn::sum("m", "pulled"));
  expect_close(frame.node("pulled"), {0, 0, 0, 3, 0});
  frame.update_all(
      types, [](const Mailbox& m) { return max(m.messages(), 1); }, "largest");
  expect_close(frame.node("largest"), {0, 0, 7, 3, 0});
}

TEST(Frame, TypesOfEdgesThatHaveNoneAreAnError) {
  Frame frame(small_graph());
  EXPECT_EQ(error_message<GraphError>([&] { frame.apply_edges([](const EdgeBatch& e) { return e.type(); }, "type"); }),
            "[EdgeBatch] type() needs a graph with edge types, and this one has none; give edge_types when it is made");
  Frame empty(Graph::from_edges({}, {}, {.num_nodes = 3}));
  empty.apply_edges([](const EdgeBatch& e) { return e.type(); }, "type");
  EXPECT_EQ(empty.edge("type").shape(), (Shape{0}));
}

TEST(Frame, BipartiteGraphsHaveFeaturesOnBothSides) {
  Frame frame(Graph::bipartite({0, 1, 1}, {0, 0, 1}, {.num_src = 2, .num_dst = 3}));
  frame.src_node("h") = column({1, 2});
  frame.dst_node("h") = column({10, 20, 30});
  frame.update_all(fn::u_add_v("h", "h", "m"), fn::sum("m", "out"));
  expect_close(frame.dst_node("out"), {11 + 12, 22, 0});
  frame.pull(
      {1}, [](const EdgeBatch& e) { return e.src("h") * e.dst("h"); }, add_messages, "out");
  expect_close(frame.dst_node("out"), {11 + 12, 40, 0});
}

TEST(Frame, WorksWithoutNodesAndEdges) {
  for (const Graph& graph : {Graph(), Graph::from_edges({}, {}, {.num_nodes = 3})}) {
    Frame frame(graph);
    frame.node("h") = ones({graph.num_nodes(), 2});
    frame.update_all(fn::copy_u("h", "m"), fn::max("m", "out"));
    EXPECT_EQ(frame.node("out").shape(), (Shape{graph.num_nodes(), 2}));
    frame.update_all(
        copy_source, [](const Mailbox& m) { return max(m.messages(), 1); }, "general");
    expect_close(frame.node("general"), frame.node("out"));
    frame.send(fn::copy_u("h", "m"));
    frame.recv(fn::sum("m", "received"));
    EXPECT_EQ(frame.node("received").shape(), (Shape{graph.num_nodes(), 2}));
  }
}

}  // namespace
}  // namespace bough
