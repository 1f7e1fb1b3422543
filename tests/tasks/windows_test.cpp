#include "tasks/language_model/windows.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "bough/core/errors.h"
#include "bough/tasks/character_vocabulary.h"

namespace bough {
namespace {

/// 0, 1, 2, ...: a character says where it stands.
EncodedText counting(std::int32_t size) {
  std::vector<std::int32_t> text(static_cast<std::size_t>(size));
  std::iota(text.begin(), text.end(), 0);
  return std::make_shared<const std::vector<std::int32_t>>(text);
}

TEST(EvaluationWindows, ScoreEveryCharacterAfterTheFirstHalfWindowOnceGivenAtLeastHalfAWindow) {
  for (const std::int32_t size : {9, 10, 12, 13, 40, 41, 47}) {
    for (const std::int64_t length : {2, 5, 8}) {
      const EvaluationWindows windows(counting(size), {.length = length, .count = 3});
      std::map<std::int32_t, int> scored;
      for (std::int64_t i = 0; i < windows.num_batches(); ++i) {
        const WindowBatch batch = windows.batch(i);
        const auto inputs = batch.inputs.to_vector<std::int32_t>(), targets = batch.targets.to_vector<std::int32_t>();
        for (std::size_t at = 0; at < targets.size(); ++at) {
          if (targets[at] == not_scored) continue;
          EXPECT_EQ(targets[at], inputs[at] + 1);
          EXPECT_GE(static_cast<std::int64_t>(at) % length, length / 2);
          ++scored[targets[at]];
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(scored.size()), windows.scored());
      for (std::int32_t c = static_cast<std::int32_t>(length / 2) + 1; c < size; ++c) {
        EXPECT_EQ(scored[c], 1) << "character " << c << " of " << size << ", windows of " << length;
      }
    }
  }
}

TEST(EvaluationWindows, OfAnyStrideScoreEveryTokenOnceGivenAtLeastTheRestOfAWindow) {
  for (const std::int32_t size : {9, 10, 12, 13, 40, 41, 47}) {
    for (const std::int64_t stride : {1, 2, 3, 7, 8}) {
      const EvaluationWindows windows(counting(size), {.length = 8, .count = 3}, {.stride = stride});
      EXPECT_EQ(windows.scored(), size - 1 - (8 - stride));
      std::map<std::int32_t, int> scored;
      for (std::int64_t i = 0; i < windows.num_batches(); ++i) {
        const WindowBatch batch = windows.batch(i);
        const auto inputs = batch.inputs.to_vector<std::int32_t>(), targets = batch.targets.to_vector<std::int32_t>();
        for (std::size_t at = 0; at < targets.size(); ++at) {
          if (targets[at] == not_scored) continue;
          EXPECT_EQ(targets[at], inputs[at] + 1);
          EXPECT_GE(static_cast<std::int64_t>(at) % 8, 8 - stride) << "context";
          ++scored[targets[at]];
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(scored.size()), windows.scored());
      EXPECT_EQ(scored.begin()->first, windows.first_scored());
      for (const auto& [token, times] : scored) EXPECT_EQ(times, 1) << token;
    }
  }
  EXPECT_THROW(EvaluationWindows(counting(20), {.length = 8, .count = 1}, {.stride = 0}), ConfigError);
  EXPECT_THROW(EvaluationWindows(counting(20), {.length = 8, .count = 1}, {.stride = 9}), ConfigError);
}

TEST(EvaluationWindows, ThatCarryMemoryFollowEachOtherAndScoreAllButTheFirstToken) {
  for (const std::int32_t size : {9, 16, 17, 18, 23}) {
    const EvaluationWindows windows(counting(size), {.length = 8, .count = 1}, {.carried = true});
    std::vector<std::int32_t> read, predicted;
    for (std::int64_t i = 0; i < windows.num_batches(); ++i) {
      const WindowBatch batch = windows.batch(i);
      const auto inputs = batch.inputs.to_vector<std::int32_t>(), targets = batch.targets.to_vector<std::int32_t>();
      for (std::size_t at = 0; at < targets.size(); ++at) {
        if (targets[at] == not_scored) continue;
        read.push_back(inputs[at]);
        predicted.push_back(targets[at]);
      }
    }
    std::vector<std::int32_t> all(*counting(size));
    EXPECT_EQ(read, std::vector<std::int32_t>(all.begin(), all.end() - 1));
    EXPECT_EQ(predicted, std::vector<std::int32_t>(all.begin() + 1, all.end()));
    EXPECT_EQ(windows.scored(), size - 1);
  }
  EXPECT_THROW(EvaluationWindows(counting(20), {.length = 8, .count = 2}, {.carried = true}), ConfigError);
}

TEST(TrainingWindows, OfStreamsGoThroughEachOfThemFromItsBeginning) {
  // 3 parts of 2 streams of (100 - 1) / 6 = 16 tokens, 3 windows of 5 in an epoch.
  const TrainingWindows windows(counting(100), {.length = 5, .count = 2}, 1, 3, WindowOrder::streams);
  EXPECT_EQ(windows.steps_per_epoch(), 3);
  std::map<int, int> first_of_epoch;
  for (std::int64_t step = 1; step <= 60; ++step) {
    EXPECT_EQ(windows.windows_before(step), (step - 1) % 3);
    for (std::int64_t part = 0; part < 3; ++part) {
      const WindowBatch batch = windows.batch(step, part);
      const auto inputs = batch.inputs.to_vector<int>(), targets = batch.targets.to_vector<int>();
      for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(targets[i], inputs[i] + 1);
      for (int row = 0; row < 2; ++row) {
        const int begin = inputs[5 * static_cast<std::size_t>(row)], stream = 2 * static_cast<int>(part) + row;
        EXPECT_EQ(begin / 16, stream);
        if (windows.windows_before(step) == 0) {
          ++first_of_epoch[begin % 16];
        } else {
          EXPECT_EQ(begin, windows.batch(step - 1, part).inputs.to_vector<int>()[5 * static_cast<std::size_t>(row)] + 5)
              << "after the window of the step before";
        }
      }
    }
  }
  EXPECT_EQ(first_of_epoch.size(), 2u) << "an epoch begins at token 0 or 1 of a stream, by chance";
  EXPECT_THROW(TrainingWindows(counting(30), {.length = 5, .count = 3}, 1, 2, WindowOrder::streams), ConfigError);
}

TEST(TrainingWindows, DependOnSeedAndStepAndReachBothEndsOfTheText) {
  const TrainingWindows windows(counting(12), {.length = 8, .count = 4}, 5);
  const TrainingWindows others(counting(12), {.length = 8, .count = 4}, 6);
  EXPECT_EQ(windows.batch(3).inputs.to_vector<int>(), windows.batch(3).inputs.to_vector<int>());
  std::map<int, int> begins;
  bool differs_by_seed = false;
  for (int step = 1; step <= 50; ++step) {
    const auto inputs = windows.batch(step).inputs.to_vector<int>(),
               targets = windows.batch(step).targets.to_vector<int>();
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(targets[i], inputs[i] + 1);
    for (std::size_t i = 0; i < inputs.size(); i += 8) ++begins[inputs[i]];
    differs_by_seed |= inputs != others.batch(step).inputs.to_vector<int>();
  }
  EXPECT_TRUE(differs_by_seed);
  EXPECT_EQ(begins.begin()->first, 0);
  EXPECT_EQ(begins.rbegin()->first, 3);  // the character after the window is the last of the text
}

TEST(TrainingWindows, PartsOfAStepAreTogetherTheWindowsOfTheWholeStep) {
  std::vector<std::int32_t> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  const auto text = std::make_shared<const std::vector<std::int32_t>>(ids);
  const TrainingWindows whole(text, {.length = 5, .count = 6}, 1), parts(text, {.length = 5, .count = 2}, 1, 3);
  std::vector<std::int32_t> together;
  for (std::int64_t part = 0; part < 3; ++part) {
    const std::vector<std::int32_t> inputs = parts.batch(4, part).inputs.to_vector<std::int32_t>();
    together.insert(together.end(), inputs.begin(), inputs.end());
  }
  EXPECT_EQ(together, whole.batch(4).inputs.to_vector<std::int32_t>());
  EXPECT_EQ(whole.steps_per_epoch(), 4);
  EXPECT_EQ(parts.steps_per_epoch(), 4);
}

TEST(TrainingWindows, RefuseATextThatIsNotLongerThanAWindow) {
  EXPECT_THROW(TrainingWindows(counting(8), {.length = 8, .count = 1}, 1), ConfigError);
  EXPECT_THROW(EvaluationWindows(counting(8), {.length = 8, .count = 1}), ConfigError);
}

TEST(CharacterVocabulary, NumbersTheBytesThatOccurAndRefusesOthers) {
  const std::string odd("\xff\0b", 3);
  const CharacterVocabulary vocabulary = CharacterVocabulary::of({"abba", odd, ""});
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_EQ(vocabulary.encode("ab"), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(vocabulary.encode(odd), (std::vector<std::int32_t>{3, 0, 2}));
  EXPECT_EQ(vocabulary.byte(3), '\xff');
  EXPECT_THROW(vocabulary.byte(4), IndexError);
  EXPECT_THROW(vocabulary.byte(-1), IndexError);
  EXPECT_THROW(vocabulary.encode("abc"), ConfigError);
  EXPECT_THROW(CharacterVocabulary(""), ConfigError);
}

}  // namespace
}  // namespace bough
