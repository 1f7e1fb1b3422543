#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/matmul.h"
#include "bough/ops/reduce.h"
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

constexpr Activation activations[] = {Activation::none, Activation::relu, Activation::gelu};

struct Sizes {
  std::int64_t rows, in, out;
};

class Linear : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Linear, testing::ValuesIn(every_device), device_name);

TEST_P(Linear, MatchesThePlainLoopForEveryActivationSizeAndInstructionSet) {
  on_every_simd_target(device(), [&] {
    for (const Sizes& size :
         {Sizes{0, 3, 4}, {3, 0, 40}, {3, 4, 0}, {1, 1, 1}, {3, 5, 7}, {29, 33, 35}, {20, 500, 64}}) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        const Tensor x = here(random_tensor({size.rows, size.in}, dtype, 1));
        const Tensor weight = here(random_tensor({size.out, size.in}, dtype, 2));
        for (const Tensor& bias : {Tensor(), here(random_tensor({size.out}, dtype, 3))}) {
          for (const Activation activation : activations) {
            const std::vector<double> expected =
                reference::linear(x.to_vector<double>(), weight.to_vector<double>(),
                                  bias.defined() ? bias.to_vector<double>() : std::vector<double>(), size.rows, size.in,
                                  size.out, activation);
            SCOPED_TRACE(testing::Message() << size.rows << " x " << size.in << " -> " << size.out << ", activation "
                                            << static_cast<int>(activation));
            expect_close(linear(x, weight, bias, activation), Tensor::from_vector(expected, {size.rows, size.out}),
                         dtype == DType::float32 ? Tolerance{2e-5, 2e-5} : Tolerance{1e-12, 1e-12});
          }
        }
      }
    }
  });
}

TEST_P(Linear, KeepsTheLeadingAxes) {
  const Tensor x = here(random_tensor({2, 3, 4})), weight = here(random_tensor({5, 4}, DType::float32, 2));
  EXPECT_EQ(linear(x, weight).shape(), (Shape{2, 3, 5}));
  expect_same_bits(linear(x, weight).reshape({6, 5}), linear(x.reshape({6, 4}), weight));
  EXPECT_EQ(linear(x.reshape({24}).rows(0, 4), weight).shape(), (Shape{5}));
}

TEST_P(Linear, GradientMatchesFiniteDifferences) {
  for (const Activation activation : activations) {
    const auto f = [&](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2], activation); };
    expect_gradient(f, {random_tensor({2, 3, 4}, DType::float64, 5), random_tensor({6, 4}, DType::float64, 6),
                        random_tensor({6}, DType::float64, 7)});
    expect_gradient([&](const std::vector<Tensor>& in) { return linear(in[0], in[1], {}, activation); },
                    {random_tensor({3, 4}, DType::float64, 8), random_tensor({19, 4}, DType::float64, 9)});
  }
}

TEST(Linear, GradientOfManyRowsMatchesMatmul) {
  const Tensor x = random_tensor({700, 40}, DType::float64, 1), dy = random_tensor({700, 53}, DType::float64, 4);
  Tensor weight = random_tensor({53, 40}, DType::float64, 2).set_requires_grad(true);
  Tensor bias = random_tensor({53}, DType::float64, 3).set_requires_grad(true);
  linear(x, weight, bias).backward({.gradient = dy});
  expect_close(weight.grad(), matmul(dy, x, {.transpose_a = true}), Tolerance{1e-11, 1e-11});
  expect_close(bias.grad(), matmul(ones({700}, DType::float64), dy), Tolerance{1e-11, 1e-11});
}

TEST_P(Linear, ComputesOnlyTheGradientsThatAreWanted) {
  for (int wanted = 0; wanted < 3; ++wanted) {
    std::vector<Tensor> inputs = {here(ones({2, 3})), here(ones({4, 3})), here(ones({4}))};
    inputs[wanted].set_requires_grad(true);
    linear(inputs[0], inputs[1], inputs[2], Activation::relu).backward({.gradient = here(ones({2, 4}))});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(inputs[i].grad().defined(), i == wanted);
  }
}

TEST_P(Linear, GivesZeroGradientsWithoutRows) {
  Tensor weight = here(ones({4, 3})).set_requires_grad(true), bias = here(ones({4})).set_requires_grad(true);
  linear(here(zeros({0, 3})), weight, bias, Activation::gelu).backward({.gradient = here(zeros({0, 4}))});
  expect_close(weight.grad(), zeros({4, 3}));
  expect_close(bias.grad(), zeros({4}));
}

TEST(Linear, KeepsOneMoreTensorForGeluOnlyIfBackwardCanCome) {
  const Tensor x = random_tensor({256, 256});
  Tensor weight = random_tensor({256, 256}, DType::float32, 2).set_requires_grad(true);
  const auto saved_bytes = [&](Activation activation) {
    const std::int64_t before = memory_statistics().bytes_now;
    const Tensor y = linear(x, weight, {}, activation);
    return memory_statistics().bytes_now - before;
  };
  const std::int64_t one = saved_bytes(Activation::none);
  EXPECT_EQ(saved_bytes(Activation::relu), one);
  EXPECT_EQ(saved_bytes(Activation::gelu), 2 * one);
  const NoGrad scope;
  EXPECT_EQ(saved_bytes(Activation::gelu), one);
}

TEST(Linear, NamesTheShapesThatDoNotFit) {
  const auto message = [](const char* a, const char* b) {
    return AllOf(HasSubstr("linear"), HasSubstr(a), HasSubstr(b));
  };
  EXPECT_THAT([] { linear(zeros({2, 3}), zeros({5, 4})); }, ThrowsMessage<ShapeError>(message("[2, 3]", "[5, 4]")));
  EXPECT_THAT(
      [] {
        linear(zeros({2, 3}), zeros({5, 3}), zeros({3}));
      },
      ThrowsMessage<ShapeError>(message("[3]", "[5, 3]")));
  EXPECT_THAT([] { linear(zeros({2, 3}), zeros({3})); }, ThrowsMessage<ShapeError>(HasSubstr("[3]")));
  EXPECT_THAT([] { linear(zeros({}), zeros({3, 1})); }, ThrowsMessage<ShapeError>(message("[]", "[3, 1]")));
  EXPECT_THAT(
      [] {
        linear(zeros({2, 3}), zeros({5, 3}, DType::float64));
      },
      ThrowsMessage<TypeError>(message("float32", "float64")));
}

TEST(Linear, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor x = random_tensor({900, 130}), dy = random_tensor({900, 260}, DType::float32, 4);
  for (const Activation activation : activations) {
    expect_same_bits_for_threads([&] {
      Tensor input = x.clone().set_requires_grad(true);
      Tensor weight = random_tensor({260, 130}, DType::float32, 2).set_requires_grad(true);
      Tensor bias = random_tensor({260}, DType::float32, 3).set_requires_grad(true);
      const Tensor y = linear(input, weight, bias, activation);
      y.backward({.gradient = dy});
      return std::vector<Tensor>{y.detach(), input.grad(), weight.grad(), bias.grad()};
    });
  }
}

std::vector<LinearPart> three_parts(DType dtype, Device device = Device::cpu()) {
  const auto random = [&](const Shape& shape, std::uint64_t seed) {
    return random_tensor(shape, dtype, seed).to(device);
  };
  return {{random({5, 7}, 2), random({5}, 3)}, {random({4, 7}, 4)}, {random({6, 7}, 5), random({6}, 6)}};
}

class LinearParts : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, LinearParts, testing::ValuesIn(every_device), device_name);

TEST_P(LinearParts, GiveTheBitsOfLinearOneByOne) {
  const Tensor x = here(random_tensor({3, 11, 7}, DType::float32, 1));
  const std::vector<LinearPart> parts = three_parts(DType::float32, device());
  const std::vector<Tensor> together = linear_parts(x, parts);
  ASSERT_EQ(together.size(), 3U);
  for (std::size_t i = 0; i < parts.size(); ++i)
    expect_same_bits(together[i], linear(x, parts[i].weight, parts[i].bias));
}

TEST_P(LinearParts, GradientMatchesFiniteDifferences) {
  const std::vector<LinearPart> parts = three_parts(DType::float64);
  const auto f = [](const std::vector<Tensor>& in) {
    const auto y = linear_parts(in[0], {{in[1], in[2]}, {in[3]}, {in[4], in[5]}});
    return concatenate({square(y[0]), y[1], square(y[2])}, 1);
  };
  expect_gradient(f, {random_tensor({3, 7}, DType::float64, 1), parts[0].weight, parts[0].bias, parts[1].weight,
                      parts[2].weight, parts[2].bias});
}

TEST_P(LinearParts, ThatAreNotReadGiveZeros) {
  Tensor x = here(random_tensor({3, 7}, DType::float32, 1));
  x.set_requires_grad(true);
  std::vector<LinearPart> parts = three_parts(DType::float32, device());
  for (LinearPart& part : parts) part.weight.set_requires_grad(true);
  sum(linear_parts(x, parts)[1]).backward();
  expect_same_bits(parts[0].weight.grad(), zeros({5, 7}));
  expect_close(x.grad(), matmul(ones({3, 4}), parts[1].weight.detach().to(Device::cpu())));
}

TEST(LinearParts, NameWhatDoesNotFit) {
  EXPECT_THROW(linear_parts(zeros({2, 7}), {}), ShapeError);
  EXPECT_THROW(linear_parts(zeros({2, 7}), {{zeros({5, 7})}, {zeros({5, 6})}}), ShapeError);
}

}  // namespace
}  // namespace bough
