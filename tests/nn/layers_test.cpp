#include "bough/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"

namespace bough::nn {
namespace {

using Values = std::vector<double>;

TEST(SinusoidalPositions, AreSinesAndCosinesOfFallingFrequency) {
  const Tensor table = sinusoidal_positions(50, 6);
  for (int position = 0; position < 50; ++position) {
    for (int pair = 0; pair < 3; ++pair) {
      const double angle = position / std::pow(10000.0, 2 * pair / 6.0);
      EXPECT_NEAR(table.data<float>()[position * 6 + 2 * pair], std::sin(angle), 1e-6);
      EXPECT_NEAR(table.data<float>()[position * 6 + 2 * pair + 1], std::cos(angle), 1e-6);
    }
  }
  EXPECT_EQ(sinusoidal_positions(0, 4).shape(), (Shape{0, 4}));
  EXPECT_THROW(sinusoidal_positions(4, 0), ConfigError);
}

TEST(LearnedPositions, GiveTheFirstRowsOrThoseAskedFor) {
  manual_seed(1);
  LearnedPositions positions({.max_length = 5, .dim = 2});
  test::expect_same_bits(positions.forward(3), positions.weight.detach().rows(0, 3));
  const Tensor batch = Tensor::from_vector(std::vector<std::int64_t>{0, 1, 0, 1, 2}, {5});
  test::expect_same_bits(positions.forward(batch).rows(2, 5), positions.weight.detach().rows(0, 3));
  EXPECT_EQ(positions.forward(0).shape(), (Shape{0, 2}));
  EXPECT_EQ(positions.parameter_count(), 10);
}

TEST(LearnedPositions, GetTheGradientOfEveryUse) {
  LearnedPositions positions({.max_length = 4, .dim = 1});
  const Tensor batch = Tensor::from_vector(std::vector<std::int32_t>{0, 1, 0}, {3});
  (sum(positions.forward(2)) + sum(positions.forward(batch)) * 10.0).backward();
  test::expect_close(positions.weight.grad(), Values{21, 11, 0, 0});
}

TEST(LearnedPositions, SayWhenASequenceIsTooLong) {
  LearnedPositions positions({.max_length = 4, .dim = 1});
  EXPECT_THROW(positions.forward(5), ConfigError);
  EXPECT_THROW(positions.forward(-1), ConfigError);
  EXPECT_THROW(positions.forward(Tensor::from_vector(std::vector<std::int32_t>{4}, {1})), IndexError);
  EXPECT_THROW(LearnedPositions({.max_length = 0, .dim = 1}), ConfigError);
}

}  // namespace
}  // namespace bough::nn
