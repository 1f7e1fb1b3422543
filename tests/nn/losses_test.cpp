#include "bough/nn/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/core/errors.h"
#include "bough/ops/cast.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/gradient.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using test::random_tensor;
using test::random_uniform;
using Values = std::vector<double>;

/// -t log p - (1 - t) log(1 - p), from the definition, in double precision.
Values plain_losses(const Tensor& logits, const Tensor& targets) {
  const Values x = logits.to_vector<double>(), t = targets.to_vector<double>();
  Values result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double yes = 1 / (1 + std::exp(-x[i])), no = 1 / (1 + std::exp(x[i]));
    result.push_back(-t[i] * std::log(yes) - (1 - t[i]) * std::log(no));
  }
  return result;
}

TEST(BinaryCrossEntropy, IsWhatItsDefinitionSays) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = random_tensor({7, 11}, dtype), t = random_uniform({7, 11}, 0, 1, dtype, 2);
    const Values expected = plain_losses(x, t);
    double total = 0;
    for (const double loss : expected) total += loss;
    test::expect_close(binary_cross_entropy(x, t, {.reduction = Reduction::none}),
                       Tensor::from_vector(expected, {7, 11}), dtype);
    test::expect_close(binary_cross_entropy(x, t), Values{total / 77});
    test::expect_close(binary_cross_entropy(x, t, {.reduction = Reduction::sum}), Values{total});
  }
}

TEST(BinaryCrossEntropy, AgreesWithTorch) {
  // torch.nn.functional.binary_cross_entropy_with_logits in double precision.
  Tensor x = Tensor::from_vector(Values{-30, -1.5, 0, 0.25, 12}, {5});
  x.set_requires_grad(true);
  const Tensor t = Tensor::from_vector(Values{0, 1, 0.5, 0.9, 0.1}, {5});
  const Tensor losses = binary_cross_entropy(x, t, {.reduction = Reduction::none});
  test::expect_close(losses, Values{9.2370555648813024e-14, 1.7014132779827524, 0.69314718055994529,
                                    0.60093941987884358, 10.800006144193478});
  sum(losses).backward();
  test::expect_close(
      x.grad(), Values{9.3576229688392989e-14, -0.81757447619364365, 0, -0.33782349911420195, 0.89999385582539781});
}

TEST(BinaryCrossEntropy, GradientMatchesFiniteDifferences) {
  const Tensor x = random_tensor({4, 5}, DType::float64), t = random_uniform({4, 5}, 0, 1, DType::float64, 2);
  const Tensor weights = random_uniform({4, 5}, 0, 3, DType::float64, 3);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    test::expect_gradient(
        [&](const std::vector<Tensor>& in) {
          return binary_cross_entropy(in[0], t, {.weights = weights, .reduction = reduction});
        },
        {x});
  }
}

TEST(BinaryCrossEntropy, StaysPreciseFarFromZero) {
  Tensor x = Tensor::from_vector(std::vector<float>{40, -40, 1e4f, -1e4f, 1e4f, -1e4f}, {6});
  x.set_requires_grad(true);
  const Tensor t = Tensor::from_vector(std::vector<float>{1, 0, 1, 0, 0, 1}, {6});
  const Tensor losses = binary_cross_entropy(x, t, {.reduction = Reduction::none});
  const double tiny = std::exp(-40.0);
  test::expect_close(losses, Tensor::from_vector(Values{tiny, tiny, 0, 0, 1e4, 1e4}, {6}), {1e-5, 0});
  sum(losses).backward();
  test::expect_close(x.grad(), Tensor::from_vector(Values{-tiny, tiny, 0, 0, 1, -1}, {6}), {1e-5, 0});
}

TEST(BinaryCrossEntropy, WeightZeroLeavesAnElementOut) {
  const Tensor x = random_tensor({6}), t = random_uniform({6}, 0, 1);
  const Tensor weights = Tensor::from_vector(std::vector<float>{1, 1, 1, 1, 0, 0}, {6});
  test::expect_close(binary_cross_entropy(x, t, {.weights = weights}),
                     binary_cross_entropy(x.rows(0, 4), t.rows(0, 4)));
}

TEST(BinaryCrossEntropy, OfNothingIsZero) {
  Tensor x = random_tensor({3});
  x.set_requires_grad(true);
  const Tensor none = binary_cross_entropy(zeros({0, 4}), zeros({0, 4}));
  const Tensor masked = binary_cross_entropy(x, ones({3}), {.weights = zeros({3})});
  masked.backward();
  EXPECT_EQ(none.item<float>(), 0);
  EXPECT_EQ(masked.item<float>(), 0);
  test::expect_close(x.grad(), Values{0, 0, 0});
}

TEST(BinaryCrossEntropy, TakesTargetsOfAnyType) {
  const Tensor x = random_tensor({50}), yes = random_tensor({50}, DType::boolean);
  test::expect_same_bits(binary_cross_entropy(x, yes), binary_cross_entropy(x, cast(yes, DType::float32)));
  test::expect_same_bits(binary_cross_entropy(x, cast(yes, DType::int64)), binary_cross_entropy(x, yes));
}

TEST(BinaryCrossEntropy, RefusesWhatMakesNoSense) {
  const Tensor x = zeros({2});
  const auto values = [](float a, float b) { return Tensor::from_vector(std::vector<float>{a, b}, {2}); };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(binary_cross_entropy(x, zeros({3})), ShapeError);
  EXPECT_THROW(binary_cross_entropy(x, values(0, 1.5f)), ConfigError);
  EXPECT_THROW(binary_cross_entropy(x, values(-0.1f, 1)), ConfigError);
  EXPECT_THROW(binary_cross_entropy(x, values(0, nan)), ConfigError);
  EXPECT_THROW(binary_cross_entropy(x, x, {.weights = values(1, -1)}), ConfigError);
  EXPECT_THROW(binary_cross_entropy(x, x, {.weights = values(1, infinity)}), ConfigError);
  EXPECT_THROW(binary_cross_entropy(x, x, {.weights = zeros({1})}), ShapeError);
  EXPECT_THROW(binary_cross_entropy(zeros({2}, DType::int64), x), TypeError);
}

TEST(BinaryCrossEntropy, IsTheSameForAnyNumberOfThreads) {
  Tensor x = random_tensor({300'000});
  x.set_requires_grad(true);
  const Tensor t = random_uniform({300'000}, 0, 1);
  test::expect_same_bits_for_threads([&]() -> std::vector<Tensor> {
    x.clear_grad();
    const Tensor loss = binary_cross_entropy(x, t);
    loss.backward();
    return {loss.detach(), x.grad()};
  });
}

TEST(AuxiliaryLosses, FadeInAStraightLine) {
  const AuxiliaryLosses auxiliary({.layers = 5, .steps = 200, .weight = 2, .until = 0.5});
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 1), 0.5);
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 51), 0.25);
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 101), 0);
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 1000), 0);
    EXPECT_DOUBLE_EQ(auxiliary.weight(4, 1), 0) << "the last layer has the main loss";
  }
  EXPECT_TRUE(auxiliary.active(100));
  EXPECT_FALSE(auxiliary.active(101));
}

TEST(AuxiliaryLosses, LeaveOneByOneFromBelow) {
  // Layer i of n stops after i / 2n of the training.
  const AuxiliaryLosses auxiliary({.layers = 4, .steps = 800, .weight = 3, .until = 0.5, .fade = Fade::one_by_one});
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 1), 1);
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 100 * (layer + 1)), 1);
    EXPECT_DOUBLE_EQ(auxiliary.weight(layer, 100 * (layer + 1) + 1), 0);
  }
  EXPECT_TRUE(auxiliary.active(300));
  EXPECT_FALSE(auxiliary.active(301));
}

TEST(AuxiliaryLosses, AreAddedByWeightAndNotNeededOnceFaded) {
  const AuxiliaryLosses auxiliary({.layers = 3, .steps = 10, .weight = 2, .until = 1});
  const auto scalar = [](double value) { return full({}, value); };
  EXPECT_FLOAT_EQ(auxiliary.total(scalar(1), {scalar(10), scalar(100)}, 1).item<float>(), 111);
  EXPECT_FLOAT_EQ(auxiliary.total(scalar(1), {scalar(10), scalar(100)}, 6).item<float>(), 56);
  EXPECT_FLOAT_EQ(auxiliary.total(scalar(1), {{}, {}}, 11).item<float>(), 1);
  EXPECT_THROW(auxiliary.total(scalar(1), {scalar(1)}, 1), ShapeError);
}

TEST(AuxiliaryLosses, AsAMeanByLayerAreThoseOfAPlainLoop) {
  for (const std::int64_t layers : {1, 2, 3, 12}) {
    for (const std::int64_t steps : {1, 5, 24, 100}) {
      const AuxiliaryLosses auxiliary({.layers = layers, .steps = steps, .fade = Fade::mean_by_layer});
      for (std::int64_t step = 1; step <= steps; ++step) {
        double sum = 0, count = 0;
        std::vector<Tensor> losses;
        for (std::int64_t i = 1; i <= layers; ++i) {
          // i > n p without rounding: p = (step - 1) / steps
          const bool takes_part = i * steps > layers * (step - 1);
          const double loss = 1 + 0.25 * static_cast<double>(i * i);
          if (takes_part) sum += loss, ++count;
          losses.push_back(takes_part ? full({}, loss) : Tensor());
        }
        ASSERT_TRUE(losses.back().defined()) << "the last layer always takes part";
        ASSERT_EQ(auxiliary.first_layer(step), layers - static_cast<std::int64_t>(count));
        ASSERT_EQ(auxiliary.active(step), count > 1);
        const Tensor main = losses.back();
        losses.pop_back();
        ASSERT_NEAR(auxiliary.total(main, losses, step).item<float>(), sum / count, 1e-5)
            << layers << " layers, step " << step << " of " << steps;
      }
    }
  }
}

TEST(AuxiliaryLosses, NameTheLowestLayerThatCounts) {
  const AuxiliaryLosses linear({.layers = 4, .steps = 100, .until = 0.5});
  EXPECT_EQ(linear.first_layer(1), 0);
  EXPECT_EQ(linear.first_layer(50), 0);
  EXPECT_EQ(linear.first_layer(51), 3);
  EXPECT_EQ(linear.main_weight(1), 1);
  const AuxiliaryLosses one_by_one({.layers = 4, .steps = 800, .until = 0.5, .fade = Fade::one_by_one});
  EXPECT_EQ(one_by_one.first_layer(100), 0);
  EXPECT_EQ(one_by_one.first_layer(101), 1);
}

TEST(AuxiliaryLosses, OfOneLayerOrNoTimeAreNone) {
  EXPECT_FALSE(AuxiliaryLosses({.layers = 1, .steps = 10}).active(1));
  EXPECT_FALSE(AuxiliaryLosses({.layers = 3, .steps = 10, .until = 0}).active(1));
}

TEST(AuxiliaryLosses, RefuseWhatMakesNoSense) {
  EXPECT_THROW(AuxiliaryLosses({.layers = 0}), ConfigError);
  EXPECT_THROW(AuxiliaryLosses({.steps = 0}), ConfigError);
  EXPECT_THROW(AuxiliaryLosses({.weight = -1}), ConfigError);
  EXPECT_THROW(AuxiliaryLosses({.until = 1.5}), ConfigError);
  EXPECT_THROW(AuxiliaryLosses({.layers = 2}).weight(2, 1), IndexError);
  EXPECT_THROW(AuxiliaryLosses({.layers = 2}).weight(0, 0), IndexError);
}

}  // namespace
}  // namespace bough::nn
