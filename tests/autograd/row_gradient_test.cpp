#include <gtest/gtest.h>

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
  return record({.name = "pick",
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

TEST(RowGradient, StaysRowsUntilSomebodyAsksForATensor) {
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

}  // namespace
}  // namespace bough
