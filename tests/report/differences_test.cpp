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

TEST(MarkDifferences, NamesBuildsThatAreNotTheSame) {
  const auto made_by = [](const char* commit, const nlohmann::json& libraries) {
    runner::Results results = runner::sample_results();
    for (runner::RunResult& run : results.runs) {
      run.machines = {{{"processor", commit}, {"threads", 2}, {"commit", commit}, {"libraries", libraries}}};
    }
    return results;
  };
  const nlohmann::json old = {{"oneTBB", "2021.8"}, {"fmt", "9.1"}}, fresh = {{"oneTBB", "2022.1"}, {"fmt", "9.1"}};
  runner::Results both = combine({made_by("01ab", old), made_by("02cd", fresh)});
  mark_differences(both);
  EXPECT_THAT(both.note, HasSubstr("made by different builds of bough: commit (\"01ab\", \"02cd\"), "
                                   "libraries.oneTBB (\"2021.8\", \"2022.1\")"));
  EXPECT_THAT(both.note, Not(HasSubstr("fmt")));
  for (const runner::RunResult& run : both.runs) EXPECT_FALSE(run.settings.contains("commit")) << "no label says it";
  runner::Results same = combine({made_by("01ab", old), made_by("01ab", {{"fmt", "9.1"}})});
  mark_differences(same);
  EXPECT_THAT(same.note, Not(HasSubstr("different builds"))) << "the second is of a version that does not tell all";
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
