#include "tasks/texts/batch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "bough/core/errors.h"

namespace bough {
namespace {

/// Lengths from 1 to 60, short ones more often.
std::vector<std::int64_t> some_lengths(std::int64_t texts) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < texts; ++i) lengths.push_back(1 + (i * i * 7 + 3 * i) % 60 * ((i % 3) + 1) / 3);
  return lengths;
}

std::int64_t tokens_of(const std::vector<std::int32_t>& batch, const std::vector<std::int64_t>& lengths) {
  std::int64_t tokens = 0;
  for (const std::int32_t text : batch) tokens += lengths[static_cast<std::size_t>(text)];
  return tokens;
}

TEST(BatchOrder, ReadsEveryTextOnceInEachEpoch) {
  const std::vector<std::int64_t> lengths = some_lengths(1000);
  const BatchOrder order(lengths, {.tokens_per_batch = 300});
  std::vector<std::vector<std::int32_t>> first_epoch;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int32_t> seen;
    for (std::int64_t i = 1; i <= order.batches_per_epoch(); ++i) {
      const std::vector<std::int32_t> batch = order.batch(epoch * order.batches_per_epoch() + i);
      EXPECT_GE(std::ssize(batch), order.smallest_batch());
      seen.insert(seen.end(), batch.begin(), batch.end());
      if (epoch == 0) first_epoch.push_back(batch);
      if (epoch == 1) {
        EXPECT_NE(batch, first_epoch[static_cast<std::size_t>(i - 1)]) << "shuffled anew";
      }
    }
    std::ranges::sort(seen);
    std::vector<std::int32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
}

TEST(BatchOrder, KeepsBatchesNearTheWantedTokensAndTextsNearInLength) {
  const std::vector<std::int64_t> lengths = some_lengths(2000);
  const BatchOrder order(lengths, {.tokens_per_batch = 300});
  double spread = 0;
  for (std::int64_t step = 1; step <= order.batches_per_epoch(); ++step) {
    const std::vector<std::int32_t> batch = order.batch(step);
    EXPECT_LE(tokens_of(batch, lengths), 400);
    const auto length = [&](std::int32_t text) { return lengths[static_cast<std::size_t>(text)]; };
    spread += static_cast<double>(length(*std::ranges::max_element(batch, {}, length)) -
                                  length(*std::ranges::min_element(batch, {}, length)));
  }
  EXPECT_LT(spread / static_cast<double>(order.batches_per_epoch()), 10) << "lengths go up to 60";
}

TEST(BatchOrder, IsAFunctionOfSeedAndStepInWhateverOrderItIsAsked) {
  const std::vector<std::int64_t> lengths = some_lengths(500);
  const BatchOrder one(lengths, {.tokens_per_batch = 200, .seed = 7}),
      two(lengths, {.tokens_per_batch = 200, .seed = 7}), other(lengths, {.tokens_per_batch = 200, .seed = 8});
  const std::int64_t steps = 2 * one.batches_per_epoch();
  std::int64_t different = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    EXPECT_EQ(one.batch(step), two.batch(steps + 1 - (steps + 1 - step))) << step;
    different += one.batch(step) != other.batch(step) ? 1 : 0;
  }
  EXPECT_EQ(two.batch(steps), one.batch(steps));
  EXPECT_EQ(two.batch(1), one.batch(1)) << "an earlier epoch again";
  EXPECT_GT(different, steps / 2);
}

TEST(BatchOrder, TakesANumberOfTextsInstead) {
  const BatchOrder order(some_lengths(100), {.texts_per_batch = 32});
  EXPECT_EQ(order.batches_per_epoch(), 4);
  for (std::int64_t step = 1; step <= 4; ++step) EXPECT_EQ(order.batch(step).size(), 25u);
}

TEST(BatchOrder, GivesALongTextABatchOfItsOwnAndRefusesNoTexts) {
  const BatchOrder order({1000, 5, 5, 5}, {.tokens_per_batch = 15});
  std::set<std::size_t> sizes;
  for (std::int64_t step = 1; step <= order.batches_per_epoch(); ++step) sizes.insert(order.batch(step).size());
  EXPECT_TRUE(sizes.contains(1));
  EXPECT_THROW(BatchOrder({}, {}), ConfigError);
}

TEST(EvaluationBatches, HaveEveryTextOnceByLength) {
  const std::vector<std::int64_t> lengths = {9, 1, 30, 4, 4};
  const auto batches = evaluation_batches(lengths, 10);
  EXPECT_EQ(batches, (std::vector<std::vector<std::int32_t>>{{1, 3, 4}, {0}, {2}}));
}

}  // namespace
}  // namespace bough
