// Layers that backward runs again, and layers whose cheap values it computes again, against layers that save all: the
// same bits, in less memory.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using test::random_tensor;

struct Outcome {
  std::vector<Tensor> tensors;  ///< the loss, the gradient of the input, those of the parameters
  std::int64_t peak = 0;
};

/// One training step of six layers with dropout; `run` is given the model and its input.
template <typename Run>
Outcome train_once(GraphTransformerOptions options, ActivationPolicy policy, std::int64_t rows, const Run& run) {
  options.layers = 6;
  options.layer.dim = 16;
  options.layer.heads = 2;
  options.layer.feed_forward = 64;
  options.layer.dropout = 0.2;
  options.layer.attention_dropout = 0.1;
  options.activations = policy;
  manual_seed(11);
  GraphTransformer model(options);
  Tensor h = random_tensor({rows, 16});
  h.set_requires_grad(true);
  Outcome outcome;
  outcome.peak = test::peak_bytes([&] {
    const Tensor loss = run(model, h);
    loss.backward();
    outcome.tensors = {loss.detach(), h.grad()};
  });
  for (const Tensor& parameter : model.parameters()) outcome.tensors.push_back(parameter.grad());
  return outcome;
}

template <typename Run>
void expect_same_bits_in_less_memory(const GraphTransformerOptions& options, std::int64_t rows, const Run& run) {
  const auto train = [&](ActivationPolicy policy) { return train_once(options, policy, rows, run); };
  train(ActivationPolicy::save_all);  // graphs make their formats and plans on first use
  const Outcome all = train(ActivationPolicy::save_all), few = train(ActivationPolicy::recompute_cheap),
                again = train(ActivationPolicy::checkpoint_layers);
  for (std::size_t i = 0; i < all.tensors.size(); ++i) {
    SCOPED_TRACE("tensor " + std::to_string(i));
    test::expect_same_bits(again.tensors[i], all.tensors[i]);
    test::expect_same_bits(few.tensors[i], all.tensors[i]);
  }
  EXPECT_LT(again.peak, all.peak * 3 / 4);
  EXPECT_LT(few.peak, all.peak * 3 / 4);
}

AttentionGraph build(const nlohmann::json& parameters, const char* kind, std::int64_t length) {
  return generators().make(kind, parameters)->build({.length = length, .causal = false});
}

TEST(ActivationPolicy, OnAWholeGraph) {
  const AttentionGraph graph = build({{"k", 2}}, "bpt", 150);
  expect_same_bits_in_less_memory(
      {.layer = {.num_relations = graph.num_relations()}}, graph.graph.num_nodes(),
      [&](const GraphTransformer& model, const Tensor& h) { return sum(square(model.forward(graph.graph, h))); });
}

TEST(ActivationPolicy, OnTheNodesThatTheReadOutNeeds) {
  const AttentionGraph graph = build({{"k", 2}}, "bpt", 150);
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 6});
  expect_same_bits_in_less_memory(
      {.layer = {.num_relations = graph.num_relations(), .pre_norm = true}}, 150,
      [&](const GraphTransformer& model, const Tensor& h) { return sum(square(model.forward(schedule, h))); });
}

TEST(ActivationPolicy, OnSchedulesWithStagesAndReadOutsInBetween) {
  const AttentionGraph graph = build({}, "star", 150);
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 6});
  const GraphTransformerOptions options{.layer = {.num_relations = graph.num_relations()},
                                        .stages = static_cast<std::int64_t>(schedule.layers.front().size()),
                                        .trained_start = true};
  expect_same_bits_in_less_memory(options, 150, [&](const GraphTransformer& model, const Tensor& h) {
    Tensor between;
    const auto add = [&between](std::int64_t, const Tensor& readout) {
      const Tensor loss = sum(square(readout)) / 10;
      between = between.defined() ? between + loss : loss;
    };
    return sum(square(model.forward(schedule, h, {.after_layer = add}))) + between;
  });
}

TEST(ActivationPolicy, WithMemoryOfTheSegmentBefore) {
  const AttentionGraph graph = generators().make("memory", {{"length", 100}})->build({.length = 100, .causal = true});
  const LayerSchedule schedule = make_layer_schedule(graph, {.layers = 6});
  expect_same_bits_in_less_memory({.layer = {.num_relations = graph.num_relations()}}, 100,
                                  [&](const GraphTransformer& model, const Tensor& h) {
                                    SegmentMemory memory;
                                    for (std::uint64_t i = 0; i < 6; ++i)
                                      memory.layers.push_back(random_tensor({100, 16}, DType::float32, i));
                                    return sum(square(model.forward(schedule, h, {.memory = &memory})));
                                  });
}

TEST(ActivationPolicy, RecomputesOnlyWhereNodesThatAreNoTokensMakeALargeLayer) {
  using enum nn::ActivationPolicy;
  const GraphTransformerOptions options{.layers = 6, .layer = {.dim = 512, .heads = 8, .feed_forward = 2048}};
  EXPECT_EQ(activation_policy(options, 16383, 8192), recompute_cheap);
  EXPECT_EQ(activation_policy(options, 16384, 16384), save_all) << "as many tokens";
  EXPECT_EQ(activation_policy(options, 200, 100), save_all) << "a small layer";
  GraphTransformerOptions given = options;
  given.activations = save_all;
  EXPECT_EQ(activation_policy(given, 16383, 8192), save_all);
  given.activations = recompute_cheap;
  EXPECT_EQ(activation_policy(given, 100, 100), recompute_cheap);
  given.activations = checkpoint_layers;
  EXPECT_EQ(activation_policy(given, 16383, 8192), checkpoint_layers);
}

}  // namespace
}  // namespace bough::nn
