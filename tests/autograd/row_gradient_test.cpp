#include <gtest/gtest.h>

#include "bough/core/parallel.h"
#include "tests/autograd/operations.h"

namespace bough {
namespace {

using namespace tape_test;
using Values = std::vector<double>;

/// Sum of some rows of a [n, 2] table, whose gradient is given as rows.
Tensor pick(const Tensor& table, const std::vector<std::int64_t>& rows) {
  Tensor sum = zeros({}, DType::float64);
  for (std::int64_t row : rows) {
    for (int column : {0, 1}) *sum.data<double>() += table.data<double>()[2 * row + column];
  }
  return autograd::record({.name = "pick",
                           .inputs = {table},
                           .backward = [rows](const BackwardCall& call) -> Gradients {
                             const auto count = static_cast<std::int64_t>(rows.size());
                             return {RowGradient{Tensor::from_vector(rows, {count}),
                                                 full({count, 2}, call.gradient().item<double>(), DType::float64)}};
                           }},
                          sum);
}

Tensor table() {
  Tensor result = zeros({5, 2}, DType::float64);
  result.set_requires_grad(true);
  return result;
}

TEST(RowGradient, StaysRowsUntilATensorIsAskedFor) {
  const Tensor weights = table();
  pick(weights, {1, 3}).backward();
  ASSERT_TRUE(weights.row_grad().has_value());
  EXPECT_EQ(weights.row_grad()->rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(weights.grad().to_vector<double>(), (Values{0, 0, 1, 1, 0, 0, 1, 1, 0, 0}));
  EXPECT_FALSE(weights.row_grad().has_value());
}

TEST(RowGradient, MergesRowsWithRows) {
  const Tensor weights = table();
  add(pick(weights, {1, 3}), pick(weights, {0, 3, 4})).backward();
  pick(weights, {2}).backward();
  EXPECT_EQ(weights.row_grad()->rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(weights.row_grad()->values.to_vector<double>(), (Values{1, 1, 1, 1, 1, 1, 2, 2, 1, 1}));
}

TEST(RowGradient, MixesWithTensorsInEitherOrder) {
  for (bool rows_first : {true, false}) {
    const Tensor weights = table();
    const auto rows = [&] { pick(weights, {4}).backward(); };
    const auto dense = [&] { total(weights).backward(); };
    if (rows_first) rows();
    dense();
    if (!rows_first) rows();
    EXPECT_EQ(weights.grad().to_vector<double>(), (Values{1, 1, 1, 1, 1, 1, 1, 1, 2, 2}));
  }
}

TEST(RowGradient, BecomesATensorOnItsWayThroughAnOperation) {
  const Tensor weights = table();
  pick(weights.reshape({2, 5}).reshape({5, 2}), {2}).backward();
  EXPECT_EQ(weights.grad().to_vector<double>(), (Values{0, 0, 0, 0, 1, 1, 0, 0, 0, 0}));
}

/// An operation on a [5, 2] table whose backward returns the given rows, right or wrong, for both of its inputs.
Tensor returning(const Tensor& a, const Tensor& b, const RowGradient& gradient) {
  return autograd::record({.name = "returning",
                           .inputs = {a, b},
                           .backward = [gradient](const BackwardCall&) -> Gradients {
                             return {gradient, gradient};
                           }},
                          zeros({}, DType::float64));
}

TEST(RowGradient, TheSameRowsForTwoLeavesAreNotShared) {
  const Tensor a = table(), b = table();
  returning(a, b, {arange(1), ones({1, 2}, DType::float64)}).backward();
  a.row_grad()->values.fill(7);
  EXPECT_EQ(b.row_grad()->values.to_vector<double>(), (Values{1, 1}));
}

TEST(RowGradient, RowsThatDoNotFitAreAnErrorAndNothingIsAdded) {
  const auto rows = [](const std::vector<std::int64_t>& numbers) {
    return Tensor::from_vector(numbers, {static_cast<std::int64_t>(numbers.size())});
  };
  const auto values = [](const Shape& shape, DType dtype = DType::float64) { return zeros(shape, dtype); };
  const std::vector<RowGradient> wrong = {{rows({1, 5}), values({2, 2})},
                                          {rows({-1, 2}), values({2, 2})},
                                          {rows({2, 1}), values({2, 2})},
                                          {rows({1, 1}), values({2, 2})},
                                          {rows({1, 2}), values({3, 2})},
                                          {rows({1, 2}), values({2, 3})},
                                          {rows({1, 2}), values({2, 2}, DType::float32)},
                                          {zeros({2}, DType::int32), values({2, 2})},
                                          {rows({1, 2}).reshape({2, 1}), values({2, 2})}};
  for (const RowGradient& gradient : wrong) {
    const Tensor weights = table();
    EXPECT_THROW(returning(weights, weights, gradient).backward(), AutogradError);
    EXPECT_FALSE(weights.grad().defined());
  }
}

TEST(RowGradient, AddsManyRowsTheSameForAnyNumberOfThreads) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < 40000; ++i) numbers.push_back(2 * i);
  const Tensor rows = Tensor::from_vector(numbers, {40000}), values = randn({40000, 3}, DType::float64);
  const auto gradient = [&](int threads) {
    const int before = num_threads();
    set_num_threads(threads);
    Tensor weights = zeros({80000, 3}, DType::float64);
    weights.set_requires_grad(true);
    returning(weights, {}, {rows, values}).backward();
    total(weights).backward();
    returning(weights, {}, {rows, values}).backward();
    set_num_threads(before);
    return weights.grad().to_vector<double>();
  };
  const Values expected = gradient(1);
  for (std::int64_t i = 0; i < 40000 * 3; ++i) {
    ASSERT_EQ(expected[i / 3 * 6 + i % 3], values.data<double>()[i] + 1 + values.data<double>()[i]);
    ASSERT_EQ(expected[i / 3 * 6 + 3 + i % 3], 1);
  }
  EXPECT_EQ(gradient(7), expected);
}

}  // namespace
}  // namespace bough
