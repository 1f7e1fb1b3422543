#include "bough/ops/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "bough/autograd/autograd.h"
#include "kernels/reference/elementwise.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough::test {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double exact_gelu(double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }
double exact_gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double exact_sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

struct Activation {
  const char* name;
  Tensor (*operation)(const Tensor&);
  double (*expected)(double);
  double low = -6, high = 6;
  double at_minus_infinity, at_infinity;
};

const Activation activations[] = {
    {.name = "exp",
     .operation = exp,
     .expected = [](double x) { return std::exp(x); },
     .at_minus_infinity = 0,
     .at_infinity = infinity},
    {.name = "log",
     .operation = log,
     .expected = [](double x) { return std::log(x); },
     .low = 0.05,
     .high = 20,
     .at_minus_infinity = nan,
     .at_infinity = infinity},
    {.name = "tanh",
     .operation = tanh,
     .expected = [](double x) { return std::tanh(x); },
     .at_minus_infinity = -1,
     .at_infinity = 1},
    {.name = "sigmoid", .operation = sigmoid, .expected = exact_sigmoid, .at_minus_infinity = 0, .at_infinity = 1},
    {.name = "silu",
     .operation = silu,
     .expected = [](double x) { return x * exact_sigmoid(x); },
     .at_minus_infinity = 0,
     .at_infinity = infinity},
    {.name = "relu",
     .operation = relu,
     .expected = [](double x) { return x > 0 ? x : 0; },
     .at_minus_infinity = 0,
     .at_infinity = infinity},
    {.name = "leaky_relu",
     .operation = [](const Tensor& x) { return leaky_relu(x, {.slope = 0.2}); },
     .expected = [](double x) { return x > 0 ? x : 0.2 * x; },
     .at_minus_infinity = -infinity,
     .at_infinity = infinity},
    {.name = "leaky_relu_without_slope",
     .operation = [](const Tensor& x) { return leaky_relu(x, {.slope = 0}); },
     .expected = [](double x) { return x > 0 ? x : 0; },
     .at_minus_infinity = nan,
     .at_infinity = infinity},
    {.name = "softplus",
     .operation = softplus,
     .expected = [](double x) { return std::log1p(std::exp(x)); },
     .at_minus_infinity = 0,
     .at_infinity = infinity},
    {.name = "elu",
     .operation = [](const Tensor& x) { return elu(x, {.alpha = 1.5}); },
     .expected = [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); },
     .at_minus_infinity = -1.5,
     .at_infinity = infinity},
    {.name = "gelu",
     .operation = [](const Tensor& x) { return gelu(x); },
     .expected = exact_gelu,
     .at_minus_infinity = 0,
     .at_infinity = infinity},
    {.name = "gelu_tanh",
     .operation = [](const Tensor& x) { return gelu(x, {.tanh_approximation = true}); },
     .expected = exact_gelu_tanh,
     .at_minus_infinity = 0,
     .at_infinity = infinity},
};

void PrintTo(const Activation& each, std::ostream* out) { *out << each.name; }

class ActivationFunction : public DeviceCaseTest<Activation> {};
class ActivationOnTheCpu : public testing::TestWithParam<Activation> {};

TEST_P(ActivationFunction, MatchesTheStandardLibraryForOddSizes) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{0, 4}, Shape{1}, Shape{15}, Shape{33}, Shape{3, 1, 2, 1, 11}}) {
      const Tensor x = here(random_uniform(shape, each().low, each().high, dtype));
      on_every_simd_target(device(), [&] {
        const Tensor y = each().operation(x);
        EXPECT_EQ(y.dtype(), dtype);
        expect_close(y, reference::unary(x, each().expected),
                     dtype == DType::float32 ? Tolerance{1e-6, 1e-7} : Tolerance{1e-14, 1e-15});
      });
    }
  }
}

TEST_P(ActivationFunction, GradientMatchesFiniteDifferences) {
  const Tensor x = random_uniform({5, 9}, each().low, each().high, DType::float64);
  expect_gradient([](const auto& in) { return each().operation(in[0]); }, {x});
}

TEST_P(ActivationFunction, GradientInFloatIsThatOfDouble) {
  const Tensor x = random_uniform({4, 21}, each().low, each().high);
  const auto gradient = [&](DType dtype) {
    Tensor leaf = Tensor::from_vector(x.to_vector<double>(), x.shape());
    if (dtype == DType::float32) leaf = x.clone();
    leaf = here(leaf).set_requires_grad(true);
    const Tensor y = each().operation(leaf);
    y.backward({.gradient = here(ones(y.shape(), dtype))});
    return leaf.grad();
  };
  on_every_simd_target(device(), [&] { expect_close(gradient(DType::float32), gradient(DType::float64)); });
}

TEST_P(ActivationFunction, ReachesItsLimitsAndKeepsNaN) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Tensor x = Tensor::empty({3}, dtype);
    visit_floating("test", dtype, [&]<typename T>(TypeTag<T>) {
      x.data<T>()[0] = -std::numeric_limits<T>::infinity();
      x.data<T>()[1] = std::numeric_limits<T>::infinity();
      x.data<T>()[2] = std::numeric_limits<T>::quiet_NaN();
    });
    on_every_simd_target(device(), [&] {
      expect_close(each().operation(here(x)), std::vector<double>{each().at_minus_infinity, each().at_infinity, nan});
    });
  }
}

TEST_P(ActivationFunction, StaysFiniteForLargeArguments) {
  const bool positive_only = each().low > 0;
  const std::vector<float> large{-1e30f, -1e4f, -200, -90, 80}, large_positive{1e-30f, 1e-4f, 200, 1e4f, 1e30f};
  Tensor x = here(Tensor::from_vector(positive_only ? large_positive : large, {5})).set_requires_grad(true);
  const Tensor y = each().operation(x);
  y.backward({.gradient = here(ones({5}))});
  for (float value : y.to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
  for (float value : x.grad().to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(ActivationOnTheCpu, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor x = random_uniform({3, 50001}, GetParam().low, GetParam().high);
  const Tensor dy = random_tensor(x.shape(), DType::float32, 2);
  expect_same_bits_for_threads([&] {
    Tensor leaf = x.clone().set_requires_grad(true);
    const Tensor y = GetParam().operation(leaf);
    y.backward({.gradient = dy});
    return std::vector<Tensor>{y.detach(), leaf.grad()};
  });
}

TEST_P(ActivationFunction, TakesFloatsOnly) {
  EXPECT_THAT([&] { each().operation(here(arange(3))); }, testing::ThrowsMessage<TypeError>(HasSubstr("int64")));
}

INSTANTIATE_TEST_SUITE_P(EveryDevice, ActivationFunction, every_device_with(activations), case_and_device<Activation>);
INSTANTIATE_TEST_SUITE_P(Activation, ActivationOnTheCpu, testing::ValuesIn(activations),
                         [](const auto& each) { return each.param.name; });

class ActivationDetails : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, ActivationDetails, testing::ValuesIn(every_device), device_name);

TEST_P(ActivationDetails, GeluIsAccurateWhereItIsTiny) {
  const Tensor x = here(Tensor::from_vector<double>({-5, -8, -12, -20, -30, -37}, {6}));
  // In units of the value itself: 0.5 x (1 + erf) would give nothing but rounding errors here.
  expect_close(gelu(x), reference::unary(x, exact_gelu), Tolerance{.relative = 1e-12});
}

TEST(Activation, ReluKeepsOnlyItsResult) {
  Tensor x = Tensor::from_vector<float>({-1, 2}, {2}).set_requires_grad(true);
  const Tensor y = relu(x);
  const NoGrad no_grad;
  x.fill(-5);
  y.backward({.gradient = ones({2})});
  expect_close(x.grad(), std::vector<double>{0, 1});
}

TEST_P(ActivationDetails, KinksHaveTheGradientOfTheLeftSide) {
  Tensor x = here(zeros({1})).set_requires_grad(true);
  relu(x).backward();
  EXPECT_EQ(x.grad().item<float>(), 0);
  x.clear_grad();
  leaky_relu(x, {.slope = 0.25}).backward();
  EXPECT_EQ(x.grad().item<float>(), 0.25);
}

TEST(Activation, RefusesNegativeSlopes) {
  EXPECT_THAT([] { leaky_relu(zeros({2}), {.slope = -1}); },
              testing::ThrowsMessage<ConfigError>(AllOf(HasSubstr("slope"), HasSubstr("-1"))));
  EXPECT_THAT([] { elu(zeros({2}), {.alpha = nan}); }, testing::ThrowsMessage<ConfigError>(HasSubstr("alpha")));
}

}  // namespace
}  // namespace bough::test
