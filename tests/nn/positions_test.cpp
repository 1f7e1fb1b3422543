#include "bough/nn/positions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"
#include "tests/support/gradient.h"
#include "tests/support/random_tensor.h"

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

TEST(SinusoidalPositions, AreATableThatNoCheckpointHolds) {
  SinusoidalPositions positions({.max_length = 9, .dim = 6});
  const Tensor table = sinusoidal_positions(9, 6);
  test::expect_same_bits(positions.forward(2, 7), table.rows(2, 7));
  const Tensor batch = Tensor::from_vector(std::vector<std::int32_t>{8, 0, 3, 4}, {4});
  test::expect_same_bits(positions.forward(batch).rows(2, 4), table.rows(3, 5));
  EXPECT_TRUE(positions.state().empty());
  positions.to(Device::cpu());
  test::expect_same_bits(positions.table, table);
  EXPECT_THROW(positions.forward(3, 10), ConfigError);
  EXPECT_THROW(positions.forward(-1, 2), ConfigError);
  EXPECT_THROW(SinusoidalPositions({.max_length = 0, .dim = 6}), ConfigError);
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

TEST(BlockPositions, AreTheSumOfABlockAndAPlaceInIt) {
  manual_seed(1);
  // Ten positions in blocks of four: three blocks, of which the last has two.
  const BlockPositions positions({.max_length = 10, .stride = 4, .dim = 3});
  EXPECT_EQ(positions.blocks.shape(), (Shape{3, 3}));
  EXPECT_EQ(positions.places.shape(), (Shape{4, 3}));
  const auto expected = [&](std::int64_t i) {
    return positions.blocks.rows(i / 4, i / 4 + 1).detach() + positions.places.rows(i % 4, i % 4 + 1).detach();
  };
  for (std::int64_t begin = 0; begin <= 10; ++begin) {
    for (std::int64_t end = begin; end <= 10; ++end) {
      const Tensor rows = positions.forward(begin, end);
      ASSERT_EQ(rows.shape(), (Shape{end - begin, 3}));
      for (std::int64_t i = begin; i < end; ++i) {
        test::expect_same_bits(rows.detach().rows(i - begin, i - begin + 1), expected(i));
      }
    }
  }
  const Tensor batch = Tensor::from_vector(std::vector<std::int32_t>{9, 0, 9}, {3});
  test::expect_same_bits(positions.forward(batch).detach().rows(2, 3), expected(9));
  const NoGrad no_grad;
  test::expect_same_bits(positions.forward(batch), concatenate({expected(9), expected(0), expected(9)}, 0));
  EXPECT_THROW(positions.forward(Tensor::from_vector(std::vector<std::int32_t>{10}, {1})), IndexError);
}

TEST(BlockPositions, OfAStrideAboveTheLengthAreOneBlock) {
  const BlockPositions positions({.max_length = 3, .stride = 100, .dim = 2});
  EXPECT_EQ(positions.parameter_count(), (1 + 3) * 2);
  EXPECT_EQ(positions.forward(0, 3).shape(), (Shape{3, 2}));
}

TEST(BlockPositions, HaveTheGradientsOfFiniteDifferences) {
  BlockPositions positions({.max_length = 10, .stride = 4, .dim = 2});
  const Tensor index = Tensor::from_vector(std::vector<std::int32_t>{9, 0, 9}, {3});
  test::expect_gradient(
      [&](const std::vector<Tensor>& in) {
        positions.blocks = in[0];
        positions.places = in[1];
        return sum(square(positions.forward(1, 10))) + sum(square(positions.forward(index)));
      },
      {test::random_tensor({3, 2}, DType::float64, 1), test::random_tensor({4, 2}, DType::float64, 2)});
}

TEST(BlockPositions, RefuseWhatMakesNoSense) {
  const BlockPositions positions({.max_length = 4, .stride = 2, .dim = 1});
  EXPECT_THROW(positions.forward(0, 5), ConfigError);
  EXPECT_THROW(positions.forward(Tensor::from_vector(std::vector<std::int32_t>{4}, {1})), IndexError);
  EXPECT_THROW(BlockPositions({.max_length = 4, .stride = 0, .dim = 1}), ConfigError);
  EXPECT_THROW(BlockPositions({.max_length = 0, .stride = 1, .dim = 1}), ConfigError);
}

}  // namespace
}  // namespace bough::nn
