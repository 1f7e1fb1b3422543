#include "bough/core/captured_step.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/layers.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/errors.h"

namespace bough {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GpuCapturedStep : public test::GpuTest {};

constexpr std::int64_t length = 6, dim = 8, vocabulary = 5, layers = 2;

/// A small language model with dropout.
struct Model : nn::Module {
  explicit Model(const AttentionGraph& graph)
      : embedding({.count = vocabulary, .dim = dim}),
        transformer({.layers = layers,
                     .layer = {.dim = dim,
                               .heads = 2,
                               .feed_forward = 12,
                               .num_relations = graph.num_relations(),
                               .dropout = 0.3,
                               .attention_dropout = 0.2}}) {
    add_module("embedding", embedding);
    add_module("transformer", transformer);
  }
  nn::Embedding embedding;
  nn::GraphTransformer transformer;
};

/// Losses of some steps, then all parameters; each step with other tokens, some of which do not count.
std::vector<Tensor> trained(bool captured) {
  const Device device = Device::cuda();
  manual_seed(4);
  const AttentionGraph graph = generators().make("bpt", {{"k", 1}})->build({.length = length, .causal = true});
  const nn::Rounds rounds = nn::make_rounds(graph, {.layers = layers}).to(device);
  Model model(graph);
  model.to(device);
  nn::AdamW optimizer(model.named_parameters(), {.learning_rate = 0.01, .clip_norm = 0.5});
  Tensor inputs = Tensor::empty({length}, DType::int32, device),
         targets = Tensor::empty({length}, DType::int32, device);
  const auto loss_and_gradients = [&] {
    const Tensor loss =
        cross_entropy(model.embedding.project(model.transformer.forward(rounds, model.embedding.forward(inputs))),
                      targets, {.ignore_index = 0});
    loss.backward();
    return std::vector{loss};
  };
  CapturedStep step(device, loss_and_gradients, model.parameters());
  std::vector<Tensor> outcome;
  for (std::uint64_t i = 0; i < 5; ++i) {
    inputs.assign(test::random_indices({length}, 0, vocabulary, DType::int32, i + 1).to(device));
    targets.assign(test::random_indices({length}, 0, vocabulary, DType::int32, i + 10).to(device));
    if (!captured) optimizer.clear_grad();
    outcome.push_back((captured ? step.run() : loss_and_gradients())[0].detach().to(Device::cpu()));
    // Others use the device meanwhile and must not find the memory of the step.
    const Tensor other = test::random_tensor({40, 40}, DType::float32, i + 1).to(device);
    const Tensor product = linear(other, other);
    optimizer.step();
    test::expect_close(product.to(Device::cpu()), linear(other.to(Device::cpu()), other.to(Device::cpu())));
  }
  EXPECT_EQ(step.captured(), captured);
  for (const Tensor& parameter : model.parameters()) outcome.push_back(parameter.detach().to(Device::cpu()));
  outcome.push_back(
      Tensor::from_vector<std::int64_t>({static_cast<std::int64_t>(default_generator().state().stream)}, {1}));
  return outcome;
}

TEST_F(GpuCapturedStep, TrainsBitForBitAsPlainExecution) {
  const std::vector<Tensor> plain = trained(false), captured = trained(true);
  ASSERT_EQ(plain.size(), captured.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    SCOPED_TRACE(i);
    test::expect_same_bits(captured[i], plain[i]);
  }
}

TEST_F(GpuCapturedStep, KeepsWhatTheHostGaveWhenItWasRecorded) {
  Tensor x = ones({3}, DType::float32, Device::cuda());
  CapturedStep step(Device::cuda(), [&] {
    const Tensor tenfold = x * 5 * 2;  // memory of x * 5 is free again when the constant asks for some
    const Tensor constant = Tensor::from_vector<float>({1, 2, 3}, {3}, Device::cuda());
    return std::vector{sum(x + constant), tenfold * constant};
  });
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    x.fill(value);
    const std::vector<Tensor>& results = step.run();
    EXPECT_EQ(results[0].item<float>(), 3 * value + 6);
    EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{10 * value, 20 * value, 30 * value}));
  }
}

TEST_F(GpuCapturedStep, RefusesToLookAtValues) {
  const Tensor x = ones({3}, DType::float32, Device::cuda());
  CapturedStep step(Device::cuda(), [&] { return std::vector{x * sum(x).item<double>()}; });
  EXPECT_EQ(step.run()[0].to_vector<float>(), std::vector<float>(3, 3));
  EXPECT_THAT(test::error_message<DeviceError>([&] { step.run(); }), AllOf(HasSubstr("recorded"), HasSubstr("host")));
  EXPECT_EQ((x * 2).to_vector<float>(), std::vector<float>(3, 2)) << "the device works as before";
}

/// What some steps of attention with dropout give: its result and the gradients of q, k and v.
std::vector<Tensor> attended(bool captured, AttentionKernel kernel, bool deterministic) {
  const Device device = Device::cuda();
  manual_seed(7);
  const Graph graph = generators().make("full", {})->build({.length = 20, .causal = true}).graph;
  std::vector<Tensor> leaves;
  for (const std::uint64_t seed : {1, 2, 3}) {
    leaves.push_back(test::random_tensor({20, 2, 4}, DType::float32, seed).to(device).set_requires_grad(true));
  }
  const auto attend = [&] {
    const Tensor out = graph_attention(graph, leaves[0], leaves[1], leaves[2],
                                       {.dropout = 0.4, .kernel = kernel, .deterministic = deterministic});
    sum(square(out)).backward();
    return std::vector{out};
  };
  CapturedStep step(device, attend, leaves);
  std::vector<Tensor> outcome;
  for (int i = 0; i < 4; ++i) {
    for (Tensor& leaf : leaves) leaf.clear_grad();
    outcome.push_back((captured ? step.run() : attend())[0].detach().to(Device::cpu()));
    for (const Tensor& leaf : leaves) outcome.push_back(leaf.grad().to(Device::cpu()));
  }
  return outcome;
}

TEST_F(GpuCapturedStep, DropsOtherAttentionWeightsInEachReplayAsInEachPlainStep) {
  for (const AttentionKernel kernel : {AttentionKernel::row, AttentionKernel::tile}) {
    SCOPED_TRACE(kernel == AttentionKernel::row ? "rows" : "tiles");
    const std::vector<Tensor> plain = attended(false, kernel, true), captured = attended(true, kernel, true);
    ASSERT_EQ(plain.size(), captured.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(i);
      test::expect_same_bits(captured[i], plain[i]);
    }
    EXPECT_NE(captured[8].to_vector<float>(), captured[12].to_vector<float>()) << "two replays";
  }
}

TEST_F(GpuCapturedStep, DropsTheSameAttentionWeightsWhereSumsAreAtomic) {
  const std::vector<Tensor> plain = attended(false, AttentionKernel::tile, false),
                            captured = attended(true, AttentionKernel::tile, false);
  for (std::size_t i = 0; i < plain.size(); ++i) test::expect_close(captured[i], plain[i]);
}

TEST_F(GpuCapturedStep, RefusesWeightsThatTheHostDrops) {
  EXPECT_THAT(test::error_message<DeviceError>([] { attended(true, AttentionKernel::composed, true); }),
              HasSubstr("dropout of attention weights"));
}

TEST(CapturedStep, CallsTheFunctionEachTimeOnTheCpu) {
  int calls = 0;
  Tensor x = full({2}, 3).set_requires_grad(true);
  CapturedStep step(Device::cpu(),
                    [&] {
                      ++calls;
                      const Tensor loss = sum(square(x));
                      loss.backward();
                      return std::vector{loss};
                    },
                    {x});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step.run()[0].item<float>(), 18);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(step.captured());
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(2, 6)) << "gradients of one step, not of three";
}

}  // namespace
}  // namespace bough
