#include "bough/ops/dropout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bough/autograd/autograd.h"
#include "bough/core/memory.h"
#include "kernels/reference/dropout.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Dropout : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Dropout, testing::ValuesIn(every_device), device_name);

TEST_P(Dropout, IsTheScalarDefinitionForEverySizeTypeAndInstructionSet) {
  on_every_simd_target(device(), [&] {
    for (std::int64_t count : {0, 1, 2, 3, 5, 16, 255, 256, 257, 1000, 70003}) {
      if (count > most_elements()) continue;
      for (DType dtype : {DType::float32, DType::float64}) {
        for (double p : {0.1, 0.5, 0.999, 1e-9, 0x1p-24}) {
          RandomGenerator generator(0x123456789abcdef0);
          generator.set_state({generator.state().seed, 0xfedcba9876543210});
          const RandomStream stream = generator.state();
          const Tensor x = here(random_tensor({count}, dtype));
          expect_close(dropout(x, p, {.generator = &generator}), reference::dropout(x.to_vector<double>(), p, stream));
        }
      }
    }
  });
}

TEST(Dropout, DropsTheShareItShould) {
  RandomGenerator generator(3);
  const std::vector<float> y = dropout(ones({100000}), 0.3, {.generator = &generator}).to_vector<float>();
  const auto dropped = static_cast<double>(std::ranges::count(y, 0.0f));
  EXPECT_NEAR(dropped / 100000, 0.3, 5 * std::sqrt(0.3 * 0.7 / 100000));
}

TEST_P(Dropout, EveryCallTakesANewStreamAndSeedsRepeat) {
  const Tensor x = here(ones({1000}));
  manual_seed(5);
  const Tensor first = dropout(x, 0.5), second = dropout(x, 0.5);
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
  manual_seed(5);
  expect_same_bits(dropout(x, 0.5), first);
  expect_same_bits(dropout(x, 0.5), second);
}

TEST_P(Dropout, ZeroProbabilityAndInferenceGiveTheTensorItself) {
  const Tensor x = here(random_tensor({10}));
  RandomGenerator generator(1);
  EXPECT_TRUE(dropout(x, 0, {.generator = &generator}).same_as(x));
  EXPECT_TRUE(dropout(x, 0.5, {.training = false, .generator = &generator}).same_as(x));
  EXPECT_EQ(generator.state().stream, 0u);
}

TEST_P(Dropout, ProbabilityOneGivesZerosWhateverWasThere) {
  Tensor x = here(Tensor::from_vector<float>({1, std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}, {3}));
  x.set_requires_grad(true);
  const Tensor y = dropout(x, 1);
  expect_same_bits(y.detach(), zeros({3}));
  y.backward({.gradient = here(ones({3}))});
  expect_same_bits(x.grad(), zeros({3}));
}

TEST(Dropout, BackwardMakesTheSameMaskAndKeepsNothing) {
  Tensor x = ones({50000});
  x.set_requires_grad(true);
  const std::int64_t before = memory_statistics().bytes_now;
  const Tensor y = dropout(x, 0.4);
  EXPECT_LE(memory_statistics().bytes_now - before, 260'000);
  y.backward({.gradient = ones({50000})});
  expect_same_bits(x.grad(), y.detach());
}

TEST_P(Dropout, GradientMatchesFiniteDifferences) {
  expect_gradient(
      [](const auto& in) {
        RandomGenerator generator(7);
        return dropout(in[0], 0.5, {.generator = &generator});
      },
      {random_tensor({4, 9}, DType::float64)});
}

TEST(Dropout, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor x = random_tensor({300001});
  expect_same_bits_for_threads([&] {
    RandomGenerator generator(11);
    return dropout(x, 0.2, {.generator = &generator});
  });
}

TEST(Dropout, NamesProbabilitiesAndTypesItDoesNotTake) {
  for (double p : {-0.1, 1.5, std::nan("")}) EXPECT_THROW(dropout(ones({2}), p), ConfigError);
  EXPECT_THAT([] { dropout(ones({2}), 1.5); }, ThrowsMessage<ConfigError>(HasSubstr("1.5")));
  EXPECT_THAT([] { dropout(arange(2), 0); }, ThrowsMessage<TypeError>(HasSubstr("int64")));
}

}  // namespace
}  // namespace bough
