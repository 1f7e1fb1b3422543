#include "tools/report/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/results_sample.h"
#include "tools/report/summary.h"

namespace bough::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MarkDifferences, LeavesRunsAloneThatDifferInGraphSeedAndSweepOnly) {
  runner::Results results = runner::sample_of_two_lengths();
  for (runner::RunResult& run : results.runs) run.settings["task.length"] = run.facts.length;
  mark_differences(results);
  EXPECT_EQ(results.note, "");
  for (const runner::RunResult& run : results.runs) EXPECT_EQ(run.settings.size(), 3u) << run.name;
}

TEST(MarkDifferences, ShowsOtherDifferencesInLabelsAndInTheNote) {
  runner::Results other = runner::sample_results();
  for (runner::RunResult& run : other.runs) {
    run.config["train"].update({{"steps", 30}, {"log_every", 7}});
    run.config["task"]["corpus"] = {{"kind", "text"}, {"path", "a.txt"}};
  }
  runner::Results both = combine({runner::sample_results(), other});
  mark_differences(both);
  EXPECT_THAT(both.note, HasSubstr("train.steps (10, 30)"));
  EXPECT_THAT(both.note, HasSubstr("task.corpus.path (default, \"a.txt\")"));
  EXPECT_THAT(both.note, Not(HasSubstr("log_every")));
  EXPECT_EQ(both.runs.front().settings["train.steps"], 10);
  EXPECT_EQ(both.runs.back().settings["train.steps"], 30);
  for (const Point& point : summarize(both).points) EXPECT_THAT(point.label, HasSubstr("train.steps "));
}

TEST(MarkDifferences, KnowsAnotherTextUnderTheSameName) {
  const auto reading = [](const char* hash) {
    runner::Results results = runner::sample_results();
    for (runner::RunResult& run : results.runs) run.inputs.data_files = {{"a.txt", 6, hash}};
    return results;
  };
  runner::Results same = combine({reading("01"), reading("01"), runner::sample_results()});
  mark_differences(same);
  EXPECT_THAT(same.note, Not(HasSubstr("a.txt"))) << "the last one is of a version that does not say";
  runner::Results both = combine({reading("01"), reading("02")});
  mark_differences(both);
  EXPECT_THAT(both.note, HasSubstr("content of a.txt (\"01\", \"02\")"));
}

TEST(MarkDifferences, AddsTheValueOfAnExperimentThatDidNotSweepIt) {
  runner::Results swept = runner::sample_results();
  for (runner::RunResult& run : swept.runs) run.settings["train.steps"] = run.config["train"]["steps"] = 30;
  runner::Results both = combine({runner::sample_results(), swept});
  mark_differences(both);
  EXPECT_EQ(both.runs.front().settings["train.steps"], 10);
  EXPECT_THAT(both.note, HasSubstr("train.steps (10, 30)"));
}

}  // namespace
}  // namespace bough::report
