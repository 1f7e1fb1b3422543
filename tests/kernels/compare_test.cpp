#include "bough/ops/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/dropout.h"
#include "bough/ops/embedding.h"
#include "bough/ops/layer_norm.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "bough/ops/segment.h"
#include "bough/ops/softmax.h"
#include "kernels/reference/elementwise.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::test {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr DType all_types[] = {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean};

struct ComparisonCase {
  const char* name;
  Tensor (*tensors)(const Tensor&, const Tensor&);
  Tensor (*number)(const Tensor&, double);
  double (*expected)(double, double);
};

const ComparisonCase comparisons[] = {
    {"equal", equal, equal, [](double a, double b) -> double { return a == b; }},
    {"not_equal", not_equal, not_equal, [](double a, double b) -> double { return a != b; }},
    {"less", less, less, [](double a, double b) -> double { return a < b; }},
    {"less_equal", less_equal, less_equal, [](double a, double b) -> double { return a <= b; }},
    {"greater", greater, greater, [](double a, double b) -> double { return a > b; }},
    {"greater_equal", greater_equal, greater_equal, [](double a, double b) -> double { return a >= b; }},
};

void PrintTo(const ComparisonCase& each, std::ostream* out) { *out << each.name; }

const std::pair<Shape, Shape> shape_pairs[] = {{{}, {}},
                                               {{0}, {1}},
                                               {{7}, {7}},
                                               {{3, 20}, {20}},
                                               {{3, 20}, {3, 1}},
                                               {{3, 1}, {1, 20}},
                                               {{2, 1, 3, 1, 2}, {5, 1, 7, 1}}};

class ComparisonOperation : public DeviceCaseTest<ComparisonCase> {};

TEST_P(ComparisonOperation, MatchesPlainLoopsForEveryTypeAndBroadcast) {
  for (const DType dtype : all_types) {
    for (const auto& [left, right] : shape_pairs) {
      // Few different values, so that equal ones meet.
      const Tensor a = here(random_indices(left, 0, 2, dtype, 1)), b = here(random_indices(right, 0, 2, dtype, 2));
      const Tensor y = each().tensors(a, b);
      EXPECT_EQ(y.dtype(), DType::boolean);
      expect_close(y, reference::binary(a, b, each().expected));
      expect_close(each().number(a, 1), reference::binary(a, ones({}), each().expected));
    }
  }
}

TEST_P(ComparisonOperation, TreatsNaNAsDifferentFromEverything) {
  const Tensor a = here(Tensor::from_vector<double>({nan, nan, 1, infinity}, {4}));
  const Tensor b = here(Tensor::from_vector<double>({nan, 1, nan, infinity}, {4}));
  expect_close(each().tensors(a, b), reference::binary(a, b, each().expected));
}

TEST_P(ComparisonOperation, NamesBothOperandsThatDoNotFit) {
  EXPECT_THAT(
      [&] {
        each().tensors(here(zeros({3, 4})), here(zeros({5})));
      },
      testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 4]"), HasSubstr("[5]"))));
  EXPECT_THAT([&] { each().tensors(here(zeros({3})), here(arange(3))); },
              testing::ThrowsMessage<TypeError>(AllOf(HasSubstr("float32 [3]"), HasSubstr("int64 [3]"))));
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, ComparisonOperation, every_device_with(comparisons),
                         case_and_device<ComparisonCase>);

class Where : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Where, testing::ValuesIn(every_device), device_name);

TEST_P(Where, ChoosesForEveryTypeAndBroadcast) {
  for (const DType dtype : all_types) {
    for (const auto& [mask_shape, a_shape, b_shape] : {std::tuple<Shape, Shape, Shape>{{}, {}, {}},
                                                       {{40}, {40}, {40}},
                                                       {{0}, {0}, {1}},
                                                       {{3, 1}, {3, 20}, {20}},
                                                       {{20}, {3, 1}, {}},
                                                       {{2, 3, 1}, {1, 1, 5}, {3, 5}}}) {
      const Tensor mask = here(random_tensor(mask_shape, DType::boolean, 1));
      const Tensor a = here(random_tensor(a_shape, dtype, 2)), b = here(random_tensor(b_shape, dtype, 3));
      const Shape shape = broadcast_shapes("test", mask_shape, broadcast_shapes("test", a_shape, b_shape));
      // From plain loops: with the mask as 0 and 1, a stands where it is 1 and b where it is 0.
      const Tensor taken_a = reference::binary(mask, a, [](double m, double v) { return m * v; });
      const Tensor taken_b = reference::binary(mask, b, [](double m, double v) { return (1 - m) * v; });
      const Tensor y = where(mask, a, b);
      EXPECT_EQ(y.shape(), shape);
      EXPECT_EQ(y.dtype(), dtype);
      expect_close(y, reference::binary(taken_a, taken_b, [](double p, double q) { return p + q; }));
    }
  }
}

TEST_P(Where, IgnoresWhatStandsInTheOtherPlace) {
  const Tensor mask = here(Tensor::from_vector<bool>({true, false}, {2}));
  Tensor x = here(Tensor::from_vector<double>({1, nan}, {2})).set_requires_grad(true);
  const Tensor y = where(mask, x, -infinity);
  expect_close(y, std::vector<double>{1, -infinity});
  y.backward({.gradient = here(full({2}, 3, DType::float64))});
  expect_close(x.grad(), std::vector<double>{3, 0});
}

TEST_P(Where, GradientMatchesFiniteDifferences) {
  const Tensor mask = random_tensor({3, 1, 5}, DType::boolean);
  const Tensor a = random_tensor({4, 1}, DType::float64, 2), b = random_tensor({3, 4, 1}, DType::float64, 3);
  expect_gradient([&](const auto& in) { return where(in[2], in[0], in[1]); }, {a, b, mask});
  expect_gradient([&](const auto& in) { return where(in[1], 2, in[0]); }, {b, mask});
}

TEST(Where, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor mask = random_tensor({300, 1}, DType::boolean), a = random_tensor({300, 401}), b = random_tensor({401});
  expect_same_bits_for_threads([&] {
    Tensor x = a.clone().set_requires_grad(true), z = b.clone().set_requires_grad(true);
    const Tensor y = where(mask, x, z);
    y.backward({.gradient = random_tensor(y.shape(), DType::float32, 5)});
    return std::vector<Tensor>{y.detach(), x.grad(), z.grad()};
  });
}

TEST(Where, NamesWhatDoesNotFit) {
  const Tensor mask = zeros({2}, DType::boolean);
  EXPECT_THAT([&] { where(zeros({2}), zeros({2}), zeros({2})); },
              testing::ThrowsMessage<TypeError>(HasSubstr("float32")));
  EXPECT_THAT([&] { where(mask, zeros({2}), arange(2)); }, testing::ThrowsMessage<TypeError>(HasSubstr("int64")));
  EXPECT_THAT([&] { where(mask, zeros({3}), zeros({1})); },
              testing::ThrowsMessage<ShapeError>(AllOf(HasSubstr("[2]"), HasSubstr("[3]"))));
}

class Cast : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Cast, testing::ValuesIn(every_device), device_name);

TEST_P(Cast, ConvertsBetweenAllTypes) {
  for (const DType from : all_types) {
    for (const DType to : all_types) {
      const Tensor x = here(random_indices({3, 41}, 0, from == DType::boolean ? 2 : 90, from));
      const Tensor y = cast(x, to);
      EXPECT_EQ(y.dtype(), to);
      expect_close(y, to == DType::boolean ? reference::unary(x, [](double v) -> double { return v != 0; })
                                           : reference::unary(x, [](double v) { return v; }));
    }
  }
}

TEST_P(Cast, CutsTowardsZeroAndStaysInRange) {
  const Tensor x = here(Tensor::from_vector<double>({1.9, -1.9, 3e9, -3e9, 1e300, -infinity, nan, 2147483647.5}, {8}));
  constexpr double top = 2147483647, bottom = -2147483648.0;
  expect_close(cast(x, DType::int32), std::vector<double>{1, -1, top, bottom, top, bottom, 0, top});
  const Tensor wide = cast(x, DType::int64);
  const std::vector<std::int64_t> whole = wide.to_vector<std::int64_t>();
  EXPECT_EQ(whole[4], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole[5], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole[2], 3'000'000'000);
  expect_close(cast(wide, DType::int32), std::vector<double>{1, -1, top, bottom, top, bottom, 0, top});
  expect_close(cast(x, DType::boolean), ones({8}));
  EXPECT_EQ(cast(here(full({}, 2147483648.0)), DType::int32).item<std::int32_t>(), 2147483647);
}

TEST_P(Cast, GradientComesBackInTheTypeOfTheArgument) {
  Tensor x = here(random_tensor({5})).set_requires_grad(true);
  sum(cast(x, DType::float64)).backward();
  EXPECT_EQ(x.grad().dtype(), DType::float32);
  expect_close(x.grad(), ones({5}));
  EXPECT_FALSE(cast(x, DType::int64).requires_grad());
  EXPECT_FALSE(cast(x, DType::boolean).requires_grad());
}

TEST_P(Cast, GivesTheSameTensorForItsOwnType) {
  const Tensor x = here(zeros({2}));
  EXPECT_TRUE(cast(x, DType::float32).same_as(x));
}

TEST(Cast, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor x = random_tensor({200'001}, DType::float64);
  expect_same_bits_for_threads([&] { return cast(x, DType::float32); });
}

TEST(Cast, RoundsToBfloat16AndBackWithItsGradient) {
  Tensor x = Tensor::from_vector(std::vector<float>{1.f, 1 + 0x1p-8f, -3.14159f}, {3}).set_requires_grad(true);
  const Tensor y = cast(x, DType::bfloat16);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1.f, 1.f, -3.140625f}));
  const Tensor z = cast(y, DType::float32);
  z.backward({.gradient = Tensor::from_vector(std::vector<float>{1.f, 2.f, 1 + 0x1p-8f}, {3})});
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1.f, 2.f, 1.f})) << "gradients go through it too";
  expect_close(cast(y, DType::int32), std::vector<double>{1, 1, -3});
  expect_close(cast(y, DType::boolean), ones({3}));
  EXPECT_EQ(cast(Tensor::from_vector(std::vector<std::int64_t>{257}, {1}), DType::bfloat16).item<float>(), 256.f);
}

TEST(Cast, IsAskedForWhereBfloat16IsNotTaken) {
  const Tensor x = zeros({2, 2}, DType::bfloat16);
  EXPECT_EQ(error_message<TypeError>([&] { add(x, x); }),
            "[add] takes float32 or float64, not bfloat16; cast() converts");
  EXPECT_EQ(error_message<TypeError>([&] { less(x, x); }), "[less] does not take bfloat16; cast() converts");
  const Tensor offsets = Tensor::from_vector(std::vector<std::int64_t>{0, 2}, {2});
  const Tensor index = Tensor::from_vector(std::vector<std::int64_t>{1, 0}, {2});
  const std::vector<std::function<Tensor()>> refused = {
      [&] { return add(x, 1); },
      [&] { return exp(x); },
      [&] { return sum(x); },
      [&] { return max(x, {1}); },
      [&] { return argmax(x); },
      [&] {
        return broadcast_to(x, {3, 2, 2});
      },
      [&] {
        return where(ones({2, 2}, DType::boolean), x, x);
      },
      [&] { return gather_rows(x, index); },
      [&] { return scatter_add_rows(x, index, 3); },
      [&] { return embedding(x, index); },
      [&] { return segment_reduce(x, offsets, ReduceOp::sum); },
      [&] { return matmul(x, x); },
      [&] { return linear(x, x); },
      [&] { return softmax(x); },
      [&] { return layer_norm(x, ones({2}, DType::bfloat16), zeros({2}, DType::bfloat16)); },
      [&] { return cross_entropy(x, index); },
      [&] { return dropout(x, 0.5); },
      [&] { return randn({2}, DType::bfloat16); },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) EXPECT_THROW(refused[i](), TypeError) << i;
}

}  // namespace
}  // namespace bough::test
