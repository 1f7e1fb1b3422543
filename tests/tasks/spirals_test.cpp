#include "tasks/demo/spirals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bough/core/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

std::vector<double> losses_of(const spirals::Options& options) {
  std::vector<double> losses;
  spirals::Options watched = options;
  watched.on_step = [&](const spirals::Progress& progress) { losses.push_back(progress.loss); };
  spirals::train(watched);
  return losses;
}

TEST(Spirals, PointsLieOnArmsOfEqualSize) {
  const spirals::Points points = spirals::make_points(50, 1, 0);
  EXPECT_EQ(points.positions.shape(), (Shape{150, 2}));
  std::vector<int> size(spirals::num_arms);
  for (const std::int64_t arm : points.arms.to_vector<std::int64_t>()) ++size.at(static_cast<std::size_t>(arm));
  EXPECT_EQ(size, (std::vector<int>{50, 50, 50}));
  for (const float x : points.positions.to_vector<float>()) EXPECT_LE(std::abs(x), 1.1f);
}

TEST(Spirals, StreamsGiveDifferentPointsAndSeedsToo) {
  const auto points = [](std::uint64_t seed, std::uint64_t stream) {
    return spirals::make_points(5, seed, stream).positions.to_vector<float>();
  };
  EXPECT_EQ(points(1, 0), points(1, 0));
  EXPECT_NE(points(1, 0), points(1, 1));
  EXPECT_NE(points(1, 0), points(2, 0));
}

TEST(Spirals, TrainingTellsUnseenPointsApart) {
  const spirals::Outcome outcome = spirals::train({.steps = 300});
  EXPECT_GT(outcome.test_accuracy, 0.97);
  EXPECT_LT(outcome.test_loss, 0.15);
  EXPECT_EQ(outcome.parameters, 2 * 64 + 64 + 64 * 64 + 64 + 64 * 3 + 3);
}

TEST(Spirals, TrainingIsTheSameForAnyNumberOfThreads) {
  test::expect_same_bits_for_threads([] {
    const std::vector<double> losses = losses_of({.steps = 20});
    return Tensor::from_vector(losses, {20});
  });
}

TEST(Spirals, NoStepsAreRefused) { EXPECT_THROW(spirals::train({.steps = 0}), ConfigError); }

}  // namespace
}  // namespace bough
