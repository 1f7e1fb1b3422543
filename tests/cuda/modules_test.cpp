#include <algorithm>
#include <nlohmann/json.hpp>

#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/gat_layer.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/nn/recurrent.h"
#include "bough/nn/recurrent_stack.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/graph_zoo.h"

/// Modules on a GPU, against the CPU.
namespace bough::nn {
namespace {

using nlohmann::json;

constexpr std::int64_t dim = 8, layers = 2;

class GpuModules : public test::GpuTest {};

/// A module made twice from the same random numbers: result, gradients of the inputs and of all parameters.
template <typename Model, typename Options>
void expect_same_module(const Options& options, const std::vector<Tensor>& inputs,
                        const std::function<Tensor(const Model&, const std::vector<Tensor>&, Device)>& forward) {
  const auto run_on = [&](Device device) {
    manual_seed(9);
    Model model(options);
    model.to(device);
    std::vector<Tensor> given, outcome;
    for (const Tensor& input : inputs) given.push_back(input.clone().to(device).set_requires_grad(true));
    const Tensor result = forward(model, given, device);
    result.backward({.gradient = test::random_tensor(result.shape(), result.dtype(), 20).to(device)});
    outcome.push_back(result.detach().to(Device::cpu()));
    for (const std::vector<Tensor>& tensors : {given, model.parameters()}) {
      for (const Tensor& tensor : tensors) {
        outcome.push_back(tensor.grad().defined() ? tensor.grad().to(Device::cpu()) : zeros(tensor.shape()));
      }
    }
    return outcome;
  };
  const std::vector<Tensor> gpu = run_on(Device::cuda()), cpu = run_on(Device::cpu());
  ASSERT_EQ(gpu.size(), cpu.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    SCOPED_TRACE(i);
    test::expect_close(gpu[i], cpu[i], test::Tolerance{.relative = 1e-4, .absolute = 1e-5});
  }
}

GraphTransformerOptions options_for(const AttentionGraph& graph) {
  return {.layers = layers,
          .layer = {.dim = dim,
                    .heads = 2,
                    .feed_forward = 12,
                    .num_relations = graph.num_relations(),
                    .pre_norm = true,
                    .soft_span = graph.soft_span},
          .stages = std::max<std::int64_t>(1, static_cast<std::int64_t>(graph.stages.size())),
          .trained_start = true};
}

TEST_F(GpuModules, EveryPatternMatchesTheCpu) {
  for (const json& pattern :
       {json{{"kind", "bpt"}, {"k", 2}}, json{{"kind", "sparse_strided"}, {"stride", 4}, {"split_heads", true}},
        json{{"kind", "hierarchical"}, {"size", 4}}, json{{"kind", "adaptive_span"}, {"max_span", 8}, {"ramp", 4}},
        json{{"kind", "star"}}}) {
    SCOPED_TRACE(pattern.dump());
    const AttentionGraph graph = generators().make(pattern)->build({.length = 13});
    const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers});
    expect_same_module<GraphTransformer>(options_for(graph), {test::random_tensor({13, dim})},
                                         [&](const auto& model, const auto& inputs, Device device) {
                                           return model.forward(schedule.to(device), inputs[0]);
                                         });
  }
}

TEST_F(GpuModules, OnlyNodesThatTheReadOutNeedsAreComputed) {
  const AttentionGraph graph = generators().make("bpt", {{"k", 1}})->build({.length = 8});
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers, .readout = {3, 1}});
  expect_same_module<GraphTransformer>(options_for(graph), {test::random_tensor({8, dim})},
                                       [&](const auto& model, const auto& inputs, Device device) {
                                         return model.forward(schedule.to(device), inputs[0]);
                                       });
}

TEST_F(GpuModules, MemoryIsReadAndKept) {
  const auto build = [](std::int64_t remembered) {
    return generators().make("memory", {{"length", remembered}})->build({.length = 4, .causal = true});
  };
  const AttentionGraph first = build(0), second = build(3);
  expect_same_module<GraphTransformer>(
      options_for(second), {test::random_tensor({8, dim})}, [&](const auto& model, const auto& inputs, Device device) {
        SegmentMemory memory;
        const auto schedule = [&](const AttentionGraph& graph) {
          return make_layer_schedule(graph, {.layers = layers, .memory = 3}).to(device);
        };
        model.forward(schedule(first), inputs[0].rows(0, 4), {.memory = &memory});
        return model.forward(schedule(second), inputs[0].rows(4, 8), {.memory = &memory});
      });
}

TEST_F(GpuModules, ADecoderReadsAnEncoder) {
  const AttentionGraph graph = generators().make("bpt", {{"k", 1}})->build({.length = 7, .causal = true});
  const Graph cross = generators().make("cross", {{"source_sentences", {5}}})->build({.length = 7}).graph;
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = layers});
  const GraphTransformerDecoderOptions options{
      .layers = layers, .layer = options_for(graph).layer, .num_cross_relations = cross.num_edge_types()};
  expect_same_module<GraphTransformerDecoder>(
      options, {test::random_tensor({7, dim}), test::random_tensor({5, dim}, DType::float32, 2)},
      [&](const auto& model, const auto& inputs, Device device) {
        return model.forward(schedule.to(device), cross, inputs[0], inputs[1]);
      });
}

TEST_F(GpuModules, AGraphAttentionNetworkMatchesTheCpu) {
  const Graph graph = zoo::random_graph(10, 50, 2);
  for (const bool concatenate : {true, false}) {
    expect_same_module<GatLayer>(
        GatLayerOptions{.in = 6, .out = 4, .heads = 2, .concatenate = concatenate}, {test::random_tensor({10, 6})},
        [&](const auto& model, const auto& inputs, Device) { return model.forward(graph, inputs[0]); });
  }
}

TEST_F(GpuModules, RecurrentCellsMatchTheCpu) {
  // A node with three predecessors of two levels, each with a type of its own; its reverse is a tree from the root
  // down.
  const Graph tree = Graph::from_edges({0, 1, 3, 2, 4}, {3, 3, 5, 5, 5}, {.edge_types = {0, 1, 0, 1, 2}});
  const auto expect_same = [](const Graph& graph, const RecurrentOptions& options) {
    expect_same_module<Recurrent>(
        options, {test::random_tensor({6, 3})},
        [&](const auto& model, const auto& inputs, Device) { return model.forward(graph, inputs[0]); });
  };
  expect_same(tree, {.in = 3, .out = 4, .bidirectional = true});
  expect_same(tree, {.in = 3, .out = 4, .positions = 3});
  for (const auto cell : {RecurrentCellKind::mlstm, RecurrentCellKind::rhn, RecurrentCellKind::qrnn}) {
    expect_same(tree.reverse(), {.in = 3, .out = 4, .cell = cell});
  }
  expect_same_module<RecurrentStack>(
      RecurrentStackOptions{.in = 3, .dim = 4, .layers = 2, .bidirectional = true}, {test::random_tensor({6, 3})},
      [&](const auto& model, const auto& inputs, Device) { return model.forward(tree, inputs[0]); });
}

}  // namespace
}  // namespace bough::nn
