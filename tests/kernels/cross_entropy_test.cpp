#include "bough/ops/cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "kernels/reference/cross_entropy.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/fixtures.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float inf = std::numeric_limits<float>::infinity();

Reduction reduction_named(const std::string& name) {
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

class CrossEntropy : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, CrossEntropy, testing::ValuesIn(every_device), device_name);

TEST_P(CrossEntropy, AgreesWithTorch) {
  const nlohmann::json cases = read_fixture("torch_losses_and_norms.json").at("cross_entropy");
  ASSERT_FALSE(cases.empty());
  for (const auto& c : cases) {
    SCOPED_TRACE(c.at("reduction").dump() + " smoothing " + c.at("label_smoothing").dump() + " ignoring " +
                 c.at("ignore_index").dump());
    Tensor logits = here(Tensor::from_vector(c.at("logits").get<std::vector<double>>(), {5, 7}));
    const Tensor targets = here(Tensor::from_vector(c.at("targets").get<std::vector<std::int64_t>>(), {5}));
    logits.set_requires_grad(true);
    const Tensor loss = cross_entropy(logits, targets,
                                      {.ignore_index = c.at("ignore_index"),
                                       .label_smoothing = c.at("label_smoothing"),
                                       .reduction = reduction_named(c.at("reduction"))});
    expect_close(loss, c.at("loss").get<std::vector<double>>());
    std::vector<double> seed(static_cast<std::size_t>(loss.elements()));
    std::iota(seed.begin(), seed.end(), 1.0);
    loss.backward({.gradient = here(Tensor::from_vector(seed, loss.shape()))});
    expect_close(logits.grad(), c.at("gradient").get<std::vector<double>>());
  }
}

TEST_P(CrossEntropy, MatchesTheReferenceForAllSizes) {
  on_every_simd_target(device(), [&] {
    for (const auto& [rows, classes] :
         std::vector<std::array<std::int64_t, 2>>{{0, 3}, {1, 1}, {4, 2}, {5, 16}, {7, 33}, {300, 257}, {3, 9001}}) {
      for (DType dtype : {DType::float32, DType::float64}) {
        for (DType target_type : {DType::int32, DType::int64}) {
          for (double smoothing : {0.0, 0.3}) {
            if (rows * classes > most_elements()) continue;
            SCOPED_TRACE(testing::Message() << rows << " rows, " << classes << " classes");
            const Tensor logits = here(random_tensor({rows, classes}, dtype));
            Tensor targets = here(random_indices({rows}, 0, classes, target_type));
            const std::vector<double> losses = reference::cross_entropy(
                logits.to_vector<double>(), classes, targets.to_vector<std::int64_t>(), 1, smoothing);
            const CrossEntropyOptions options{.ignore_index = 1, .label_smoothing = smoothing};
            CrossEntropyOptions none = options, sum = options;
            none.reduction = Reduction::none;
            sum.reduction = Reduction::sum;
            expect_close(cross_entropy(logits, targets, none), losses);
            const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
            expect_close(cross_entropy(logits, targets, sum), std::vector<double>{total});
            const std::vector<std::int64_t> classes_given = targets.to_vector<std::int64_t>();
            const auto counted = rows - std::ranges::count(classes_given, 1);
            expect_close(cross_entropy(logits, targets, options),
                         std::vector<double>{counted == 0 ? 0.0 : total / static_cast<double>(counted)});
          }
        }
      }
    }
  });
}

TEST_P(CrossEntropy, TakesTargetsOfAnyShape) {
  const Tensor logits = here(random_tensor({2, 3, 4})), targets = here(random_indices({2, 3}, 0, 4));
  expect_same_bits(cross_entropy(logits, targets), cross_entropy(logits.reshape({6, 4}), targets.reshape({6})));
  EXPECT_EQ(cross_entropy(logits, targets, {.reduction = Reduction::none}).shape(), (Shape{2, 3}));
  EXPECT_EQ(cross_entropy(here(random_tensor({4})), here(zeros({}, DType::int64))).shape(), Shape{});
}

TEST_P(CrossEntropy, GradientMatchesFiniteDifferences) {
  const Tensor logits = random_tensor({4, 5}, DType::float64);
  const Tensor targets = Tensor::from_vector<std::int64_t>({0, -100, 4, 2}, {4});
  for (Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    for (double smoothing : {0.0, 0.2, 1.0}) {
      expect_gradient(
          [&](const auto& in) {
            return cross_entropy(in[0], in[1], {.label_smoothing = smoothing, .reduction = reduction});
          },
          {logits, targets});
    }
  }
}

TEST_P(CrossEntropy, SurvivesScoresOfTenThousand) {
  for (double shift : {1e4, -1e4}) {
    const Tensor small = random_tensor({20, 30}, DType::float64), targets = random_indices({20}, 0, 30);
    std::vector<float> shifted;
    for (double value : small.to_vector<double>())
      shifted.push_back(static_cast<float>(std::round(64 * value) / 64 + shift));
    Tensor logits = here(Tensor::from_vector(shifted, {20, 30}));
    logits.set_requires_grad(true);
    const Tensor losses = cross_entropy(logits, here(targets), {.label_smoothing = 0.1, .reduction = Reduction::none});
    const std::vector<double> values(shifted.begin(), shifted.end());
    expect_close(losses, reference::cross_entropy(values, 30, targets.to_vector<std::int64_t>(), -100, 0.1));
    losses.backward({.gradient = here(ones({20}))});
    std::vector<double> expected = reference::softmax(values, 20, 30, 1);
    for (std::int64_t i = 0; i < 600; ++i) {
      expected[i] -= 0.1 / 30 + (i % 30 == targets.data<std::int64_t>()[i / 30] ? 0.9 : 0.0);
    }
    expect_close(logits.grad(), expected);
  }
}

TEST_P(CrossEntropy, AllTargetsIgnoredGiveZeroLossAndGradient) {
  for (std::int64_t classes : {3, 0}) {
    for (Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
      Tensor logits = here(random_tensor({4, classes}));
      logits.set_requires_grad(true);
      const Tensor loss =
          cross_entropy(logits, here(full({4}, -1, DType::int32)), {.ignore_index = -1, .reduction = reduction});
      for (float value : loss.to_vector<float>()) EXPECT_EQ(value, 0);
      loss.backward({.gradient = here(ones(loss.shape()))});
      expect_same_bits(logits.grad(), zeros({4, classes}));
    }
  }
}

TEST_P(CrossEntropy, ImpossibleTargetsCostInfinityAndIgnoredRowsMayHoldAnything) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor logits = here(Tensor::from_vector<float>({0, -inf, -inf, -inf, nan, inf, 0, -inf}, {4, 2}));
  logits.set_requires_grad(true);
  const Tensor targets = here(Tensor::from_vector<std::int64_t>({1, 0, -100, 0}, {4}));
  const Tensor loss = cross_entropy(logits, targets, {.reduction = Reduction::none});
  EXPECT_EQ(loss.to_vector<float>(), (std::vector<float>{inf, inf, 0, 0}));
  loss.backward({.gradient = here(ones({4}))});
  EXPECT_EQ(logits.grad().to_vector<float>(), (std::vector<float>{1, -1, -1, 0, 0, 0, 0, 0}));
}

TEST_P(CrossEntropy, CompleteSmoothingOverAnImpossibleClassCostsInfinity) {
  Tensor logits = here(Tensor::from_vector<float>({0, -inf, 0, 0}, {2, 2})).set_requires_grad(true);
  const Tensor targets = here(Tensor::from_vector<std::int64_t>({1, 1}, {2}));
  const Tensor loss = cross_entropy(logits, targets, {.label_smoothing = 1, .reduction = Reduction::none});
  expect_close(loss, std::vector<double>{inf, std::log(2.0)});
  loss.backward({.gradient = here(ones({2}))});
  expect_close(logits.grad(), std::vector<double>{0.5, -0.5, 0, 0});
}

TEST(CrossEntropy, KeepsNoProbabilities) {
  Tensor logits = random_tensor({1000, 500});
  logits.set_requires_grad(true);
  const Tensor targets = random_indices({1000}, 0, 500);
  Tensor loss;
  EXPECT_LT(peak_bytes([&] { loss = cross_entropy(logits, targets); }), 100'000);
}

TEST(CrossEntropy, TargetsOverwrittenAfterwardsDoNoHarm) {
  Tensor logits = random_tensor({3, 2}), targets = zeros({3}, DType::int64);
  logits.set_requires_grad(true);
  const Tensor loss = cross_entropy(logits, targets, {.reduction = Reduction::sum});
  targets.data<std::int64_t>()[0] = 1 << 30;
  loss.backward();
  for (int row : {0, 1, 2}) EXPECT_LT(logits.grad().data<float>()[2 * row], 0);
}

TEST(CrossEntropy, IsBitwiseEqualForOneTwoAndSevenThreads) {
  Tensor logits = random_tensor({3000, 90});
  const Tensor targets = random_indices({3000}, 0, 90);
  logits.set_requires_grad(true);
  expect_same_bits_for_threads([&] {
    logits.clear_grad();
    const Tensor loss = cross_entropy(logits, targets, {.ignore_index = 3, .label_smoothing = 0.1});
    loss.backward();
    return std::vector<Tensor>{loss.detach(), logits.grad()};
  });
}

TEST_P(CrossEntropy, NamesWhatDoesNotFit) {
  const Tensor logits = here(zeros({3, 4}));
  EXPECT_THAT(
      [&] {
        cross_entropy(logits, here(Tensor::from_vector<std::int64_t>({0, -100, 4}, {3})));
      },
      ThrowsMessage<IndexError>(AllOf(HasSubstr("target 4 of row 2"), HasSubstr("4 classes"))));
  EXPECT_THAT(
      [&] {
        cross_entropy(logits, here(Tensor::from_vector<std::int32_t>({0, -1, 3}, {3})));
      },
      ThrowsMessage<IndexError>(HasSubstr("target -1 of row 1")));
  EXPECT_THAT([&] { cross_entropy(logits, here(zeros({2}, DType::int64))); },
              ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 4]"), HasSubstr("[2]"))));
  EXPECT_THROW(cross_entropy(here(zeros({})), here(zeros({}, DType::int64))), ShapeError);
  EXPECT_THAT([&] { cross_entropy(logits, here(zeros({3}))); }, ThrowsMessage<TypeError>(HasSubstr("float32")));
  EXPECT_THAT(
      [&] {
        cross_entropy(here(zeros({3, 4}, DType::int64)), here(zeros({3}, DType::int64)));
      },
      ThrowsMessage<TypeError>(HasSubstr("int64")));
  for (double smoothing : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(cross_entropy(logits, here(zeros({3}, DType::int64)), {.label_smoothing = smoothing}), ConfigError);
  }
}

}  // namespace
}  // namespace bough
