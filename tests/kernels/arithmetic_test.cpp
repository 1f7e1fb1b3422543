#include "bough/ops/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/ops/compare.h"
#include "kernels/reference/elementwise.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough::test {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct BinaryCase {
  const char* name;
  Tensor (*operation)(const Tensor&, const Tensor&);
  double (*expected)(double, double);
};

const BinaryCase binary_cases[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div, [](double a, double b) { return a / b; }},
    {"maximum", maximum, [](double a, double b) { return a > b ? a : b; }},
    {"minimum", minimum, [](double a, double b) { return a < b ? a : b; }},
};

/// Pairs of shapes that meet every kind of run: none, short and long, of either operand, in every position.
const std::pair<Shape, Shape> shape_pairs[] = {
    {{}, {}},
    {{}, {5}},
    {{1}, {1}},
    {{17}, {}},
    {{0}, {0}},
    {{0}, {1}},
    {{0, 3}, {1, 3}},
    {{4, 0}, {0}},
    {{37}, {37}},
    {{3, 5}, {3, 5}},
    {{3, 5}, {5}},
    {{3, 5}, {3, 1}},
    {{3, 1}, {1, 5}},
    {{4, 33}, {4, 1}},
    {{4, 1}, {4, 33}},
    {{67}, {2, 3, 67}},
    {{2, 1, 4, 1}, {3, 1, 19}},
    {{2, 3, 1, 5}, {1, 3, 7, 1}},
    {{2, 1, 3, 1, 2}, {5, 1, 7, 1}},
    {{1, 2, 1, 3, 40}, {2, 1, 1, 1, 40}},
    {{700, 3}, {700, 1}},
};

void PrintTo(const BinaryCase& each, std::ostream* out) { *out << each.name; }

class BinaryOperation : public DeviceCaseTest<BinaryCase> {};
class BinaryOnTheCpu : public testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryOperation, MatchesPlainLoopsForEveryBroadcast) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [left, right] : shape_pairs) {
      SCOPED_TRACE(to_string(left) + " and " + to_string(right));
      const Tensor a = here(random_tensor(left, dtype, 1)), b = here(random_tensor(right, dtype, 2));
      const Tensor y = each().operation(a, b);
      EXPECT_EQ(y.dtype(), dtype);
      expect_close(y, reference::binary(a, b, each().expected));
      expect_close(each().operation(b, a), reference::binary(b, a, each().expected));
    }
  }
}

TEST_P(BinaryOnTheCpu, MatchesPlainLoopsOnEveryInstructionSet) {
  const Tensor a = random_tensor({5, 1, 35}, DType::float32, 1), b = random_tensor({3, 35}, DType::float32, 2);
  on_every_simd_target([&] { expect_close(GetParam().operation(a, b), reference::binary(a, b, GetParam().expected)); });
}

TEST_P(BinaryOperation, GradientMatchesFiniteDifferences) {
  for (const auto& [left, right] : shape_pairs) {
    if (left.elements() * right.elements() > 500) continue;
    SCOPED_TRACE(to_string(left) + " and " + to_string(right));
    // Distinct and away from 0: no ties, no division by little.
    const Tensor a = random_distinct(left, DType::float64, 1);
    const Tensor b = add(random_distinct(right, DType::float64, 2), 10.01);
    expect_gradient([](const auto& x) { return each().operation(x[0], x[1]); }, {a, b});
    expect_gradient([](const auto& x) { return each().operation(x[1], x[0]); }, {add(a, 10.02), b});
  }
}

TEST_P(BinaryOnTheCpu, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor a = random_tensor({400, 1, 129}, DType::float32, 1), b = random_tensor({7, 1}, DType::float32, 2);
  expect_same_bits_for_threads([&] {
    Tensor x = a.clone().set_requires_grad(true), y = b.clone().set_requires_grad(true);
    const Tensor result = GetParam().operation(x, y);
    result.backward({.gradient = random_tensor(result.shape(), DType::float32, 3)});
    return std::vector<Tensor>{result.detach(), x.grad(), y.grad()};
  });
}

TEST_P(BinaryOnTheCpu, NamesBothShapesThatDoNotBroadcast) {
  const auto call = [] { GetParam().operation(zeros({3, 4}), zeros({3, 5})); };
  EXPECT_THAT(call, testing::ThrowsMessage<ShapeError>(
                        AllOf(HasSubstr(GetParam().name), HasSubstr("[3, 4]"), HasSubstr("[3, 5]"))));
}

TEST_P(BinaryOnTheCpu, NamesBothTypesThatDiffer) {
  const auto call = [] { GetParam().operation(zeros({3, 4}), zeros({4}, DType::float64)); };
  EXPECT_THAT(call, testing::ThrowsMessage<TypeError>(
                        AllOf(HasSubstr(GetParam().name), HasSubstr("float32 [3, 4]"), HasSubstr("float64 [4]"))));
}

TEST_P(BinaryOnTheCpu, RefusesBool) {
  EXPECT_THROW(GetParam().operation(zeros({2}, DType::boolean), zeros({2}, DType::boolean)), TypeError);
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, BinaryOperation, every_device_with(binary_cases), case_and_device<BinaryCase>);
INSTANTIATE_TEST_SUITE_P(Arithmetic, BinaryOnTheCpu, testing::ValuesIn(binary_cases),
                         [](const auto& each) { return each.param.name; });

class Arithmetic : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Arithmetic, testing::ValuesIn(every_device), device_name);

TEST_P(Arithmetic, IntegersAddSubtractMultiplyAndCompareExactly) {
  for (const DType dtype : {DType::int32, DType::int64}) {
    const Tensor a = here(random_tensor({3, 1, 21}, dtype, 1)), b = here(random_tensor({4, 1}, dtype, 2));
    for (const BinaryCase& each : binary_cases) {
      if (each.operation == static_cast<Tensor (*)(const Tensor&, const Tensor&)>(div)) continue;
      on_every_simd_target(device(),
                           [&] { expect_close(each.operation(a, b), reference::binary(a, b, each.expected)); });
    }
    expect_close(-a, reference::unary(a, [](double x) { return -x; }));
  }
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(mul(here(Tensor::from_vector<std::int64_t>({big}, {1})), 3).item<std::int64_t>(), 3 * big);
}

TEST_P(Arithmetic, IntegersWrapAround) {
  const Tensor top = here(Tensor::from_vector<std::int32_t>({std::numeric_limits<std::int32_t>::max()}, {1}));
  on_every_simd_target(device(), [&] {
    EXPECT_EQ(add(top, 1).item<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(mul(top, top).item<std::int32_t>(), 1);
  });
}

TEST(Arithmetic, IntegersAreNotDivided) {
  EXPECT_THROW(div(arange(3), arange(3)), TypeError);
  EXPECT_THROW(div(arange(3), 2), TypeError);
}

TEST_P(Arithmetic, NumbersTakeTheTypeOfTheTensor) {
  const Tensor x = here(Tensor::from_vector<float>({1, 2, 4}, {3}));
  expect_close(2 * x + 1, std::vector<double>{3, 5, 9});
  expect_close(1 - x / 4, std::vector<double>{0.75, 0.5, 0});
  expect_close(8 / x - 1, std::vector<double>{7, 3, 1});
  expect_close(1 + x * -1, std::vector<double>{0, -1, -3});
  EXPECT_EQ((x * 0.1).dtype(), DType::float32);
  EXPECT_EQ((here(arange(3)) + 1).dtype(), DType::int64);
  expect_close(maximum(x, 2), std::vector<double>{2, 2, 4});
  expect_close(minimum(x, 2), std::vector<double>{1, 2, 2});
}

TEST(Arithmetic, NamesTheOperationAndTheOperandThatIsUndefined) {
  const Tensor x = ones({2}), nothing;
  EXPECT_EQ(error_message<Error>([&] { nothing + x; }),
            "[add] the first operand is undefined; it was never given a value");
  EXPECT_THAT(error_message<Error>([&] { x / nothing; }), HasSubstr("[div] the second operand is undefined"));
  EXPECT_THAT(error_message<Error>([&] { square(nothing); }), HasSubstr("[square] x is undefined"));
  EXPECT_THAT(error_message<AutogradError>([&] { square(x.grad()); }), HasSubstr("run backward()"));
}

TEST(Arithmetic, RefusesNumbersThatTheTypeCannotHold) {
  const auto call = [] { arange(3, DType::int32) + 0.5; };
  EXPECT_THAT(call, testing::ThrowsMessage<TypeError>(AllOf(HasSubstr("int32"), HasSubstr("0.5"))));
  EXPECT_THROW(arange(3, DType::int32) + 3e9, TypeError);
  EXPECT_THROW(arange(3) * nan, TypeError);
}

TEST_P(Arithmetic, MaximumAndMinimumKeepNaN) {
  const Tensor a = here(Tensor::from_vector<float>({nan, 1, nan, -infinity}, {4}));
  const Tensor b = here(Tensor::from_vector<float>({1, nan, nan, infinity}, {4}));
  on_every_simd_target(device(), [&] {
    expect_close(maximum(a, b), std::vector<double>{nan, nan, nan, infinity});
    expect_close(minimum(a, b), std::vector<double>{nan, nan, nan, -infinity});
  });
}

TEST_P(Arithmetic, MaximumGivesTheGradientOfTiesToTheFirst) {
  Tensor a = here(ones({3})).set_requires_grad(true), b = here(ones({3})).set_requires_grad(true);
  maximum(a, b).backward({.gradient = here(ones({3}))});
  expect_close(a.grad(), ones({3}));
  expect_close(b.grad(), zeros({3}));
}

TEST_P(Arithmetic, GradientsOfNumbersAndBothUsesOfOneTensor) {
  const Tensor x = add(random_distinct({2, 5}, DType::float64), 3.01);
  expect_gradient([](const auto& in) { return (2 * in[0] - 1) / 4 + 3 / in[0] - in[0] * in[0] / (in[0] + in[0]); },
                  {x});
}

TEST(Arithmetic, BackwardKeepsOnlyWhatItNeeds) {
  Tensor a = random_tensor({4}).set_requires_grad(true);
  const Tensor b = random_tensor({4});
  const Tensor y = mul(a, b);
  NoGrad no_grad;
  a.fill(0);  // only b was kept, so this cannot make the gradient wrong
  y.backward({.gradient = ones({4})});
  expect_close(a.grad(), b);
}

struct UnaryCase {
  const char* name;
  Tensor (*operation)(const Tensor&);
  double (*expected)(double);
  double low, high;  ///< where it is smooth enough for differences
};

const UnaryCase unary_cases[] = {
    {"neg", neg, [](double x) { return -x; }, -2, 2},
    {"abs", abs, [](double x) { return std::abs(x); }, 0.1, 3},
    {"abs_of_negative", abs, [](double x) { return std::abs(x); }, -3, -0.1},
    {"square", square, [](double x) { return x * x; }, -2, 2},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.2, 9},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.5, 4},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.3, 4},
    {"pow", [](const Tensor& x) { return pow(x, 2.5); }, [](double x) { return std::pow(x, 2.5); }, 0.1, 3},
    {"cube", [](const Tensor& x) { return pow(x, 3); }, [](double x) { return x * x * x; }, -2, 2},
    {"pow_zero", [](const Tensor& x) { return pow(x, 0); }, [](double) { return 1.0; }, -1, 1},
    {"pow_square", [](const Tensor& x) { return pow(x, 2); }, [](double x) { return x * x; }, -1, 1},
    {"pow_half", [](const Tensor& x) { return pow(x, 0.5); }, [](double x) { return std::sqrt(x); }, 1, 4},
    {"pow_minus_one", [](const Tensor& x) { return pow(x, -1); }, [](double x) { return 1 / x; }, 1, 4},
    {"pow_minus_half", [](const Tensor& x) { return pow(x, -0.5); }, [](double x) { return 1 / std::sqrt(x); }, 1, 4},
    {"clamp", [](const Tensor& x) { return clamp(x, -1, 0.5); },
     [](double x) { return x < -1    ? -1
                           : x > 0.5 ? 0.5
                                     : x; }, -3, 3},
};

void PrintTo(const UnaryCase& each, std::ostream* out) { *out << each.name; }

class UnaryArithmetic : public DeviceCaseTest<UnaryCase> {};

TEST_P(UnaryArithmetic, MatchesPlainLoopsForOddSizes) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{16}, Shape{3, 11}, Shape{2, 3, 1, 5, 9}}) {
      const Tensor x = here(random_uniform(shape, each().low, each().high, dtype));
      on_every_simd_target(device(), [&] { expect_close(each().operation(x), reference::unary(x, each().expected)); });
    }
  }
}

TEST_P(UnaryArithmetic, GradientMatchesFiniteDifferences) {
  const Tensor x = random_uniform({3, 7}, each().low, each().high, DType::float64);
  expect_gradient([](const auto& in) { return each().operation(in[0]); }, {x});
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, UnaryArithmetic, every_device_with(unary_cases), case_and_device<UnaryCase>);

TEST_P(Arithmetic, SpecialValuesComeOutAsInTheStandardLibrary) {
  const Tensor x = here(Tensor::from_vector<float>({0.0f, -0.0f, infinity, -infinity, nan, -4.0f, 1e-40f}, {7}));
  expect_close(sqrt(x), reference::unary(x, [](double v) { return std::sqrt(v); }));
  expect_close(reciprocal(x),
               reference::unary(x, [](double v) { return static_cast<float>(1 / static_cast<float>(v)); }));
  for (const double exponent : {3.0, 4.0, 2.5, -3.0, -4.0, -2.5, 0.0, 1.0}) {
    SCOPED_TRACE(exponent);
    const auto expected = [exponent](double v) { return static_cast<float>(std::pow(v, exponent)); };
    on_every_simd_target(device(), [&] { expect_close(pow(x, exponent), reference::unary(x, expected)); });
    expect_same_bits(less(pow(x, exponent), 0), less(reference::unary(x, expected), 0));
  }
  expect_close(abs(x), reference::unary(x, [](double v) { return std::abs(v); }));
  expect_close(clamp(x, -1, 1), std::vector<double>{0, 0, 1, -1, nan, -1, 1e-40});
}

TEST_P(Arithmetic, AbsHasNoGradientAtZero) {
  Tensor x = here(zeros({2})).set_requires_grad(true);
  abs(x).backward({.gradient = here(ones({2}))});
  expect_close(x.grad(), zeros({2}));
}

TEST(Arithmetic, ClampRefusesLimitsTheWrongWayRound) {
  EXPECT_THROW(clamp(zeros({2}), 1, 0), ConfigError);
  EXPECT_THROW(clamp(zeros({2}), nan, 0), ConfigError);
}

TEST_P(Arithmetic, PowerIsAccurateToTheLastBits) {
  const Tensor x = here(random_uniform({1001}, 0, 4));
  const double relative = on_cpu() ? 6.1e-8 : 1e-6;  // CUDA's own function is good to 4 units in the last place
  for (const double exponent : {3.0, -7.0, 1.7, 0.1, 30.0}) {
    const auto expected = [exponent](double v) { return std::pow(v, exponent); };
    expect_close(pow(x, exponent), reference::unary(x, expected), Tolerance{.relative = relative, .absolute = 1e-45});
  }
  EXPECT_THROW(pow(x, infinity), ConfigError);
}

TEST(Arithmetic, UnaryFunctionsTakeFloatsOnly) {
  EXPECT_THAT([] { sqrt(arange(3)); }, testing::ThrowsMessage<TypeError>(AllOf(HasSubstr("sqrt"), HasSubstr("int64"))));
}

}  // namespace
}  // namespace bough::test
