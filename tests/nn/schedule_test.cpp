#include "bough/nn/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"

namespace bough::nn {
namespace {

TEST(Schedule, ConstantStays) { EXPECT_EQ(constant_rate(0.1)(1000), 0.1); }

TEST(Schedule, CosineRisesFallsAndRests) {
  const Schedule rate = warmup_cosine({.rate = 2, .warmup = 10, .steps = 110, .final_fraction = 0.01});
  EXPECT_DOUBLE_EQ(rate(1), 0.2);
  EXPECT_DOUBLE_EQ(rate(10), 2);
  EXPECT_DOUBLE_EQ(rate(60), 2 * (0.01 + 0.99 * 0.5));
  EXPECT_DOUBLE_EQ(rate(110), 0.02);
  EXPECT_DOUBLE_EQ(rate(1000), 0.02);
  EXPECT_DOUBLE_EQ(warmup_cosine({.rate = 1, .steps = 4})(2), 0.5);
  EXPECT_DOUBLE_EQ(warmup_cosine({.rate = 1, .warmup = 5, .steps = 5})(5), 1);
}

TEST(Schedule, NoamPeaksAtTheEndOfWarmup) {
  const Schedule rate = noam({.dim = 512, .warmup = 4000});
  EXPECT_NEAR(rate(4000), 1 / std::sqrt(512.0 * 4000), 1e-15);
  EXPECT_LT(rate(3999), rate(4000));
  EXPECT_LT(rate(4001), rate(4000));
  EXPECT_NEAR(rate(16000), rate(4000) / 2, 1e-15);
}

TEST(Schedule, StepDecayFallsOnceAPeriod) {
  const Schedule rate = step_decay({.rate = 1, .factor = 0.5, .period = 10});
  EXPECT_EQ(rate(1), 1);
  EXPECT_EQ(rate(10), 1);
  EXPECT_EQ(rate(11), 0.5);
  EXPECT_EQ(rate(31), 0.125);
}

TEST(Schedule, RefusesNonsense) {
  EXPECT_THROW(constant_rate(-1), ConfigError);
  EXPECT_THROW(constant_rate(std::nan("")), ConfigError);
  EXPECT_THROW(warmup_cosine({.warmup = 10, .steps = 5}), ConfigError);
  EXPECT_THROW(noam({.dim = 0}), ConfigError);
  EXPECT_THROW(step_decay({.period = 0}), ConfigError);
}

}  // namespace
}  // namespace bough::nn
