#include "bough/mp/frame.h"

#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/errors.h"

/// Message passing over a Frame on a GPU, against the CPU.
namespace bough {
namespace {

using test::expect_same_as_cpu;
using test::features;

class GpuFrame : public test::GpuTest {};

const auto any_message = [](const EdgeBatch& e) { return sigmoid(e.src("h") - e.dst("g")) * e.edge("w"); };
const auto any_reduce = [](const Mailbox& m) { return sum(square(m.messages()), 1) * m.node("g"); };

/// Features of a graph: sources, destinations, edges.
std::vector<Tensor> features_of(const Graph& graph) {
  return {features(graph, Target::source, {2, 3}, DType::float64, 1),
          features(graph, Target::destination, {2, 3}, DType::float64, 2),
          features(graph, Target::edge, {2, 1}, DType::float64, 3)};
}

Frame frame_with(const Graph& graph, const std::vector<Tensor>& features) {
  Frame frame(graph);
  frame.src_node("h") = features[0];
  frame.dst_node("g") = features[1];
  frame.edge("w") = features[2];
  return frame;
}

TEST_F(GpuFrame, FunctionsOfTheUsersOwnMatchTheCpuOnEveryGraph) {
  for (const zoo::NamedGraph& named : test::message_passing_graphs()) {
    SCOPED_TRACE(named.name);
    expect_same_as_cpu(features_of(named.graph), [&](const std::vector<Tensor>& x) {
      Frame frame = frame_with(named.graph, x);
      frame.update_all(any_message, any_reduce, "both");
      frame.update_all(any_message, fn::max("m", "message"));
      frame.update_all(fn::u_mul_v("h", "g", "m"), any_reduce, "reduce");
      return frame.dst_node("both") + frame.dst_node("message") * frame.dst_node("reduce");
    });
  }
}

TEST_F(GpuFrame, ChosenNodesAndEdgesMatchTheCpu) {
  const Graph graph = zoo::random_graph(12, 60, 3);
  expect_same_as_cpu(features_of(graph), [&](const std::vector<Tensor>& x) {
    Frame frame = frame_with(graph, x);
    frame.pull({4, 1, 7}, any_message, any_reduce, "out");
    frame.push({0, 2}, fn::copy_u("h", "m"), fn::sum("m", "out"));
    frame.send_and_recv({5, 3, 40}, any_message, any_reduce, "out");
    frame.apply_edges({9, 2}, any_message, "some");
    frame.apply_nodes(
        {3, 8}, [](const NodeBatch& n) { return n.node("out") * n.node("g"); }, "out");
    frame.apply_nodes([](const NodeBatch& n) { return n.node("out") * 2; }, "doubled");
    frame.update_all([](const EdgeBatch& e) { return e.edge("some") * e.src("doubled"); }, fn::sum("m", "sums"));
    return frame.node("sums") + frame.node("doubled");
  });
}

TEST_F(GpuFrame, EdgesHaveTheirTypesThere) {
  const Graph graph = zoo::random_graph(12, 60, 3, 4);
  std::vector<Tensor> inputs = features_of(graph);
  inputs.push_back(test::random_tensor({4, 2, 3}, DType::float64, 4));
  expect_same_as_cpu(inputs, [&](const std::vector<Tensor>& x) {
    Frame frame = frame_with(graph, x);
    const auto message = [&](const EdgeBatch& e) { return e.src("h") * gather_rows(x[3], e.type()); };
    frame.update_all(message, any_reduce, "all");
    frame.pull({4, 1, 7}, message, fn::sum("m", "some"));
    return frame.node("all") + frame.node("some");
  });
}

TEST_F(GpuFrame, MessagesWaitThere) {
  const Graph graph = zoo::random_graph(8, 30, 2);
  expect_same_as_cpu(features_of(graph), [&](const std::vector<Tensor>& x) {
    Frame frame = frame_with(graph, x);
    frame.send(fn::u_mul_e("h", "w", "m"));
    frame.send({1, 5, 7}, [](const EdgeBatch& e) { return Fields{{"m", e.src("h") * 3}}; });
    frame.recv({2, 0}, fn::sum("m", "out"));
    frame.send(fn::u_mul_e("h", "w", "m"));
    frame.recv([](const Mailbox& m) { return max(m.messages(), 1); }, "all");
    return frame.node("out") + frame.node("all");
  });
}

TEST_F(GpuFrame, FunctionsGetNumbersOnTheDeviceOfTheFrame) {
  const Graph graph = Graph::from_edges({0, 1, 2, 0}, {2, 2, 3, 3}, {.num_nodes = 5});
  const Tensor h = test::random_tensor({5, 2}, DType::float64, 1),
               table = test::random_tensor({5, 2}, DType::float64, 2);
  expect_same_as_cpu({h, table}, [&](const std::vector<Tensor>& x) {
    Frame frame(graph);
    frame.node("h") = x[0];
    frame.update_all([&](const EdgeBatch& e) { return e.src("h") + gather_rows(x[1], e.ids()); },
                     [&](const Mailbox& m) { return sum(m.messages(), 1) * gather_rows(x[1], m.nodes()); }, "out");
    frame.pull(
        {3}, [&](const EdgeBatch& e) { return gather_rows(x[1], e.ids()); },
        [](const Mailbox& m) { return sum(m.messages(), 1); }, "out");
    return frame.node("out");
  });
}

TEST_F(GpuFrame, FeaturesOfTwoDevicesAreRefusedNamingBoth) {
  Frame frame = frame_with(zoo::random_graph(5, 9, 1), features_of(zoo::random_graph(5, 9, 1)));
  frame.src_node("h") = frame.src_node("h").to(Device::cuda());
  const std::string message =
      test::error_message<DeviceError>([&] { frame.update_all(any_message, any_reduce, "out"); });
  EXPECT_NE(message.find("cuda:0"), std::string::npos) << message;
  EXPECT_NE(message.find("cpu"), std::string::npos) << message;
}

}  // namespace
}  // namespace bough
