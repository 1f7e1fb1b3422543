#include "bough/ops/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::HasSubstr;

struct Segments {
  Tensor offsets;
  std::vector<std::int64_t> group;  ///< the segment of each row
  std::int64_t count = 0;
};

Segments segments(const std::vector<std::int64_t>& sizes) {
  Segments result;
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t size : sizes) {
    offsets.push_back(offsets.back() + size);
    result.group.insert(result.group.end(), static_cast<std::size_t>(size), result.count);
    ++result.count;
  }
  result.offsets = Tensor::from_vector(offsets, {static_cast<std::int64_t>(offsets.size())});
  return result;
}

const std::vector<std::vector<std::int64_t>> all_sizes{
    {}, {0}, {1}, {5}, {0, 3, 0, 0, 2, 0}, {1, 1, 1}, {2500, 3, 1025, 1024, 0}};

class SegmentReduce : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, SegmentReduce, testing::ValuesIn(every_device), device_name);

TEST_P(SegmentReduce, MatchesTheReference) {
  for (const std::vector<std::int64_t>& sizes : all_sizes) {
    const Segments s = segments(sizes);
    const auto rows = static_cast<std::int64_t>(s.group.size());
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const ReduceOp reduce : all_reductions) {
        SCOPED_TRACE(testing::Message() << name_of(reduce) << " of " << testing::PrintToString(sizes));
        const Tensor values = here(random_uniform({rows, 3, 5}, 0.999, 1.001, dtype, 1));
        const reference::Table table{values.shape(), values.to_vector<double>()};
        expect_close(segment_reduce(values, here(s.offsets), reduce),
                     reference::reduce_groups(table, s.group, s.count, reduce).tensor(), dtype);
      }
    }
  }
}

TEST_P(SegmentReduce, GradientMatchesFiniteDifferences) {
  const Segments s = segments({3, 0, 1, 4});
  for (const ReduceOp reduce : all_reductions) {
    expect_gradient([&](const std::vector<Tensor>& x) { return segment_reduce(x[0], x[1], reduce); },
                    {random_distinct({8, 2}, DType::float64, 1), s.offsets});
  }
}

TEST_P(SegmentReduce, GradientOfAProductIsRightWhereValuesAreZero) {
  const Segments s = segments({3, 3, 2});
  expect_gradient([&](const std::vector<Tensor>& x) { return segment_reduce(x[0], x[1], ReduceOp::prod); },
                  {Tensor::from_vector<double>({2, 3, 4, 2, 0, 4, 0, 0}, {8}), s.offsets});
}

TEST_P(SegmentReduce, TiesGiveTheGradientToTheFirstRow) {
  const Segments s = segments({3});
  Tensor values = here(ones({3, 1})).set_requires_grad(true);
  segment_reduce(values, here(s.offsets), ReduceOp::max).backward();
  expect_close(values.grad(), {1, 0, 0});
}

TEST_P(SegmentReduce, EmptySegmentsGetZeroOrWhatIsAskedFor) {
  const Segments s = segments({0, 2});
  for (const ReduceOp reduce : all_reductions) {
    expect_close(segment_reduce(here(ones({2, 1})), here(s.offsets), reduce, {.empty_value = -3}),
                 {-3, reduce == ReduceOp::sum ? 2.0 : 1.0});
  }
}

TEST(SegmentReduce, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Segments s = segments({5000, 1, 0, 20000, 700, 700});
  for (const ReduceOp reduce : all_reductions) {
    expect_same_bits_for_threads([&] {
      Tensor values =
          random_uniform({s.offsets.span<std::int64_t>().back(), 7}, 0.9999, 1.0001).set_requires_grad(true);
      const Tensor result = segment_reduce(values, s.offsets, reduce);
      result.backward({.gradient = random_tensor(result.shape())});
      return std::vector<Tensor>{result, values.grad()};
    });
  }
}

TEST_P(SegmentReduce, NamesTheOffsetThatIsWrong) {
  const auto offsets = [this](std::vector<std::int64_t> entries) {
    return here(Tensor::from_vector(entries, {static_cast<std::int64_t>(entries.size())}));
  };
  const Tensor values = here(ones({4, 2}));
  const auto message = [&](const Tensor& wrong) {
    return error_message<ShapeError>([&] { segment_reduce(values, wrong, ReduceOp::sum); });
  };
  EXPECT_THAT(message(offsets({1, 4})), HasSubstr("entry 0 is 1"));
  EXPECT_THAT(message(offsets({0, 3, 2, 4})), HasSubstr("entry 2 is 2"));
  EXPECT_THAT(message(offsets({0, 9})), HasSubstr("entry 1 is 9"));
  EXPECT_THAT(message(offsets({0, 3})), HasSubstr("the last is 3"));
  EXPECT_THAT(message(offsets({})), HasSubstr("[0]"));
  EXPECT_THROW(segment_reduce(values, here(ones({2})), ReduceOp::sum), TypeError);
  EXPECT_THROW(segment_reduce(here(ones({})), offsets({0}), ReduceOp::sum), ShapeError);
}

class SegmentSoftmax : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, SegmentSoftmax, testing::ValuesIn(every_device), device_name);

TEST_P(SegmentSoftmax, MatchesTheReference) {
  for (const std::vector<std::int64_t>& sizes : all_sizes) {
    const Segments s = segments(sizes);
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor values = here(random_tensor({static_cast<std::int64_t>(s.group.size()), 3}, dtype, 1));
      expect_close(segment_softmax(values, here(s.offsets)),
                   reference::softmax_groups(values, s.group, s.count).tensor(), dtype);
    }
  }
}

TEST_P(SegmentSoftmax, GradientMatchesFiniteDifferences) {
  const Segments s = segments({3, 0, 1, 4});
  expect_gradient([&](const std::vector<Tensor>& x) { return segment_softmax(x[0], x[1]); },
                  {random_tensor({8, 2}, DType::float64, 1), s.offsets});
}

}  // namespace
}  // namespace bough
