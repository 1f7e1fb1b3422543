#include "bough/core/captured_step.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/layers.h"
#include "bough/nn/optimizer.h"
#include "bough/nn/schedule.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

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

enum class Execution { plain, captured, captured_with_optimizer };

/// The model with all that its training changes. Each step has other tokens, some of which do not count, and another
/// learning rate.
class Training {
 public:
  explicit Training(Execution execution) : execution_(execution) {}

  /// The loss of a step, counted from 1.
  Tensor step(std::uint64_t number) {
    inputs_.assign(test::random_indices({length}, 0, vocabulary, DType::int32, number).to(device_));
    targets_.assign(test::random_indices({length}, 0, vocabulary, DType::int32, number + 10).to(device_));
    optimizer_.set_learning_rate(rate_(static_cast<std::int64_t>(number)));
    const Tensor loss =
        (execution_ == Execution::plain ? loss_and_gradients() : captured_.run())[0].detach().to(Device::cpu());
    // Others use the device meanwhile and must not find the memory of the step.
    const Tensor other = test::random_tensor({40, 40}, DType::float32, number).to(device_);
    const Tensor product = linear(other, other);
    if (execution_ != Execution::captured_with_optimizer) norms_.push_back(optimizer_.step());
    if (execution_ == Execution::plain) optimizer_.clear_grad();
    test::expect_close(product.to(Device::cpu()), linear(other.to(Device::cpu()), other.to(Device::cpu())));
    return loss;
  }

  /// Parameters, moments and numbers, on the CPU.
  std::vector<Tensor> state() const {
    std::vector<Tensor> result;
    for (const Tensor& parameter : model_.parameters()) result.push_back(parameter.detach().to(Device::cpu()));
    for (const auto& [name, tensor] : optimizer_.state()) result.push_back(tensor.to(Device::cpu()));
    result.push_back(
        Tensor::from_vector<std::int64_t>({static_cast<std::int64_t>(default_generator().state().stream)}, {1}));
    return result;
  }
  /// Whether clipping has had something to do in some steps only.
  bool clipped_some() const {
    return std::ranges::any_of(norms_, [](double norm) { return norm > limit; }) &&
           std::ranges::any_of(norms_, [](double norm) { return norm < limit; });
  }
  bool captured() const { return captured_.captured(); }
  nn::Module& model() { return model_; }
  nn::CheckpointParts parts() { return {.optimizer = &optimizer_, .generator = &default_generator()}; }

 private:
  static constexpr double limit = 2.9;

  std::vector<Tensor> loss_and_gradients() {
    const Tensor loss = cross_entropy(
        model_.embedding.project(model_.transformer.forward(schedule_, model_.embedding.forward(inputs_))), targets_,
        {.ignore_index = 0});
    loss.backward();
    return {loss};
  }

  Execution execution_;
  Device device_ = Device::cuda();
  AttentionGraph graph_ = generators().make("bpt", {{"k", 1}})->build({.length = length, .causal = true});
  nn::LayerSchedule schedule_ = nn::make_layer_schedule(graph_, {.layers = layers}).to(device_);
  Model model_{graph_};
  nn::AdamW optimizer_{(model_.to(device_), model_.named_parameters()), {.weight_decay = 0.1, .clip_norm = limit}};
  nn::Schedule rate_ = nn::warmup_cosine({.rate = 0.01, .warmup = 3, .steps = 8});
  Tensor inputs_ = Tensor::empty({length}, DType::int32, device_),
         targets_ = Tensor::empty({length}, DType::int32, device_);
  std::vector<double> norms_;
  CapturedStep captured_{device_,
                         [this] {
                           std::vector<Tensor> results = loss_and_gradients();
                           if (execution_ == Execution::captured_with_optimizer) {
                             results.push_back(optimizer_.enqueue_step());
                           }
                           return results;
                         },
                         model_.parameters()};
};

/// Losses of all steps and the state after them.
std::vector<Tensor> trained(Execution execution) {
  manual_seed(4);
  Training training(execution);
  std::vector<Tensor> outcome;
  for (std::uint64_t i = 1; i <= 6; ++i) outcome.push_back(training.step(i));
  EXPECT_EQ(training.captured(), execution != Execution::plain);
  EXPECT_TRUE(execution != Execution::plain || training.clipped_some());
  for (const Tensor& tensor : training.state()) outcome.push_back(tensor);
  return outcome;
}

void expect_same_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    test::expect_same_bits(actual[i], expected[i]);
  }
}

TEST_F(GpuCapturedStep, TrainsBitForBitAsPlainExecution) {
  expect_same_bits(trained(Execution::captured), trained(Execution::plain));
}

TEST_F(GpuCapturedStep, TrainsBitForBitWithTheOptimizerInside) {
  expect_same_bits(trained(Execution::captured_with_optimizer), trained(Execution::plain));
}

TEST_F(GpuCapturedStep, GoesOnBitForBitFromACheckpoint) {
  const test::TemporaryFolder folder;
  const auto resumed = [&](Execution execution) {
    {
      manual_seed(4);
      Training first(execution);
      for (std::uint64_t i = 1; i <= 3; ++i) first.step(i);
      nn::save_checkpoint(folder.file("checkpoint"), first.model(), first.parts());
    }
    manual_seed(99);
    Training second(execution);
    if (execution == Execution::captured_with_optimizer) {
      for (std::uint64_t i = 1; i <= 3; ++i) second.step(i + 20);  // captured before it knows what it goes on with
    }
    nn::load_checkpoint(folder.file("checkpoint"), second.model(), second.parts());
    std::vector<Tensor> outcome;
    for (std::uint64_t i = 4; i <= 6; ++i) outcome.push_back(second.step(i));
    for (const Tensor& tensor : second.state()) outcome.push_back(tensor);
    return outcome;
  };
  std::vector<Tensor> whole = trained(Execution::plain);
  whole.erase(whole.begin(), whole.begin() + 3);
  expect_same_bits(resumed(Execution::plain), whole);
  expect_same_bits(resumed(Execution::captured_with_optimizer), whole);
}

/// Parameters of two types, whose gradients are those of sum(factor * p^2 / 2), after some steps of another rate each.
std::vector<Tensor> stepped(
    bool captured,
    const std::function<std::unique_ptr<nn::Optimizer>(const nn::Module::NamedTensors&)>& make_optimizer) {
  const Device device = Device::cuda();
  Tensor a = test::random_tensor({5000}, DType::float32, 1).to(device).set_requires_grad(true),
         b = test::random_tensor({30}, DType::float64, 2).to(device).set_requires_grad(true),
         factor = ones({}, DType::float32, device);
  const auto optimizer = make_optimizer({{"a", a}, {"b", b}});
  const auto gradients = [&] {
    a.set_grad(a.detach() * factor);
    b.set_grad(b.detach() * cast(factor, DType::float64));
  };
  CapturedStep step(device, [&] {
    gradients();
    return std::vector{optimizer->enqueue_step(0.5)};
  });
  std::vector<Tensor> outcome;
  for (int i = 1; i <= 4; ++i) {
    factor.fill(i == 2 ? 0.001 : 1);
    optimizer->set_learning_rate(0.01 * i);
    if (captured) {
      outcome.push_back(step.run()[0].to(Device::cpu()));
    } else {
      gradients();
      outcome.push_back(full({}, optimizer->step(0.5), DType::float64));
    }
  }
  EXPECT_EQ(optimizer->steps(), 4);
  for (const Tensor& parameter : {a, b}) outcome.push_back(parameter.detach().to(Device::cpu()));
  return outcome;
}

TEST_F(GpuCapturedStep, EveryOptimizerStepsInsideAsOutside) {
  using Parameters = nn::Module::NamedTensors;
  expect_same_bits(stepped(true, [](const Parameters& p) { return std::make_unique<nn::Sgd>(p); }),
                   stepped(false, [](const Parameters& p) { return std::make_unique<nn::Sgd>(p); }));
  const nn::SgdOptions momentum{.momentum = 0.9, .weight_decay = 0.1, .nesterov = true, .clip_norm = 1};
  expect_same_bits(stepped(true, [&](const Parameters& p) { return std::make_unique<nn::Sgd>(p, momentum); }),
                   stepped(false, [&](const Parameters& p) { return std::make_unique<nn::Sgd>(p, momentum); }));
  const nn::AdamOptions adam{.weight_decay = 0.1, .clip_norm = 1};
  expect_same_bits(stepped(true, [&](const Parameters& p) { return std::make_unique<nn::Adam>(p, adam); }),
                   stepped(false, [&](const Parameters& p) { return std::make_unique<nn::Adam>(p, adam); }));
  const nn::AdamWOptions of_one{.weight_decay = 0.1, .decayed = {{"a"}}};
  expect_same_bits(stepped(true, [&](const Parameters& p) { return std::make_unique<nn::AdamW>(p, of_one); }),
                   stepped(false, [&](const Parameters& p) { return std::make_unique<nn::AdamW>(p, of_one); }));
}

TEST_F(GpuCapturedStep, AnInfiniteNormChangesNothing) {
  const Device device = Device::cuda();
  Tensor p = ones({3}, DType::float32, device).set_requires_grad(true), gradient = ones({3}, DType::float32, device);
  nn::AdamW optimizer({{"p", p}});
  CapturedStep step(device, [&] {
    p.set_grad(gradient * 2);
    return std::vector{optimizer.enqueue_step()};
  });
  for (int i = 0; i < 3; ++i) step.run();
  const std::vector<float> before = p.to_vector<float>();
  gradient.fill(std::numeric_limits<double>::infinity());
  EXPECT_EQ(step.run()[0].item<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(p.to_vector<float>(), before);
  gradient.fill(1);
  EXPECT_NEAR(step.run()[0].item<double>(), std::sqrt(12.0), 1e-12);
  EXPECT_NE(p.to_vector<float>(), before);
  EXPECT_EQ(optimizer.steps(), 5);
}

TEST_F(GpuCapturedStep, NumbersOfTheHostChangeFromReplayToReplay) {
  double number = 0;
  const Tensor x = ones({2}, DType::float64, Device::cuda());
  CapturedStep step(Device::cuda(), [&] {
    const Tensor scratch = x * 3;  // its memory is free again when the numbers ask for some
    const Tensor numbers = changing_numbers(Device::cuda(), 2, [&](std::span<double> now) {
      now[0] = number;
      now[1] = -number;
    });
    return std::vector{x * numbers, numbers * 2};
  });
  for (const double value : {1.0, 2.0, 3.0, 4.0}) {
    number = value;
    const std::vector<Tensor>& results = step.run();
    EXPECT_EQ(results[0].to_vector<double>(), (std::vector<double>{value, -value}));
    EXPECT_EQ(results[1].to_vector<double>(), (std::vector<double>{2 * value, -2 * value}));
  }
}

TEST_F(GpuCapturedStep, RefusesMoreChangingNumbersThanAReplayTakes) {
  const auto nothing = [](std::span<double>) {};
  CapturedStep step(Device::cuda(), [&] {
    return std::vector{changing_numbers(Device::cuda(), 20, nothing), changing_numbers(Device::cuda(), 12, nothing)};
  });
  step.run();
  EXPECT_THAT(test::error_message<ConfigError>([&] { step.run(); }), HasSubstr("31 numbers"));
}

TEST_F(GpuCapturedStep, KeepsWhatTheHostGaveWhenItWasCaptured) {
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
  EXPECT_THAT(test::error_message<DeviceError>([&] { step.run(); }),
              AllOf(HasSubstr("step that is captured"), HasSubstr("host")));
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
    expect_same_bits(captured, plain);
    EXPECT_NE(captured[8].to_vector<float>(), captured[12].to_vector<float>()) << "two replays";
  }
}

TEST_F(GpuCapturedStep, DropsTheSameAttentionWeightsWhereSumsAreAtomic) {
  const std::vector<Tensor> plain = attended(false, AttentionKernel::tile, false),
                            captured = attended(true, AttentionKernel::tile, false);
  for (std::size_t i = 0; i < plain.size(); ++i) test::expect_close(captured[i], plain[i]);
}

TEST_F(GpuCapturedStep, RefusesWeightsThatTheHostDrops) {
  EXPECT_THAT(test::error_message<DeviceError>([] { attended(true, AttentionKernel::unfused, true); }),
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
