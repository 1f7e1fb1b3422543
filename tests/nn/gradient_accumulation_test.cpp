#include "bough/nn/gradient_accumulation.h"

#include <gtest/gtest.h>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/layers.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

constexpr std::int64_t rows = 24, classes = 5, ignored = -100;

/// Some targets are ignored, and not the same number in every part.
Tensor targets() {
  Tensor result = test::random_indices({rows}, 0, classes);
  for (const std::int64_t row : {0, 1, 2, 3, 5, 20}) result.data<std::int64_t>()[row] = ignored;
  return result;
}

double num_targets(const Tensor& targets) {
  double count = 0;
  for (const std::int64_t target : targets.span<std::int64_t>()) count += target == ignored ? 0 : 1;
  return count;
}

/// Three steps of Adam with clipping, each from `parts` micro-batches; the parameters and the last norm.
std::vector<Tensor> train(std::int64_t parts) {
  manual_seed(1);
  Linear model({.in = 6, .out = classes});
  Adam optimizer(model.named_parameters(), {.learning_rate = 0.1, .clip_norm = 0.2});
  GradientAccumulation accumulation(optimizer);
  const Tensor x = test::random_tensor({rows, 6}), y = targets();
  double norm = 0, loss = 0;
  for (int step = 0; step < 3; ++step) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = part * rows / parts, end = (part + 1) * rows / parts;
      accumulation.add(cross_entropy(model.forward(x.rows(begin, end)), y.rows(begin, end)),
                       num_targets(y.rows(begin, end)));
    }
    loss = accumulation.mean_loss();
    norm = accumulation.step();
  }
  return {model.weight.detach(), model.bias.detach(), full({}, norm), full({}, loss)};
}

/// The same without accumulation.
std::vector<Tensor> train_on_the_whole_batch() {
  manual_seed(1);
  Linear model({.in = 6, .out = classes});
  Adam optimizer(model.named_parameters(), {.learning_rate = 0.1, .clip_norm = 0.2});
  const Tensor x = test::random_tensor({rows, 6}), y = targets();
  double norm = 0, value = 0;
  for (int step = 0; step < 3; ++step) {
    optimizer.clear_grad();
    const Tensor loss = cross_entropy(model.forward(x), y);
    loss.backward();
    value = loss.item<double>();
    norm = optimizer.step();
  }
  return {model.weight.detach(), model.bias.detach(), full({}, norm), full({}, value)};
}

TEST(GradientAccumulation, OfAnyNumberOfPartsEqualsTheLargeBatch) {
  const std::vector<Tensor> expected = train_on_the_whole_batch();
  for (const std::int64_t parts : {1, 2, 5, 12, 24}) {  // the first of 24 parts holds nothing but an ignored target
    SCOPED_TRACE(parts);
    const std::vector<Tensor> actual = train(parts);
    for (std::size_t i = 0; i < expected.size(); ++i) test::expect_close(actual[i], expected[i]);
  }
}

TEST(GradientAccumulation, StartsEachRoundFromNothing) {
  Tensor p = full({1}, 1);
  p.set_requires_grad(true);
  Sgd optimizer({{"p", p}}, {.learning_rate = 1});
  GradientAccumulation accumulation(optimizer);
  sum(p * 1000.0).backward();  // left over from something else
  accumulation.add(sum(p * 2.0));
  accumulation.add(sum(p * 4.0));
  EXPECT_EQ(accumulation.count(), 2);
  EXPECT_DOUBLE_EQ(accumulation.mean_loss(), 3);
  EXPECT_DOUBLE_EQ(accumulation.step(), 3);
  EXPECT_FLOAT_EQ(p.item<float>(), -2);
  EXPECT_EQ(accumulation.count(), 0);
  EXPECT_FALSE(p.grad().defined());
}

TEST(GradientAccumulation, RefusesWhatMakesNoSense) {
  Tensor p = full({2}, 1);
  p.set_requires_grad(true);
  Sgd optimizer({{"p", p}});
  GradientAccumulation accumulation(optimizer);
  EXPECT_THROW(accumulation.step(), Error);
  EXPECT_THROW(accumulation.add(p * 2.0), ShapeError);
  EXPECT_THROW(accumulation.add(sum(p), -1), ConfigError);
  accumulation.add(sum(p), 0);
  EXPECT_THROW(accumulation.step(), Error) << "a part that counts nothing is no part";
  EXPECT_EQ(optimizer.steps(), 0);
}

}  // namespace
}  // namespace bough::nn
