#include "tools/report/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "tests/report/results_sample.h"
#include "tests/support/files.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Classification of_runs(const std::vector<runner::RunResult>& runs) {
  std::vector<const runner::RunResult*> all;
  for (const runner::RunResult& run : runs) all.push_back(&run);
  return classification_of(all);
}

const json small_tree = {{"kind", "bpt"}, {"k", 4}};

std::vector<runner::RunResult> two_seeds() {
  return {runner::sample_classified_run(small_tree, 1, 21, 2), runner::sample_classified_run(small_tree, 2, 21, 6)};
}

TEST(Classification, SumsConfusionsAndAveragesScoresOverSeeds) {
  const Classification sum = of_runs(two_seeds());
  EXPECT_THAT(sum.labels, ElementsAre("very negative", "<neutral>", "positive"));
  EXPECT_THAT(sum.confusion, ElementsAre(ElementsAre(72, 8, 0), ElementsAre(0, 40, 0), ElementsAre(0, 0, 40)));
  EXPECT_EQ(sum.texts_of(0), 80);
  ASSERT_EQ(sum.classes.size(), 3u);
  EXPECT_EQ(sum.classes[0].label, "very negative");
  EXPECT_NEAR(sum.classes[0].recall.mean, 0.9, 1e-12);
  EXPECT_NEAR(sum.classes[0].recall.deviation, 0.1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(sum.classes[0].texts.mean, 40);
  ASSERT_EQ(sum.shifts.size(), 3u);
  EXPECT_NEAR(sum.shifts[2].mean, 0.95 - 0.1, 1e-12);
  EXPECT_EQ(sum.shifts[2].count, 2);
}

TEST(Classification, IsEmptyForRunsThatTellOfNoClasses) {
  const Classification none = of_runs({runner::sample_run(small_tree, 1, 21, 0.7)});
  EXPECT_FALSE(none.has_classes());
  EXPECT_TRUE(none.shifts.empty());
  EXPECT_FALSE(of_runs({}).has_classes());
}

TEST(Classification, LeavesOutWhatTheSeedsDoNotTellAlike) {
  std::vector<runner::RunResult> runs = two_seeds();
  runs[1].metrics["labels"][0] = "another";
  EXPECT_TRUE(of_runs(runs).confusion.empty());
  EXPECT_EQ(of_runs(runs).classes.size(), 3u) << "these have labels of their own";
  runs[1].metrics["classes"][0]["label"] = "another";
  EXPECT_FALSE(of_runs(runs).has_classes());
  runs[1].metrics["shifts"].push_back(0.5);
  EXPECT_TRUE(of_runs(runs).shifts.empty());
}

TEST(Classification, TakesNothingFromDamagedLists) {
  for (const char* key : {"labels", "confusion", "classes", "shifts"}) {
    for (const json& damage :
         {json(nullptr), json("x"), json::array(), json({1, "x"}), json({{{"a", 1}}}), json({{1, 2}})}) {
      runner::Results results = runner::sample_classification();
      for (runner::RunResult& run : results.runs) run.metrics[key] = damage;
      const Summary summary = summarize(results);
      EXPECT_EQ(summary.points.size(), 2u);
      EXPECT_THAT(to_html(summary), HasSubstr("</html>")) << key << " is " << damage;
      EXPECT_THAT(table_text(summary), HasSubstr("bpt-k4"));
    }
  }
}

TEST(Classification, StandsInTextAndFilesWhereListsAreNoColumns) {
  const Summary summary = summarize(runner::sample_classification());
  EXPECT_THAT(table_text(summary), ContainsRegex("bpt-k4 +21.01 +0.9750 ± 0.0125 +0.9650 ± 0.0125 +3 "));
  EXPECT_THAT(table_text(summary), ContainsRegex("pattern +degree +test accuracy +macro_f1 +seeds"));
  EXPECT_THAT(table_text(summary), HasSubstr("Mean test accuracy with placeholder tokens in front of each text:\n"));
  EXPECT_THAT(table_text(summary), ContainsRegex("tokens in front +0 +1 +2\n"));
  EXPECT_THAT(table_text(summary), ContainsRegex("bpt-k4 +0.9750 ± 0.0125  0.9250 ± 0.0125  0.8750 ± 0.0125\n"));
  EXPECT_THAT(plot_text(summary), HasSubstr("higher is better"));
  const std::string table = to_csv(summary);
  EXPECT_THAT(table, HasSubstr("last_accuracy_deviation,macro_f1,macro_f1_deviation\n"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(std::ranges::count(line, ','), 21) << line;
  EXPECT_THAT(to_csv(summarize(runner::sample_results())), Not(HasSubstr("macro_f1")));

  const json file = to_json(summary);
  const json& classes = file["points"][1]["classification"];
  EXPECT_EQ(classes["confusion"], json::parse("[[114, 6, 0], [0, 60, 0], [0, 0, 60]]"));
  EXPECT_EQ(classes["classes"][1]["label"], "<neutral>");
  EXPECT_NEAR(classes["shifts"][1]["mean"].get<double>(), 0.925, 1e-12);
  EXPECT_EQ(file["runs"][0]["metrics"]["macro_f1"], json(79.0 / 80 - 0.01));
  EXPECT_FALSE(file["runs"][0]["metrics"].contains("confusion")) << "it is in results.json, and summed in the points";
}

TEST(Classification, HasAPlotOfShiftsThatGoesWithThem) {
  const test::TemporaryFolder folder;
  runner::Results results = runner::sample_classification();
  write_report(summarize(results), folder.file(""));
  EXPECT_THAT(test::file_content(folder.file("quality_by_shift.svg")), HasSubstr("placeholder tokens in front"));
  for (runner::RunResult& run : results.runs) run.metrics.erase("shifts");
  write_report(summarize(results), folder.file(""));
  EXPECT_FALSE(std::filesystem::exists(folder.file("quality_by_shift.svg")));
}

TEST(Classification, SurvivesResultsThatAreWrittenReadAndCombined) {
  const test::TemporaryFolder folder;
  const runner::Results results = runner::sample_classification();
  runner::save_results(folder.file("results.json"), results);
  const runner::Results read = runner::load_results(folder.file("results.json"));
  EXPECT_EQ(read.runs[0].metrics, results.runs[0].metrics);
  EXPECT_FALSE(read.metric.lower_is_better);
  runner::Results other = read;
  other.name = "again";
  const Summary both = summarize(combine({read, other}));
  EXPECT_EQ(both.points.size(), 4u);
  for (const Point& point : both.points) EXPECT_EQ(point.classification.classes.size(), 3u);
}

}  // namespace
}  // namespace bough::report
