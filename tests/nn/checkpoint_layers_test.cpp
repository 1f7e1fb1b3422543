// Layers that run again in backward, and layers that make the values of theirs again, against layers that keep their
// tensors: the same bits, in less memory.
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
Outcome train_once(GraphTransformerOptions options, bool checkpointed, KeptValues kept, std::int64_t rows,
                   const Run& run) {
  options.layers = 6;
  options.layer.dim = 16;
  options.layer.heads = 2;
  options.layer.feed_forward = 64;
  options.layer.dropout = 0.2;
  options.layer.attention_dropout = 0.1;
  options.checkpoint_layers = checkpointed;
  options.kept = kept;
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
  const auto train = [&](bool checkpointed, KeptValues values) {
    return train_once(options, checkpointed, values, rows, run);
  };
  train(false, KeptValues::all);  // graphs make their formats and plans on first use
  const Outcome all = train(false, KeptValues::all), few = train(false, KeptValues::few),
                again = train(true, KeptValues::all);
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

TEST(CheckpointLayers, OnAWholeGraph) {
  const AttentionGraph graph = build({{"k", 2}}, "bpt", 150);
  expect_same_bits_in_less_memory(
      {.layer = {.num_relations = graph.num_relations()}}, graph.graph.num_nodes(),
      [&](const GraphTransformer& model, const Tensor& h) { return sum(square(model.forward(graph.graph, h))); });
}

TEST(CheckpointLayers, OnNeededNodes) {
  const AttentionGraph graph = build({{"k", 2}}, "bpt", 150);
  const NeededNodes needed = graph.graph.needed_nodes(graph.tokens, 6);
  expect_same_bits_in_less_memory(
      {.layer = {.num_relations = graph.num_relations(), .pre_norm = true}}, needed.layers.front().sources.size(),
      [&](const GraphTransformer& model, const Tensor& h) { return sum(square(model.forward(needed, h))); });
}

TEST(CheckpointLayers, OnSchedulesWithStagesAndReadOutsInBetween) {
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

TEST(CheckpointLayers, WithMemoryOfTheSegmentBefore) {
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

TEST(KeptValues, AreFewOnlyWhereNodesThatAreNoTokensMakeALargeLayer) {
  const GraphTransformerOptions options{.layers = 6, .layer = {.dim = 512, .heads = 8, .feed_forward = 2048}};
  EXPECT_EQ(kept_values(options, 16383, 8192), Kept::few);
  EXPECT_EQ(kept_values(options, 16384, 16384), Kept::all) << "as many tokens";
  EXPECT_EQ(kept_values(options, 200, 100), Kept::all) << "a small layer";
  GraphTransformerOptions told = options;
  told.kept = KeptValues::all;
  EXPECT_EQ(kept_values(told, 16383, 8192), Kept::all);
  told.kept = KeptValues::few;
  EXPECT_EQ(kept_values(told, 100, 100), Kept::few);
}

}  // namespace
}  // namespace bough::nn
