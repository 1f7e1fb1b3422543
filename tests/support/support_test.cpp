#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/core/parallel.h"
#include "tests/support/compare.h"
#include "tests/support/gradient.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::test {
namespace {

TEST(ExpectClose, AcceptsWhatIsWithinTheTolerance) {
  const Tensor expected = random_tensor({3, 5}, DType::float64);
  Tensor actual = Tensor::from_vector(expected.to_vector<float>(), {3, 5});
  expect_close(actual, expected);
  EXPECT_NONFATAL_FAILURE(expect_close(actual, expected, DType::float64), "elements of [3, 5] differ");
}

TEST(ExpectClose, NamesTheWorstElement) {
  const Tensor expected = zeros({2, 3});
  EXPECT_NONFATAL_FAILURE(expect_close(Tensor::from_vector<float>({0, 0, 0, 1, 0, 2}, {2, 3}), expected),
                          "2 of 6 elements of [2, 3] differ; the worst at [1, 2]: 2 instead of 0");
}

TEST(ExpectClose, TreatsInfinityAndNaNAsValues) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  expect_close(Tensor::from_vector<double>({infinity, nan}, {2}), std::vector<double>{infinity, nan});
  EXPECT_NONFATAL_FAILURE(expect_close(Tensor::from_vector<double>({nan}, {1}), std::vector<double>{1}), "nan");
  EXPECT_NONFATAL_FAILURE(expect_close(Tensor::from_vector<double>({infinity}, {1}), std::vector<double>{-infinity}),
                          "inf");
}

TEST(ExpectClose, RefusesOtherShapes) {
  EXPECT_NONFATAL_FAILURE(expect_close(zeros({2}), zeros({1, 2})), "the shape is [2], expected [1, 2]");
}

TEST(ExpectSameBits, TellsZerosApart) {
  EXPECT_NONFATAL_FAILURE(expect_same_bits(full({1}, -0.0), zeros({1})), "the very same bits");
}

TEST(ExpectSameBitsForThreads, SeesTheNumberOfThreadsAndRestoresIt) {
  const int before = num_threads();
  EXPECT_NONFATAL_FAILURE(expect_same_bits_for_threads([] { return full({1}, num_threads() == 7); }), "bits");
  EXPECT_EQ(num_threads(), before);
}

TEST(ExpectGradient, FindsAWrongFactor) {
  const auto doubled_with_gradient = [](double factor) {
    return [factor](const std::vector<Tensor>& inputs) {
      const CustomFunction doubled{
          .forward = [](const std::vector<Tensor>& x) { return x[0].clone().accumulate(x[0]); },
          .backward = [factor](
                          const std::vector<Tensor>&, const Tensor&,
                          const Tensor& dy) { return std::vector<Tensor>{zeros_like(dy).accumulate(dy, factor)}; }};
      return doubled.apply(inputs);
    };
  };
  const Tensor x = random_tensor({4}, DType::float64);
  expect_gradient(doubled_with_gradient(2), {x});
  EXPECT_NONFATAL_FAILURE(expect_gradient(doubled_with_gradient(3), {x}), "input 0 [4]");
}

TEST(RandomTensor, DependsOnTheSeedOnly) {
  expect_same_bits(random_tensor({7, 3}), random_tensor({7, 3}));
  EXPECT_NE(random_tensor({7, 3}).to_vector<float>(), random_tensor({7, 3}, DType::float32, 2).to_vector<float>());
}

}  // namespace
}  // namespace bough::test
