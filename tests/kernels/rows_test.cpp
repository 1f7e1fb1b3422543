#include "bough/ops/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "kernels/reference/rows.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Case {
  std::int64_t num_rows, picked, width;
};
/// Nothing, one element, widths around those of the vectors, more and fewer entries than rows, several chunks of work.
const std::vector<Case> cases = {{0, 0, 3},        {5, 0, 3},        {1, 1, 1},    {3, 7, 0},    {7, 1, 5},
                                 {4, 9, 1},        {9, 30, 2},       {6, 20, 8},   {6, 20, 17},  {10, 100, 33},
                                 {50, 10, 67},     {3, 40, 131},     {1, 5000, 9}, {5000, 3, 9}, {40, 3000, 40},
                                 {3000, 3000, 16}, {70000, 20000, 1}};

class GatherRows : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, GatherRows, testing::ValuesIn(every_device), device_name);

TEST_P(GatherRows, MatchesTheReference) {
  for (const Case& c : cases) {
    if (std::max(c.num_rows, c.picked) * c.width > most_elements()) continue;
    for (DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean}) {
      for (DType index_type : {DType::int32, DType::int64}) {
        SCOPED_TRACE(testing::Message() << c.num_rows << " rows, " << c.picked << " picked, width " << c.width);
        const Tensor x = here(random_tensor({c.num_rows, c.width}, dtype));
        const Tensor index = here(random_indices({c.picked}, 0, c.num_rows, index_type));
        const Tensor y = gather_rows(x, index);
        EXPECT_EQ(y.shape(), (Shape{c.picked, c.width}));
        EXPECT_EQ(y.to_vector<double>(),
                  reference::gather_rows(x.to_vector<double>(), c.width, index.to_vector<std::int64_t>()));
      }
    }
  }
}

TEST_P(GatherRows, KeepsFurtherAxesAndTakesVectors) {
  EXPECT_EQ(gather_rows(here(zeros({4, 2, 3})), here(arange(2))).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(gather_rows(here(arange(4)), here(Tensor::from_vector<std::int32_t>({3, 3, 0}, {3}))).to_vector<int>(),
            (std::vector<int>{3, 3, 0}));
}

class ScatterAddRows : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, ScatterAddRows, testing::ValuesIn(every_device), device_name);

TEST_P(ScatterAddRows, MatchesTheReference) {
  for (const Case& c : cases) {
    if (std::max(c.num_rows, c.picked) * c.width > most_elements()) continue;
    for (DType dtype : {DType::float32, DType::float64}) {
      for (DType index_type : {DType::int32, DType::int64}) {
        SCOPED_TRACE(testing::Message() << c.num_rows << " rows, " << c.picked << " entries, width " << c.width);
        const Tensor values = here(random_tensor({c.picked, c.width}, dtype));
        const Tensor index = here(random_indices({c.picked}, 0, c.num_rows, index_type));
        const Tensor y = scatter_add_rows(values, index, c.num_rows);
        EXPECT_EQ(y.shape(), (Shape{c.num_rows, c.width}));
        const Tensor expected =
            Tensor::from_vector(reference::scatter_add_rows(values.to_vector<double>(), c.width,
                                                            index.to_vector<std::int64_t>(), c.num_rows),
                                {c.num_rows, c.width});
        // Errors grow with the terms of a row; the usual tolerance is for a few hundred.
        Tolerance allowed = tolerance(dtype);
        allowed.absolute *= 1.0 + static_cast<double>(c.picked) / (500.0 * static_cast<double>(c.num_rows + 1));
        expect_close(y, expected, allowed);
      }
    }
  }
}

TEST(ScatterAddRows, TakesSortedAndReversedIndices) {
  const std::int64_t count = 40000, num_rows = 30000;
  std::vector<std::int64_t> ascending;
  for (std::int64_t i = 0; i < count; ++i) ascending.push_back(i * num_rows / count);
  const std::vector<std::int64_t> descending(ascending.rbegin(), ascending.rend());
  const Tensor values = random_tensor({count, 3});
  for (const auto& index : {ascending, descending}) {
    expect_close(scatter_add_rows(values, Tensor::from_vector(index, {count}), num_rows),
                 reference::scatter_add_rows(values.to_vector<double>(), 3, index, num_rows));
  }
}

TEST_P(ScatterAddRows, AddsInTheOrderOfTheInput) {
  // 1e8 swallows a 1 in float32, so every order gives another result.
  std::vector<float> values;
  for (float value : {1.0f, 1e8f, -1e8f, 1e8f, -1e8f, 1.0f}) values.insert(values.end(), 20, value);
  const Tensor index = here(Tensor::from_vector<std::int64_t>({0, 0, 0, 1, 1, 1}, {6}));
  const Tensor sums = scatter_add_rows(here(Tensor::from_vector(values, {6, 20})), index, 2);
  expect_same_bits(sums.rows(0, 1), zeros({1, 20}));
  expect_same_bits(sums.rows(1, 2), ones({1, 20}));
}

class IndexAddRows : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, IndexAddRows, testing::ValuesIn(every_device), device_name);

TEST_P(IndexAddRows, AddsToACopy) {
  const Tensor x = here(random_tensor({5, 7})), values = here(random_tensor({9, 7}, DType::float32, 2));
  const Tensor index = here(random_indices({9}, 0, 5)), before = x.clone();
  const Tensor y = index_add_rows(x, index, values);
  std::vector<double> expected =
      reference::scatter_add_rows(values.to_vector<double>(), 7, index.to_vector<std::int64_t>(), 5);
  const std::vector<double> start = x.to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += start[i];
  expect_close(y, expected);
  expect_same_bits(x, before);
}

class RowGradients : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, RowGradients, testing::ValuesIn(every_device), device_name);

TEST_P(RowGradients, MatchFiniteDifferences) {
  const Tensor x = random_tensor({4, 3}, DType::float64), values = random_tensor({6, 3}, DType::float64, 2);
  const Tensor index = Tensor::from_vector<std::int64_t>({2, 0, 2, 2, 3, 0}, {6});
  expect_gradient([&](const auto& in) { return gather_rows(in[0], in[1]); }, {x, index});
  expect_gradient([&](const auto& in) { return scatter_add_rows(in[0], in[1], 4); }, {values, index});
  expect_gradient([&](const auto& in) { return index_add_rows(in[0], in[2], in[1]); }, {x, values, index});
  expect_gradient([&](const auto& in) { return gather_rows(in[0], in[1]); },
                  {random_tensor({4}, DType::float64), index});
}

TEST_P(RowGradients, OnlyWhatIsAskedFor) {
  Tensor x = here(random_tensor({4, 3})), values = here(random_tensor({6, 3}));
  values.set_requires_grad(true);
  const Tensor index = here(random_indices({6}, 0, 4));
  index_add_rows(x, index, values).backward({.gradient = here(ones({4, 3}))});
  EXPECT_FALSE(x.grad().defined());
  expect_same_bits(values.grad(), ones({6, 3}));
}

TEST(Rows, AreBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor uneven = [] {
    // Half of the entries belong to row 7.
    Tensor index = random_indices({20000}, 0, 3000, DType::int32);
    for (std::int64_t i = 0; i < 20000; i += 2) index.data<std::int32_t>()[i] = 7;
    return index;
  }();
  const Tensor values = random_tensor({20000, 19});
  expect_same_bits_for_threads([&] { return scatter_add_rows(values, uneven, 3000); });
  expect_same_bits_for_threads([&] { return gather_rows(values, uneven); });
}

class Rows : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Rows, testing::ValuesIn(every_device), device_name);

TEST_P(Rows, NameTheBadIndexWhereItStandsAndTheNumberOfRows) {
  const Tensor x = here(zeros({4, 2}));
  for (std::int64_t bad : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Tensor index = here(Tensor::from_vector<std::int64_t>({0, 3, bad, 9}, {4}));
    const auto names_it = ThrowsMessage<IndexError>(
        AllOf(HasSubstr("index " + std::to_string(bad) + " at position 2"), HasSubstr("4 rows")));
    EXPECT_THAT([&] { gather_rows(x, index); }, names_it);
    EXPECT_THAT([&] { scatter_add_rows(here(zeros({4, 2})), index, 4); }, names_it);
    EXPECT_THAT([&] { index_add_rows(x, index, here(zeros({4, 2}))); }, names_it);
  }
  EXPECT_THAT(
      [&] {
        gather_rows(here(zeros({0, 2})), here(Tensor::from_vector<std::int32_t>({0}, {1})));
      },
      ThrowsMessage<IndexError>(HasSubstr("0 rows")));
}

TEST(Rows, AnIndexSpoiledBeforeBackwardIsFoundAgain) {
  Tensor x = zeros({4, 2}), index = arange(4);
  x.set_requires_grad(true);
  const Tensor y = gather_rows(x, index);
  index.data<std::int64_t>()[1] = 1 << 30;
  EXPECT_THROW(y.backward({.gradient = ones({4, 2})}), IndexError);
}

TEST(Rows, NameShapesAndTypesThatDoNotFit) {
  EXPECT_THAT(
      [] {
        scatter_add_rows(zeros({3, 2}), arange(4), 5);
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 2]"), HasSubstr("[4]"))));
  EXPECT_THAT(
      [] {
        gather_rows(zeros({3, 2}), zeros({2}, DType::float32));
      },
      ThrowsMessage<TypeError>(HasSubstr("float32")));
  EXPECT_THAT(
      [] {
        gather_rows(zeros({3, 2}), zeros({2, 2}, DType::int64));
      },
      ThrowsMessage<ShapeError>(HasSubstr("[2, 2]")));
  EXPECT_THAT(
      [] {
        index_add_rows(zeros({3, 2}), arange(4), zeros({4, 5}));
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 2]"), HasSubstr("[4, 5]"))));
  EXPECT_THAT([] { scatter_add_rows(arange(4), arange(4), 5); }, ThrowsMessage<TypeError>(HasSubstr("int64")));
  EXPECT_THROW(gather_rows(zeros({}), arange(1)), ShapeError);
  EXPECT_THROW(scatter_add_rows(zeros({2, 2}), arange(2), -1), ShapeError);
  EXPECT_THROW(gather_rows(Tensor(), arange(1)), Error);
}

}  // namespace
}  // namespace bough
