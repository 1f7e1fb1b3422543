#include "bough/ops/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "kernels/reference/matmul.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace bough::test;

struct Sizes {
  std::int64_t m, n, k;
};

// Nothing, one, odd sizes, around the register tiles (6 x 16 and 14 x 32), beyond one block of the inner axis.
const std::vector<Sizes> interesting_sizes = {{0, 3, 4},   {3, 0, 4},    {3, 4, 0},   {1, 1, 1},     {1, 33, 7},
                                              {19, 1, 5},  {3, 5, 7},    {6, 16, 8},  {14, 32, 8},   {15, 33, 9},
                                              {29, 31, 1}, {13, 70, 20}, {40, 9, 33}, {30, 65, 800}, {5, 530, 391}};

void check_product(const Sizes& size, DType dtype, bool transpose_a, bool transpose_b, Device device = Device::cpu()) {
  const Tensor a = random_tensor(transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, dtype, 1);
  const Tensor b = random_tensor(transpose_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, dtype, 2);
  const Tensor c = matmul(a.to(device), b.to(device), {.transpose_a = transpose_a, .transpose_b = transpose_b});
  const std::vector<double> expected =
      reference::matmul(a.to_vector<double>(), b.to_vector<double>(), size.m, size.n, size.k, transpose_a, transpose_b);
  SCOPED_TRACE(testing::Message() << size.m << " x " << size.n << " x " << size.k << (transpose_a ? " T" : " N")
                                  << (transpose_b ? "T" : "N"));
  // The error of a sum grows with its length.
  const double unit = dtype == DType::float32 ? 1.2e-7 : 2.3e-16;
  expect_close(c, Tensor::from_vector(expected, {size.m, size.n}),
               Tolerance{.relative = 8 * unit, .absolute = unit * static_cast<double>(size.k + 8)});
}

class Matmul : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Matmul, testing::ValuesIn(every_device), device_name);

TEST_P(Matmul, MatchesThePlainLoopForEveryTransposeSizeAndInstructionSet) {
  on_every_simd_target(device(), [&] {
    for (const Sizes& size : interesting_sizes) {
      if (size.n * size.k > most_elements()) continue;
      for (const DType dtype : {DType::float32, DType::float64}) {
        for (const bool transpose_a : {false, true}) {
          for (const bool transpose_b : {false, true}) {
            check_product(size, dtype, transpose_a, transpose_b, device());
          }
        }
      }
    }
  });
}

TEST(Matmul, MatchesThePlainLoopOnAProductThatSplitsIntoManyBlocks) {
  for (const bool transpose : {false, true}) check_product({260, 600, 450}, DType::float32, transpose, !transpose);
}

TEST(Matmul, PacksWideMatricesInSeveralTurns) { check_product({3, 8300, 5}, DType::float32, false, true); }

TEST(Matmul, DoesNotReadWhatTheResultHeldBefore) {
  {
    Tensor poison = full({64, 64}, std::numeric_limits<double>::quiet_NaN());
    // Goes back to the pool, which gives the same block to the result below.
  }
  const Tensor c = matmul(ones({64, 64}), ones({64, 64}));
  expect_close(c, full({64, 64}, 64));
}

TEST_P(Matmul, PassesOnInfinitiesAndNaN) {
  Tensor a = zeros({20, 20});
  a.data<float>()[3 * 20 + 2] = std::numeric_limits<float>::infinity();
  a.data<float>()[5 * 20 + 1] = std::numeric_limits<float>::quiet_NaN();
  const Tensor c = matmul(here(a), here(ones({20, 40})));
  const std::vector<double> values = c.to_vector<double>();
  for (int j = 0; j < 40; ++j) {
    EXPECT_EQ(values[3 * 40 + j], std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(values[5 * 40 + j]));
    EXPECT_EQ(values[4 * 40 + j], 0);
  }
}

TEST_P(Matmul, TreatsVectorsAsOneRowOrOneColumn) {
  const Tensor m = here(random_tensor({3, 4}, DType::float64, 1));
  const Tensor three = here(random_tensor({3}, DType::float64, 2)), four = here(random_tensor({4}, DType::float64, 3));
  const auto close = [](const Tensor& actual, const Shape& shape, const Tensor& expected) {
    EXPECT_EQ(actual.shape(), shape);
    expect_close(actual.reshape({-1}), expected.reshape({-1}));
  };
  close(matmul(m, four), {3}, matmul(m, four.reshape({4, 1})));
  close(matmul(three, m), {4}, matmul(three.reshape({1, 3}), m));
  close(matmul(m, three, {.transpose_a = true}), {4}, matmul(m, three.reshape({3, 1}), {.transpose_a = true}));
  close(matmul(four, m, {.transpose_a = true, .transpose_b = true}), {3},
        matmul(four.reshape({1, 4}), m, {.transpose_b = true}));
  close(matmul(four, four), {}, matmul(four.reshape({1, 4}), four.reshape({4, 1})));
  const Tensor batch = here(random_tensor({2, 5, 3, 4}, DType::float64, 4));
  close(matmul(batch, four), {2, 5, 3}, matmul(batch.reshape({30, 4}), four.reshape({4, 1})));
  EXPECT_EQ(matmul(three, batch).shape(), (Shape{2, 5, 4}));
}

/// Each member of the batch by itself.
Tensor one_by_one(const Tensor& a, const Tensor& b, const MatmulOptions& options, const Shape& result) {
  const std::int64_t count = result[0] * result[1];
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto member = [&](const Tensor& t) {
      return t.rank() == 2 ? t : t.reshape({count, t.size(-2), t.size(-1)}).rows(i, i + 1).reshape({t.size(-2), -1});
    };
    const std::vector<double> part = matmul(member(a), member(b), options).to_vector<double>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return Tensor::from_vector(values, result);
}

TEST_P(Matmul, MultipliesEveryMemberOfABatch) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const MatmulOptions options{transpose_a, transpose_b};
      const Shape one_a = transpose_a ? Shape{7, 5} : Shape{5, 7}, one_b = transpose_b ? Shape{18, 7} : Shape{7, 18};
      const Shape many_a{2, 3, one_a[0], one_a[1]}, many_b{2, 3, one_b[0], one_b[1]};
      for (const auto& [shape_a, shape_b] : {std::pair{many_a, many_b}, {many_a, one_b}, {one_a, many_b}}) {
        const Tensor a = here(random_tensor(shape_a, DType::float64, 1)),
                     b = here(random_tensor(shape_b, DType::float64, 2));
        expect_close(matmul(a, b, options), one_by_one(a, b, options, {2, 3, 5, 18}));
      }
    }
  }
}

TEST_P(Matmul, GivesEmptyResultsForEmptyBatchesAndZerosForAnEmptySum) {
  EXPECT_EQ(matmul(here(zeros({0, 3, 4})), here(zeros({0, 4, 5}))).shape(), (Shape{0, 3, 5}));
  EXPECT_EQ(matmul(here(zeros({0, 3, 4})), here(zeros({4, 5}))).shape(), (Shape{0, 3, 5}));
  expect_close(matmul(here(zeros({2, 3, 0})), here(zeros({2, 0, 5}))), zeros({2, 3, 5}));
  Tensor a = here(zeros({0, 4, 3})).set_requires_grad(true), b = here(ones({4, 5})).set_requires_grad(true);
  matmul(a, b, {.transpose_a = true}).backward({.gradient = here(zeros({0, 3, 5}))});
  expect_close(b.grad(), here(zeros({4, 5})));
  EXPECT_EQ(a.grad().shape(), a.shape());
}

TEST_P(Matmul, GradientMatchesFiniteDifferences) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const auto f = [&](const std::vector<Tensor>& in) { return matmul(in[0], in[1], {transpose_a, transpose_b}); };
      const Shape one_a = transpose_a ? Shape{4, 3} : Shape{3, 4}, one_b = transpose_b ? Shape{5, 4} : Shape{4, 5};
      const Shape many_a{2, one_a[0], one_a[1]}, many_b{2, one_b[0], one_b[1]};
      for (const auto& [shape_a, shape_b] :
           {std::pair{one_a, one_b}, {many_a, many_b}, {many_a, one_b}, {one_a, many_b}}) {
        expect_gradient(f, {random_tensor(shape_a, DType::float64, 1), random_tensor(shape_b, DType::float64, 2)});
      }
    }
  }
}

TEST_P(Matmul, GradientOfVectorsMatchesFiniteDifferences) {
  const auto f = [](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); };
  const Tensor vector = random_tensor({4}, DType::float64, 1), other = random_tensor({4}, DType::float64, 2);
  expect_gradient(f, {vector, other});
  expect_gradient(f, {vector, random_tensor({4, 3}, DType::float64, 3)});
  expect_gradient(f, {random_tensor({2, 3, 4}, DType::float64, 3), vector});
  expect_gradient(f, {vector, random_tensor({2, 4, 3}, DType::float64, 3)});
}

TEST_P(Matmul, ComputesOnlyTheGradientThatIsWanted) {
  Tensor a = here(ones({2, 3})).set_requires_grad(true);
  const Tensor b = here(ones({3, 4}));
  matmul(a, b).backward({.gradient = here(ones({2, 4}))});
  expect_close(a.grad(), full({2, 3}, 4));
  EXPECT_FALSE(b.grad().defined());
}

TEST(Matmul, NamesBothShapesWhenTheyDoNotFit) {
  const auto message = [](const char* a, const char* b) {
    return AllOf(HasSubstr("matmul"), HasSubstr(a), HasSubstr(b));
  };
  EXPECT_THAT([] { matmul(zeros({2, 3}), zeros({4, 5})); }, ThrowsMessage<ShapeError>(message("[2, 3]", "[4, 5]")));
  EXPECT_THAT(
      [] {
        matmul(zeros({2, 3}), zeros({3, 5}), {.transpose_b = true});
      },
      ThrowsMessage<ShapeError>(message("[2, 3]", "[3, 5] (transposed)")));
  EXPECT_THAT(
      [] {
        matmul(zeros({2, 2, 3}), zeros({4, 3, 5}));
      },
      ThrowsMessage<ShapeError>(message("[2, 2, 3]", "[4, 3, 5]")));
  EXPECT_THAT([] { matmul(zeros({}), zeros({3})); }, ThrowsMessage<ShapeError>(message("[]", "[3]")));
  EXPECT_THAT([] { matmul(zeros({2, 3}), zeros({2})); }, ThrowsMessage<ShapeError>(message("[2, 3]", "[2]")));
}

TEST(Matmul, TakesOneFloatingTypeOnly) {
  EXPECT_THAT(
      [] {
        matmul(zeros({2, 3}), zeros({3, 2}, DType::float64));
      },
      ThrowsMessage<TypeError>(AllOf(HasSubstr("float32"), HasSubstr("float64"))));
  EXPECT_THAT(
      [] {
        matmul(zeros({2, 3}, DType::int32), zeros({3, 2}, DType::int32));
      },
      ThrowsMessage<TypeError>(HasSubstr("int32")));
}

TEST(Matmul, IsBitwiseEqualForOneTwoAndSevenThreads) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor a = random_tensor({300, 500}, dtype, 1), b = random_tensor({500, 600}, dtype, 2);
    const Tensor batch_a = random_tensor({40, 30, 50}, dtype, 3), batch_b = random_tensor({40, 50, 70}, dtype, 4);
    expect_same_bits_for_threads([&] {
      return std::vector<Tensor>{matmul(a, b), matmul(b, a, {.transpose_a = true, .transpose_b = true}),
                                 matmul(batch_a, batch_b)};
    });
  }
}

TEST(Matmul, GivesARowTheSameBitsWhateverStandsAroundIt) {
  const Tensor a = random_tensor({100, 300}), b = random_tensor({300, 50}, DType::float32, 2);
  const Tensor all = matmul(a, b);
  expect_same_bits(matmul(a.rows(37, 38), b), all.rows(37, 38));
  expect_same_bits(matmul(a.rows(11, 80), b), all.rows(11, 80));
}

TEST(Matmul, GivesTheSameBitsWhenSeveralThreadsCallIt) {
  const Tensor a = random_tensor({130, 400}), b = random_tensor({400, 180}, DType::float32, 2);
  const Tensor expected = matmul(a, b);
  std::vector<Tensor> results(6);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = matmul(a, b);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) expect_same_bits(result, expected);
}

}  // namespace
}  // namespace bough
