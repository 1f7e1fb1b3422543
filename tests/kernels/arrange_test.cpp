#include "bough/ops/arrange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "kernels/reference/arrange.h"
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
using Position = std::vector<std::int64_t>;

const std::vector<DType> every_type = {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean};

void expect_permuted(const Tensor& x, const std::vector<int>& axes) {
  SCOPED_TRACE(to_string(x.shape()));
  const Tensor y = permute(x, axes);
  const auto source = [&](const Position& to) {
    Position from(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) from[axes[i]] = to[i];
    return from;
  };
  for (std::size_t i = 0; i < axes.size(); ++i) EXPECT_EQ(y.size(static_cast<int>(i)), x.size(axes[i]));
  EXPECT_EQ(y.to_vector<double>(),
            reference::rearranged(x.to_vector<double>(), x.shape().extents(), y.shape().extents(), source));
}

class Arrange : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Arrange, testing::ValuesIn(every_device), device_name);

TEST_P(Arrange, PermutesInEveryOrderAndType) {
  for (DType dtype : every_type) {
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 17, 33}, Shape{16, 1, 16}, Shape{3, 0, 2}, Shape{35, 18, 5}}) {
      std::vector<int> axes{0, 1, 2};
      do {
        expect_permuted(here(random_tensor(shape, dtype)), axes);
      } while (std::ranges::next_permutation(axes).found);
    }
  }
}

TEST_P(Arrange, PermutesEightAxesAndNone) {
  expect_permuted(here(random_tensor({2, 3, 1, 2, 4, 1, 3, 2})), {7, 2, 0, 5, 3, 6, 1, 4});
  expect_permuted(here(random_tensor({2, 2, 2, 2, 2, 2, 2, 2})), {7, 6, 5, 4, 3, 2, 1, 0});
  expect_permuted(here(random_tensor({5})), {0});
  expect_permuted(here(random_tensor({})), {});
}

TEST(Transpose, SwapsTwoAxes) {
  expect_permuted(random_tensor({300, 257}), {1, 0});
  expect_same_bits(transpose(random_tensor({4, 5, 6})), permute(random_tensor({4, 5, 6}), {0, 2, 1}));
  expect_same_bits(transpose(random_tensor({4, 5, 6}), 0, -1), permute(random_tensor({4, 5, 6}), {2, 1, 0}));
  expect_same_bits(transpose(random_tensor({4, 5}), 1, 1), random_tensor({4, 5}));
}

TEST_P(Arrange, SlicesAsTheReference) {
  for (DType dtype : every_type) {
    const Tensor x = here(random_tensor({5, 9, 7}, dtype));
    for (int axis : {0, 1, 2, -1}) {
      const int resolved = axis < 0 ? axis + 3 : axis;
      for (const auto& [begin, end, step] : std::vector<std::array<std::int64_t, 3>>{
               {0, 5, 1}, {1, 4, 1}, {0, 5, 2}, {1, 5, 3}, {2, 2, 1}, {4, 5, 100}, {0, 5, INT64_MAX}}) {
        const Tensor y = slice(x, axis, begin, end, step);
        EXPECT_EQ(y.size(axis), begin == end ? 0 : (end - begin - 1) / step + 1);
        const auto source = [&, first = begin, by = step](Position to) {
          to[resolved] = first + by * to[resolved];
          return to;
        };
        EXPECT_EQ(y.to_vector<double>(),
                  reference::rearranged(x.to_vector<double>(), x.shape().extents(), y.shape().extents(), source));
      }
    }
  }
}

TEST(Slice, NegativeEndsCountFromTheEndOfTheAxis) {
  EXPECT_EQ(slice(arange(6), 0, -3, -1).to_vector<int>(), (std::vector<int>{3, 4}));
  EXPECT_EQ(slice(arange(6), 0, 1, 6, 2).to_vector<int>(), (std::vector<int>{1, 3, 5}));
}

TEST_P(Arrange, SplitUndoesConcatenateAlongEveryAxis) {
  for (DType dtype : every_type) {
    for (int axis : {0, 1, 2, -2}) {
      std::vector<Tensor> parts;
      std::vector<std::int64_t> sizes{3, 0, 1, 8};
      for (std::int64_t size : sizes) {
        parts.push_back(here(random_tensor(Shape{4, 5, 6}.with(axis, size), dtype, parts.size() + 1)));
      }
      const Tensor whole = concatenate(parts, axis);
      EXPECT_EQ(whole.shape(), (Shape{4, 5, 6}.with(axis, 12)));
      std::int64_t begin = 0;
      const std::vector<Tensor> again = split(whole, axis, sizes);
      ASSERT_EQ(again.size(), sizes.size());
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        expect_same_bits(slice(whole, axis, begin, begin + sizes[i]), parts[i]);
        expect_same_bits(again[i], parts[i]);
        begin += sizes[i];
      }
    }
  }
}

TEST_P(Arrange, StackMakesANewAxisAnywhere) {
  const Tensor a = here(random_tensor({2, 3})), b = here(random_tensor({2, 3}, DType::float32, 2));
  for (int axis : {0, 1, 2}) {
    const Tensor both = stack({a, b}, axis);
    EXPECT_EQ(both.size(axis), 2);
    expect_same_bits(slice(both, axis, 0, 1).reshape({2, 3}), a);
    expect_same_bits(slice(both, axis, 1, 2).reshape({2, 3}), b);
  }
  expect_same_bits(stack({a, b}, -1), stack({a, b}, 2));
  EXPECT_EQ(stack({here(zeros({})), here(ones({}))}, 0).to_vector<int>(), (std::vector<int>{0, 1}));
}

TEST_P(Arrange, RepeatPutsCopiesOneAfterTheOther) {
  const Tensor x = here(random_tensor({2, 3, 4}));
  for (int axis : {0, 1, 2, -1}) expect_same_bits(repeat(x, axis, 3), concatenate({x, x, x}, axis));
  expect_same_bits(repeat(x, 1, 1), x);
  EXPECT_EQ(repeat(x, 1, 0).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(repeat(here(zeros({2, 0, 4})), 0, 5).shape(), (Shape{10, 0, 4}));
  expect_gradient([](const auto& in) { return repeat(in[0], 1, 3); }, {random_tensor({2, 2, 2}, DType::float64)});
  EXPECT_THROW(repeat(x, 0, -1), ShapeError);
  EXPECT_THROW(repeat(x, 0, INT64_MAX), ShapeError);
}

TEST_P(Arrange, GradientsMatchFiniteDifferences) {
  const Tensor x = random_tensor({2, 3, 4}, DType::float64), y = random_tensor({2, 1, 4}, DType::float64, 2);
  expect_gradient([](const auto& in) { return permute(in[0], {2, 0, 1}); }, {x});
  expect_gradient([](const auto& in) { return transpose(in[0]); }, {x});
  expect_gradient([](const auto& in) { return slice(in[0], 1, 1, 3); }, {x});
  expect_gradient([](const auto& in) { return slice(in[0], 2, 0, 4, 3); }, {x});
  expect_gradient([](const auto& in) { return concatenate({in[0], in[1], in[0]}, 1); }, {x, y});
  expect_gradient([](const auto& in) { return stack({in[0], in[0]}, 1); }, {x});
  expect_gradient([](const auto& in) { return split(in[0], 2, {1, 3})[1]; }, {x});
  expect_gradient(
      [](const auto& in) {
        const std::vector<Tensor> parts = split(in[0], 0, {1, 1});
        return concatenate({parts[1], parts[0]}, 2);
      },
      {x});
}

TEST(Arrange, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor x = random_tensor({70, 81, 90});
  expect_same_bits_for_threads([&] {
    return std::vector<Tensor>{permute(x, {2, 1, 0}), permute(x, {1, 0, 2}), slice(x, 2, 3, 80, 7),
                               concatenate({x, x}, 1), transpose(x.reshape({5670, 90}))};
  });
}

TEST(Arrange, NamesShapesAndTypesThatDoNotFit) {
  EXPECT_THAT(
      [] {
        concatenate({zeros({2, 3}), zeros({2, 4})}, 0);
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[2, 3]"), HasSubstr("[2, 4]"), HasSubstr("axis 0"))));
  EXPECT_THAT(
      [] {
        concatenate({zeros({2}), arange(2)}, 0);
      },
      ThrowsMessage<TypeError>(AllOf(HasSubstr("float32"), HasSubstr("int64"))));
  EXPECT_THAT(
      [] {
        stack({zeros({2, 3}), zeros({3})}, 0);
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[2, 3]"), HasSubstr("[3]"))));
  EXPECT_THAT(
      [] {
        slice(zeros({2, 3}), 1, 2, 4);
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("2 to 4"), HasSubstr("[2, 3]"))));
  EXPECT_THAT(
      [] {
        split(zeros({2, 3}), 1, {1, 1});
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[1, 1]"), HasSubstr("[2, 3]"))));
  EXPECT_THAT(
      [] {
        permute(zeros({2, 3}), {0, 0});
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[0, 0]"), HasSubstr("[2, 3]"))));
  EXPECT_THROW(concatenate({}, 0), ShapeError);
  EXPECT_THROW(stack({}, 0), ShapeError);
  EXPECT_THROW(permute(zeros({2, 3}), {0}), ShapeError);
  EXPECT_THROW(slice(zeros({2, 3}), 0, 0, 1, 0), ShapeError);
  EXPECT_THROW(slice(zeros({2, 3}), 0, INT64_MIN, 1), ShapeError);
  EXPECT_THROW(split(zeros({2, 3}), 1, {INT64_MAX, INT64_MAX, 5}), ShapeError);
  EXPECT_THROW(slice(zeros({}), 0, 0, 0), ShapeError);
  EXPECT_THROW(concatenate({zeros({INT64_MAX, 0}), zeros({INT64_MAX, 0})}, 0), ShapeError);
}

}  // namespace
}  // namespace bough
