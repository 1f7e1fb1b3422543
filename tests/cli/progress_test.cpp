#include "tools/bough/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bough::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

RunProgress halfway(double seconds_left) {
  return {.step = 500,
          .steps = 1000,
          .loss = 1.23456,
          .metric = 0.72345,
          .tokens_per_second = 12'345,
          .memory_bytes = 145'200'000,
          .seconds_left = seconds_left};
}

TEST(ProgressLines, ShowEverythingOn200Columns) {
  EXPECT_THAT(
      progress_lines({{"bpt-k4-seed1", halfway(240)}}, "bpc", 200),
      ::testing::ElementsAre("[##########..........] bpt-k4-seed1  4 min left  500/1000  loss 1.2346  valid bpc "
                             "0.7235  12.3k tokens/s  145.2 MB"));
}

TEST(ProgressLines, GiveUpTheBarOn100Columns) {
  EXPECT_THAT(progress_lines({{"bpt-k4-seed1", halfway(240)}}, "bpc", 100),
              ::testing::ElementsAre(
                  "bpt-k4-seed1  4 min left  500/1000  loss 1.2346  valid bpc 0.7235  12.3k tokens/s  145.2 MB"));
}

TEST(ProgressLines, KeepTimeLeftMetricSpeedAndMemoryOn80ColumnsAndOn100) {
  const std::vector<ActiveRun> runs{{"sparse_fixed-c1-stride16-seed2", halfway(6000)}, {"full", halfway(2)}};
  for (const std::size_t width : {80, 100}) {
    const std::vector<std::string> lines = progress_lines(runs, "bpc", width);
    ASSERT_EQ(lines.size(), 2u);
    for (const std::string& line : lines) {
      EXPECT_LT(line.size(), width);
      EXPECT_THAT(line, AllOf(HasSubstr(" left"), HasSubstr("valid bpc 0.72"), HasSubstr("12.3k tok"),
                              HasSubstr("145.2 MB"), ::testing::ContainsRegex("50%|500/1000")));
    }
    EXPECT_THAT(lines[0], AllOf(StartsWith("sparse"), HasSubstr("seed2  1 h 40 min left")));
    EXPECT_THAT(lines[1], MatchesRegex("full +2.0 s left .*"));
  }
}

TEST(ProgressLines, HaveRoomForAMetricWithALongNameOn80Columns) {
  const std::string line = progress_lines({{"sparse_fixed-c1-stride16-seed2", halfway(6000)}}, "accuracy", 80).at(0);
  EXPECT_EQ(line, "spars..seed2  1 h 40 min left  50%  valid accuracy 0.723  12.3k tok/s  145.2 MB");
}

TEST(ProgressLines, KeepTheTimeLeftWhateverTheWidth) {
  for (std::size_t width = 30; width < 140; ++width) {
    const std::string line = progress_lines({{"sparse_fixed-c1-stride16-seed2", halfway(6000)}}, "bpc", width).at(0);
    EXPECT_LT(line.size(), width);
    EXPECT_THAT(line, HasSubstr("1 h 40 min left")) << width;
  }
  EXPECT_EQ(progress_lines({{"full", halfway(1)}}, "bpc", 1).at(0), "");
}

TEST(ProgressLines, KeepWhatTellsNamesApart) {
  const std::vector<ActiveRun> runs{{"sparse_fixed-c1-stride16-learning_rate0.001-seed2", halfway(6000)},
                                    {"sparse_fixed-c2-stride16-learning_rate0.001-seed2", halfway(6000)}};
  for (std::size_t width = 40; width < 140; ++width) {
    const std::vector<std::string> lines = progress_lines(runs, "bpc", width);
    EXPECT_NE(lines[0], lines[1]) << width;
    EXPECT_LT(lines[0].size(), width);
  }
}

TEST(ProgressLines, LeaveOutTheMetricBeforeTheFirstEvaluation) {
  RunProgress now = halfway(240);
  now.metric = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(progress_lines({{"full", now}}, "bpc", 200).at(0), ::testing::Not(HasSubstr("bpc")));
}

ExperimentPlan plan_of(int runs, int jobs) {
  ExperimentPlan plan{.name = "sample", .metric = "bpc", .runs = {}, .jobs = jobs, .seconds = 100.0 * runs / jobs};
  for (int i = 0; i < runs; ++i) plan.runs.push_back({.name = "run" + std::to_string(i), .seconds = 100});
  return plan;
}

TEST(RunTotals, DoNotCountAFailedRunAsDone) {
  RunTotals totals(plan_of(4, 2));
  totals.note_end("run0");
  totals.note_end("run1", true);
  EXPECT_THAT(totals.in_words(), StartsWith("1 of 4 runs done, 1 failed, "));
}

TEST(RunTotals, CountRunsAndCorrectThePlanByWhatWasSeen) {
  RunTotals totals(plan_of(4, 1));
  EXPECT_DOUBLE_EQ(totals.seconds_left(), 400);
  totals.note_progress("run0", halfway(100));  // 200 seconds in all, twice the estimate
  EXPECT_DOUBLE_EQ(totals.seconds_left(), 100 + 3 * 200);
  EXPECT_EQ(totals.in_words(), "run 1 of 4, 12 min left in all");
  totals.note_end("run0");
  totals.note_progress("run1", halfway(100));
  EXPECT_DOUBLE_EQ(totals.seconds_left(), 100 + 2 * 200);
  EXPECT_EQ(totals.in_words(), "run 2 of 4, 8 min left in all");
}

TEST(RunTotals, ShareTheTimeBetweenRunsSideBySide) {
  RunTotals totals(plan_of(4, 2));
  totals.note_progress("run0", halfway(50));
  totals.note_progress("run1", halfway(50));
  EXPECT_DOUBLE_EQ(totals.seconds_left(), (50 + 50 + 100 + 100) / 2.0);
  EXPECT_EQ(totals.in_words(), "0 of 4 runs done, 3 min left in all");
  for (const char* run : {"run0", "run1", "run2"}) totals.note_end(run);
  totals.note_progress("run3", halfway(80));
  EXPECT_DOUBLE_EQ(totals.seconds_left(), 80) << "nothing is left to run beside the last one";
}

TEST(RunTotals, SayNothingOfASingleRunAndCountThoseThatCannotStart) {
  EXPECT_EQ(RunTotals(plan_of(1, 1)).in_words(), "");
  ExperimentPlan plan = plan_of(3, 1);
  plan.runs[0].error = "no such pattern";
  RunTotals totals(plan);
  totals.note_end("run0");
  totals.note_progress("run1", halfway(80));
  EXPECT_EQ(totals.in_words(), "run 2 of 3, 4 min left in all");
}

}  // namespace
}  // namespace bough::cli
