#include "bough/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bough/core/parallel.h"
#include "bough/core/tensor.h"

namespace bough {
namespace {

using Four = std::array<std::uint32_t, 4>;

// The known answers that the authors of Philox publish with their library.
TEST(Philox, GivesThePublishedTestVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, AddressesSingleNumbersLikeBlocks) {
  const RandomStream stream{.seed = 7, .stream = 3};
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(stream(i), stream.block(i / 4)[i % 4]);
}

TEST(RandomGenerator, HandsOutDifferentStreamsAndCanBeRestored) {
  RandomGenerator generator(5);
  const RandomStream first = generator.next_stream();
  const RandomStream state = generator.state();
  const RandomStream second = generator.next_stream();
  EXPECT_NE(first.block(0), second.block(0));
  generator.set_state(state);
  EXPECT_EQ(generator.next_stream().block(0), second.block(0));
}

TEST(ManualSeed, RepeatsTheSameTensors) {
  manual_seed(42);
  const auto a = randn({100}).to_vector<float>();
  const auto b = randn({100}).to_vector<float>();
  manual_seed(42);
  EXPECT_EQ(randn({100}).to_vector<float>(), a);
  EXPECT_NE(a, b);
}

TEST(Randn, HasMeanZeroVarianceOneAndTheTailsOfANormal) {
  manual_seed(1);
  const auto values = randn({400001}, DType::float64).to_vector<double>();
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double variance = 0;
  int beyond_two = 0;
  for (double value : values) {
    variance += (value - mean) * (value - mean) / count;
    beyond_two += std::abs(value) > 2;
  }
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(variance, 1, 0.01);
  EXPECT_NEAR(beyond_two / count, 0.0455, 0.002);
}

TEST(RandUniform, StaysInItsRange) {
  manual_seed(2);
  const auto values = rand_uniform({100000}, -3, 5).to_vector<float>();
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -3);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 5);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 1e5, 1, 0.05);
}

TEST(Randn, DoesNotDependOnTheNumberOfThreads) {
  const int before = num_threads();
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    manual_seed(9);
    results.push_back(randn({100003}).to_vector<float>());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Rand, IsUniformFromZeroToOneOfItsGenerator) {
  RandomGenerator one(7), same(7);
  const Tensor x = rand({1000}, {.dtype = DType::float64, .generator = &one});
  EXPECT_EQ(x.to_vector<double>(),
            rand_uniform({1000}, 0, 1, {.dtype = DType::float64, .generator = &same}).to_vector<double>());
  const auto values = x.to_vector<double>();
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
  EXPECT_NE(rand({4}, {.generator = &one}).to_vector<float>(), rand({4}, {.generator = &one}).to_vector<float>());
}

TEST(Randn, TakesTheDefaultGeneratorUnlessGivenOne) {
  manual_seed(5);
  const auto first = randn({3}).to_vector<float>();
  RandomGenerator generator(5);
  EXPECT_EQ(randn({3}, {.generator = &generator}).to_vector<float>(), first);
}

}  // namespace
}  // namespace bough
