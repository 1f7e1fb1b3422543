#include "bough/ops/packed_linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arrange.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using testing::HasSubstr;
using namespace bough::test;

TEST(PackedLinear, HasTheBitsOfLinearForEverySizeActivationAndInstructionSet) {
  struct Sizes {
    std::int64_t in, out;
  };
  on_every_simd_target(Device::cpu(), [] {
    for (const Sizes& size : {Sizes{1, 1}, {5, 7}, {33, 35}, {64, 32}, {0, 3}, {3, 0}, {500, 64}, {1100, 1300}}) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        const Tensor weight = random_tensor({size.out, size.in}, dtype, 1), bias = random_tensor({size.out}, dtype, 2);
        for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
          PackedLinear with_bias({{weight, bias}}, activation), without({{weight}}, activation);
          for (const std::int64_t rows : {0, 1, 2, 9, 14, 15, 47}) {
            SCOPED_TRACE(testing::Message() << rows << " rows, " << size.in << " -> " << size.out);
            const Tensor x = random_tensor({rows, size.in}, dtype, 3);
            expect_same_bits(with_bias.forward(x), linear(x, weight, bias, activation));
            expect_same_bits(without.forward(x), linear(x, weight, {}, activation));
          }
        }
      }
    }
  });
}

TEST(PackedLinear, PutsItsPartsSideBySide) {
  const Tensor a = random_tensor({33, 20}, DType::float32, 1), b = random_tensor({5, 20}, DType::float32, 2),
               c = random_tensor({64, 20}, DType::float32, 3), bias = random_tensor({5}, DType::float32, 4);
  PackedLinear layers({{a}, {b, bias}, {c}});
  EXPECT_EQ(layers.out(), 102);
  const Tensor x = random_tensor({3, 20}, DType::float32, 5);
  expect_same_bits(layers.forward(x), concatenate(linear_parts(x, {{a}, {b, bias}, {c}}), 1));
}

TEST(PackedLinear, SeesWeightsThatWereWritten) {
  Tensor weight = random_tensor({8, 4}, DType::float32, 1), bias = zeros({8});
  PackedLinear layer({{weight, bias}});
  const Tensor x = random_tensor({2, 4}, DType::float32, 2);
  for (Tensor* written : {&weight, &bias}) {
    written->assign(random_tensor(written->shape(), DType::float32, 7));
    expect_same_bits(layer.forward(x), linear(x, weight, bias));
  }
}

TEST(PackedLinear, IsTheSameForAnyNumberOfThreads) {
  const Tensor weight = random_tensor({3000, 600});
  PackedLinear layer({{weight}});
  for (const std::int64_t rows : {1, 5, 100}) {
    const Tensor x = random_tensor({rows, 600}, DType::float32, 2);
    expect_same_bits_for_threads([&] { return layer.forward(x); });
  }
}

TEST(PackedLinear, HasNoGradient) {
  const Tensor weight = random_tensor({8, 4}).set_requires_grad(true);
  PackedLinear layer({{weight}});
  EXPECT_FALSE(layer.forward(random_tensor({2, 4})).requires_grad());
}

TEST(PackedLinear, SaysWhatDoesNotFit) {
  const Tensor weight = zeros({8, 4});
  EXPECT_THAT(error_message<ShapeError>([&] { PackedLinear(std::vector<LinearPart>{}); }),
              HasSubstr("at least one part"));
  EXPECT_THAT(error_message<ShapeError>([&] {
                PackedLinear({{weight}, {zeros({8, 5})}});
              }),
              HasSubstr("one is [8, 4], another [8, 5]"));
  EXPECT_THAT(error_message<ShapeError>([&] {
                PackedLinear({{weight, zeros({4})}});
              }),
              HasSubstr("bias must be [out]"));
  EXPECT_THROW(PackedLinear({{weight}, {zeros({8, 4}, DType::float64)}}), TypeError);
  PackedLinear layer({{weight}});
  EXPECT_THAT(error_message<ShapeError>([&] { layer.forward(zeros({4})); }), HasSubstr("[rows, 4]"));
  EXPECT_THROW(layer.forward(zeros({2, 4}, DType::float64)), TypeError);
}

}  // namespace
}  // namespace bough
