#include "bough/ops/layer_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "kernels/reference/layer_norm.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/fixtures.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Element by element: the plain sum that add_layer_norm must give.
Tensor plain_sum(const Tensor& a, const Tensor& b) { return a.detach().clone().accumulate(b.detach()); }

class LayerNorm : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, LayerNorm, testing::ValuesIn(every_device), device_name);

TEST_P(LayerNorm, MatchesTheReferenceForAllSizes) {
  on_every_simd_target(device(), [&] {
    for (const auto& [rows, width] : std::vector<std::array<std::int64_t, 2>>{
             {0, 5}, {3, 0}, {1, 1}, {4, 2}, {3, 16}, {5, 17}, {2, 67}, {300, 130}, {3, 5000}}) {
      for (DType dtype : {DType::float32, DType::float64}) {
        if (rows * width > most_elements()) continue;
        SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
        const Tensor x = here(random_tensor({rows, width}, dtype)),
                     residual = here(random_tensor({rows, width}, dtype, 2));
        const Tensor weight = here(random_tensor({width}, dtype, 3)), bias = here(random_tensor({width}, dtype, 4));
        const auto expected = [&](const Tensor& input) {
          return reference::layer_norm(input.to_vector<double>(), weight.to_vector<double>(), bias.to_vector<double>(),
                                       1e-3);
        };
        expect_close(layer_norm(x, weight, bias, 1e-3), expected(x));
        const SumAndNorm both = add_layer_norm(x, residual, weight, bias, {.epsilon = 1e-3});
        expect_same_bits(both.sum, plain_sum(x, residual));
        expect_close(both.normalized, expected(both.sum));
      }
    }
  });
}

TEST_P(LayerNorm, AgreesWithTorch) {
  const nlohmann::json cases = read_fixture("torch_losses_and_norms.json").at("layer_norm");
  ASSERT_FALSE(cases.empty());
  for (const auto& c : cases) {
    const std::int64_t width = c.at("width");
    const auto tensor = [&](const char* name, const Shape& shape) {
      return here(Tensor::from_vector(c.at(name).get<std::vector<double>>(), shape)).set_requires_grad(true);
    };
    const Tensor x = tensor("x", {3, width}), residual = tensor("residual", {3, width});
    const Tensor weight = tensor("weight", {width}), bias = tensor("bias", {width});
    const Tensor y =
        add_layer_norm(x, residual, weight, bias, {.epsilon = c.at("epsilon"), .keep_sum = false}).normalized;
    expect_close(y, c.at("normalized").get<std::vector<double>>());
    std::vector<double> seed(static_cast<std::size_t>(y.elements()));
    std::iota(seed.begin(), seed.end(), 1.0);
    y.backward({.gradient = here(Tensor::from_vector(seed, y.shape()))});
    expect_close(x.grad(), c.at("dx").get<std::vector<double>>());
    expect_close(residual.grad(), c.at("dx").get<std::vector<double>>());
    expect_close(weight.grad(), c.at("dweight").get<std::vector<double>>());
    expect_close(bias.grad(), c.at("dbias").get<std::vector<double>>());
  }
}

TEST_P(LayerNorm, WithoutParametersOnlyNormalises) {
  const Tensor x = here(random_tensor({4, 3, 9}));
  expect_same_bits(layer_norm(x, {}, {}), layer_norm(x, here(ones({9})), here(zeros({9}))));
}

TEST_P(LayerNorm, ConstantRowsAndWidthOneGiveTheBias) {
  for (const Shape& shape : {Shape{3, 1}, Shape{3, 5}, Shape{3, 40}}) {
    Tensor x = here(full(shape, 1234.5)), weight = here(random_tensor({shape[1]})),
           bias = here(random_tensor({shape[1]}, DType::float32, 2));
    x.set_requires_grad(true);
    weight.set_requires_grad(true);
    const Tensor y = layer_norm(x, weight, bias);
    for (int row : {0, 1, 2}) expect_same_bits(y.detach().rows(row, row + 1).reshape(bias.shape()), bias);
    y.backward({.gradient = here(random_tensor(shape))});
    for (float gradient : x.grad().to_vector<float>()) EXPECT_TRUE(std::isfinite(gradient));
    expect_same_bits(weight.grad(), zeros(weight.shape()));
  }
}

TEST_P(LayerNorm, NoRowsAndNoWidthGiveZeroGradients) {
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}}) {
    Tensor x = here(zeros(shape)), weight = here(ones({shape[1]})), bias = here(ones({shape[1]}));
    for (Tensor* tensor : {&x, &weight, &bias}) tensor->set_requires_grad(true);
    layer_norm(x, weight, bias).backward({.gradient = here(zeros(shape))});
    expect_same_bits(x.grad(), zeros(shape));
    expect_same_bits(weight.grad(), zeros(weight.shape()));
    expect_same_bits(bias.grad(), zeros(weight.shape()));
  }
}

TEST_P(LayerNorm, RowsFarFromZeroKeepTheirPrecision) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back(10000.0f + static_cast<float>(i % 8) / 8);
  const Tensor x = here(Tensor::from_vector(values, {1, 64}));
  const std::vector<double> ones_64(64, 1.0), zeros_64(64, 0.0);
  expect_close(layer_norm(x, {}, {}),
               Tensor::from_vector(reference::layer_norm(x.to_vector<double>(), ones_64, zeros_64, 1e-5), {1, 64}),
               Tolerance{.relative = 1e-3, .absolute = 1e-3});
}

TEST_P(LayerNorm, GradientsMatchFiniteDifferences) {
  for (std::int64_t width : {1, 3, 9, 19}) {
    const Tensor x = random_tensor({2, 2, width}, DType::float64),
                 residual = random_tensor({2, 2, width}, DType::float64, 2);
    const Tensor weight = random_tensor({width}, DType::float64, 3), bias = random_tensor({width}, DType::float64, 4);
    const double epsilon = 0.1;
    expect_gradient([&](const auto& in) { return layer_norm(in[0], in[1], in[2], epsilon); }, {x, weight, bias});
    expect_gradient([&](const auto& in) { return layer_norm(in[0], {}, {}, epsilon); }, {x});
    expect_gradient([&](const auto& in) { return layer_norm(in[0], weight.to(device_of(in)), in[1], epsilon); },
                    {x, bias});
    for (bool keep_sum : {true, false}) {
      expect_gradient(
          [&](const auto& in) {
            return add_layer_norm(in[0], in[1], in[2], in[3], {.epsilon = 0.1, .keep_sum = keep_sum}).normalized;
          },
          {x, residual, weight, bias});
    }
    expect_gradient(
        [&](const auto& in) {
          return add_layer_norm(in[0], in[1], weight.to(device_of(in)), bias.to(device_of(in))).sum;
        },
        {x, residual});
  }
}

class AddLayerNorm : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, AddLayerNorm, testing::ValuesIn(every_device), device_name);

TEST_P(AddLayerNorm, GradientsOfBothResultsAreAdded) {
  const Tensor weight = here(random_tensor({5}, DType::float64, 3));
  const auto gradient = [&](bool sum, bool normalized) {
    Tensor x = here(random_tensor({3, 5}, DType::float64));
    x.set_requires_grad(true);
    const SumAndNorm both = add_layer_norm(x, here(random_tensor({3, 5}, DType::float64, 2)), weight, {});
    const BackwardOptions seed{.gradient = here(random_tensor({3, 5}, DType::float64, 5)), .retain_graph = true};
    if (sum) both.sum.backward(seed);
    if (normalized) both.normalized.backward(seed);
    return x.grad();
  };
  expect_close(gradient(true, true), plain_sum(gradient(true, false), gradient(false, true)));
  expect_same_bits(gradient(true, false), random_tensor({3, 5}, DType::float64, 5));
}

TEST(AddLayerNorm, WritesNoSumThatIsNotNeeded) {
  const Tensor x = random_tensor({1000, 100}), residual = random_tensor({1000, 100}, DType::float32, 2);
  const Tensor both = add_layer_norm(x, residual, {}, {}).normalized;
  SumAndNorm only;
  EXPECT_LT(peak_bytes([&] { only = add_layer_norm(x, residual, {}, {}, {.keep_sum = false}); }), 600'000);
  EXPECT_FALSE(only.sum.defined());
  expect_same_bits(only.normalized, both);
}

TEST_P(LayerNorm, GivesOnlyTheGradientsAskedFor) {
  Tensor x = here(random_tensor({4, 6})), weight = here(random_tensor({6}, DType::float32, 2)), bias = here(zeros({6}));
  weight.set_requires_grad(true);
  const Tensor seed = here(random_tensor({4, 6}, DType::float32, 3));
  layer_norm(x, weight, bias).backward({.gradient = seed});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(bias.grad().defined());
  const Tensor alone = weight.grad();
  x.set_requires_grad(true);
  weight.clear_grad();
  layer_norm(x, weight, bias).backward({.gradient = seed});
  expect_same_bits(weight.grad(), alone);
}

TEST(LayerNorm, IsBitwiseEqualForOneTwoAndSevenThreads) {
  Tensor x = random_tensor({4000, 45}), weight = random_tensor({45}), bias = random_tensor({45});
  const Tensor seed = random_tensor({4000, 45}, DType::float32, 2);
  for (Tensor* tensor : {&x, &weight, &bias}) tensor->set_requires_grad(true);
  expect_same_bits_for_threads([&] {
    for (Tensor* tensor : {&x, &weight, &bias}) tensor->clear_grad();
    const SumAndNorm both = add_layer_norm(x, seed, weight, bias);
    both.normalized.backward({.gradient = seed});
    return std::vector<Tensor>{both.sum.detach(), both.normalized.detach(), x.grad(), weight.grad(), bias.grad()};
  });
}

TEST(LayerNorm, NamesWhatDoesNotFit) {
  const Tensor x = zeros({3, 4});
  EXPECT_THAT([&] { layer_norm(x, zeros({3}), {}); },
              ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 4]"), HasSubstr("[3]"), HasSubstr("weight"))));
  EXPECT_THAT([&] { layer_norm(x, {}, zeros({4}, DType::float64)); },
              ThrowsMessage<ShapeError>(AllOf(HasSubstr("float32"), HasSubstr("float64"), HasSubstr("bias"))));
  EXPECT_THAT(
      [&] {
        add_layer_norm(x, zeros({4, 3}), {}, {});
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("[3, 4]"), HasSubstr("[4, 3]"))));
  EXPECT_THROW(layer_norm(zeros({}), {}, {}), ShapeError);
  EXPECT_THROW(layer_norm(zeros({2, 2}, DType::int32), {}, {}), TypeError);
  for (double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(layer_norm(x, {}, {}, epsilon), ConfigError);
  }
}

}  // namespace
}  // namespace bough
