#include "tools/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bough/core/errors.h"
#include "tests/report/results_sample.h"
#include "tests/support/files.h"

namespace bough::report {
namespace {

using ::testing::HasSubstr;

TEST(Summary, AveragesOverSeedsAndSortsByDegree) {
  const Summary summary = summarize(runner::sample_results());
  ASSERT_EQ(summary.points.size(), 3u);
  EXPECT_EQ(summary.points[0].label, "window-width20");
  EXPECT_EQ(summary.points[1].label, "bpt-k4");
  EXPECT_EQ(summary.points[2].label, "window-width64");
  EXPECT_DOUBLE_EQ(summary.points[1].metric.mean, 0.7);
  EXPECT_NEAR(summary.points[1].metric.deviation, 0.02 * std::sqrt(2.0), 1e-12);
  EXPECT_EQ(summary.points[1].metric.count, 2);
  EXPECT_EQ(summary.points[2].metric.deviation, 0);
}

TEST(Summary, SaysWhoIsAheadAtEqualDegreeAndWhenItIsNotTheTree) {
  runner::Results results = runner::sample_results();
  Summary summary = summarize(results);
  ASSERT_EQ(summary.findings.size(), 1u);
  EXPECT_TRUE(summary.findings[0].ahead);
  EXPECT_TRUE(summary.findings[0].clear);
  results.runs[2].metrics["bpc"] = 0.6;
  results.runs[3].metrics["bpc"] = 0.65;
  summary = summarize(results);
  EXPECT_FALSE(summary.findings[0].ahead);
  EXPECT_THAT(summary.findings[0].text, HasSubstr("not better"));
  EXPECT_NE(to_html(summary).find("not better"), std::string::npos);
}

/// One seed of each pattern, with this degree and score.
runner::Results results_of(const std::vector<std::tuple<std::string, double, double>>& patterns,
                           const std::string& focus = "") {
  runner::Results results = runner::sample_results();
  results.experiment = {{"name", "sample"}};
  if (!focus.empty()) results.experiment["focus"] = focus;
  results.runs.clear();
  for (const auto& [kind, degree, score] : patterns) {
    results.runs.push_back(runner::sample_run({{"kind", kind}}, 1, degree, score));
  }
  return results;
}

TEST(Summary, ComparesEveryPatternWithEveryOtherThatIsNearWithoutAFocus) {
  const Summary summary = summarize(
      results_of({{"window", 20, 0.9}, {"mine_from_a_plugin", 21, 0.5}, {"star", 22, 0.7}, {"far", 80, 0.4}}));
  EXPECT_EQ(summary.focus, "");
  ASSERT_EQ(summary.findings.size(), 3u);
  EXPECT_THAT(summary.findings[0].text, ::testing::StartsWith("mine_from_a_plugin (degree 21.0): 0.500 against 0.900"))
      << "the largest difference first, told from the better one's side";
  for (const Finding& finding : summary.findings) EXPECT_TRUE(finding.ahead);
  EXPECT_EQ(summary.findings_remark(), "");
}

TEST(Summary, TellsFindingsFromTheSideOfTheFocusWhateverItIsCalled) {
  const std::vector<std::tuple<std::string, double, double>> patterns{
      {"window", 20, 0.9}, {"mine", 21, 0.5}, {"star", 22, 0.4}};
  const Summary summary = summarize(results_of(patterns, "mine"));
  EXPECT_EQ(summary.focus, "mine");
  ASSERT_EQ(summary.findings.size(), 2u) << "window and star are not compared";
  for (const Finding& finding : summary.findings) EXPECT_THAT(finding.text, ::testing::StartsWith("mine (degree"));
  EXPECT_FALSE(summary.findings[0].ahead) << "star";
  EXPECT_TRUE(summary.findings[1].ahead) << "window";
  EXPECT_EQ(summarize(results_of(patterns, "mine-seed1")).findings.size(), 2u) << "the name of a run";
  EXPECT_EQ(summarize(results_of(patterns, "min")).focus, "") << "half a word is no name";
  EXPECT_EQ(summarize(results_of(patterns, "absent")).findings.size(), 3u) << "a focus that was not run";
}

TEST(Summary, SaysThatNoTwoPatternsAreNearOnlyWhereItIsTrue) {
  const auto findings = [](const runner::Results& results) { return findings_text(summarize(results)); };
  EXPECT_EQ(findings(results_of({{"window", 20, 0.9}, {"star", 40, 0.5}})),
            "No two patterns have about the same degree here.\n");
  EXPECT_EQ(findings(results_of({{"window", 20, 0.9}, {"star", 21, 0.5}, {"bpt", 40, 0.5}}, "bpt")),
            "No other pattern has about the same degree as bpt here.\n");
  EXPECT_THAT(findings(results_of({{"window", 20, 0.9}, {"star", 21, 0.5}, {"bpt", 40, 0.5}})),
              HasSubstr("star (degree 21.0)"));
}

TEST(Summary, KeepsTheFindingsShortAndCountsWhatItLeavesOut) {
  std::vector<std::tuple<std::string, double, double>> patterns;
  for (int i = 0; i < 7; ++i)
    patterns.emplace_back("pattern" + std::string(1, static_cast<char>('a' + i)), 20, 0.1 * i);
  const Summary summary = summarize(results_of(patterns));
  EXPECT_EQ(summary.findings.size(), most_findings);
  EXPECT_EQ(summary.findings_left_out, 21 - most_findings);
  EXPECT_THAT(findings_text(summary), HasSubstr("9 more comparisons at about the same degree are left out."));
  EXPECT_THAT(summary.findings[0].text, HasSubstr("patterna (degree 20.0): 0.000 against 0.600 for patterng"));
  EXPECT_THAT(to_html(summary), HasSubstr("9 more comparisons"));
}

TEST(Summary, DoesNotSpeakOfScatterWhereThereIsOneSeed) {
  runner::Results results = runner::sample_results();
  std::erase_if(results.runs, [](const runner::RunResult& run) { return run.name.ends_with("seed2"); });
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.findings.size(), 1u);
  EXPECT_FALSE(summary.findings[0].clear);
  EXPECT_THAT(summary.findings[0].text, HasSubstr("one seed alone"));
}

TEST(Results, SurviveBeingWrittenAndRead) {
  const test::TemporaryFolder folder;
  const runner::Results results = runner::sample_results();
  runner::save_results(folder.file("results.json"), results);
  const runner::Results read = runner::load_results(folder.file("results.json"));
  ASSERT_EQ(read.runs.size(), results.runs.size());
  for (std::size_t i = 0; i < read.runs.size(); ++i) EXPECT_EQ(to_json(read.runs[i]), to_json(results.runs[i]));
}

TEST(Results, ThatAreDamagedAreAnErrorThatSaysSo) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("results.json");
  test::write_file(path, R"({"runs": 5})");
  EXPECT_THROW(runner::load_results(path), IoError);
  runner::save_results(path, runner::sample_results());
  const nlohmann::json whole = nlohmann::json::parse(test::file_content(path));
  for (const char* part : {"/runs/0/config", "/runs/0/config/graph", "/runs/0/config/train", "/runs/0/settings",
                           "/runs/0/metrics", "/runs/0/curve/0/step", "/runs/0/steps", "/metric", "/bounds/0"}) {
    for (const nlohmann::json& damage : {nlohmann::json("x"), nlohmann::json::array({1})}) {
      nlohmann::json damaged = whole;
      damaged[nlohmann::json::json_pointer(part)] = damage;
      test::write_file(path, damaged.dump());
      EXPECT_THROW(summarize(runner::load_results(path)), IoError) << part << " is " << damage;
    }
  }
}

TEST(Report, TextShowsTableBoundsFailuresAndPlot) {
  const Summary summary = summarize(runner::sample_results());
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("bpt-k4 +21.01 +0.7000 \\+-0.0283 +2 +9000"));
  EXPECT_THAT(table_text(summary), HasSubstr("star-seed1 failed: [star] has no causal form"));
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("ideal +0.4250"));
  EXPECT_THAT(plot_text(summary), HasSubstr("o window"));
}

TEST(Report, FilesHoldTheNumbersAndNothingBreaksOutOfThePage) {
  const test::TemporaryFolder folder;
  write_report(summarize(runner::sample_results()), folder.file(""));
  EXPECT_THAT(test::file_content(folder.file("summary.csv")), HasSubstr("bpt-k4,bpt,21.0078125,256,0.7,"));
  EXPECT_EQ(nlohmann::json::parse(test::file_content(folder.file("summary.json")))["points"].size(), 3u);
  EXPECT_THAT(test::file_content(folder.file("quality.svg")), HasSubstr("&lt;script&gt;"));
  const std::string page = test::file_content(folder.file("report.html"));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_NE(page.find("<figcaption>bpt-k4"), std::string::npos);
}

TEST(Report, NoRunsAtAllStillMakeAReport) {
  runner::Results empty = runner::sample_results();
  empty.runs.clear();
  const Summary summary = summarize(empty);
  EXPECT_EQ(plot_text(summary), "");
  EXPECT_NE(to_html(summary).find("</html>"), std::string::npos);
  EXPECT_THAT(to_svg(quality_by_degree(summary), summary.results.name), HasSubstr("</svg>"));
}

TEST(Report, LeavesOutARunWithoutAScore) {
  runner::Results results = runner::sample_results();
  results.runs.back().status = runner::RunStatus::done;
  results.runs.back().metrics = {{"bpc", nullptr}};
  EXPECT_EQ(summarize(results).points.size(), 3u);
}

TEST(SeriesStyle, TellsMoreSeriesApartThanThereAreColours) {
  std::set<std::string> looks, marks;
  for (std::size_t series = 0; series < 24; ++series) {
    const SeriesStyle style = style_of(series);
    looks.insert(std::string(style.colour) + style.dash + std::to_string(style.shape));
    marks.insert(std::string(1, style.mark));
  }
  EXPECT_EQ(looks.size(), 24u);
  EXPECT_EQ(marks.size(), 24u);
}

TEST(Report, SeveralLengthsGetPlotsOfTheirOwn) {
  const Summary one_length = summarize(runner::sample_results());
  EXPECT_EQ(plots_of(one_length).size(), 3u);
  const Summary summary = summarize(runner::sample_of_two_lengths());
  const std::vector<Plot> plots = plots_of(summary);
  ASSERT_EQ(plots.size(), 6u);
  const Plot& speed = plots[4];
  EXPECT_EQ(speed.name, "speed_by_length");
  ASSERT_EQ(speed.series.size(), 3u) << "a line for each graph";
  EXPECT_EQ(speed.series[0].name, "window-width20");
  ASSERT_EQ(speed.series[0].points.size(), 2u);
  EXPECT_EQ(speed.series[0].points[1].x, 512);
  EXPECT_EQ(speed.series[0].points[1].y.mean, 30015);
  EXPECT_EQ(plots[0].series.size(), 4u) << "no line joins points of different lengths";
  for (const Finding& finding : summary.findings) EXPECT_THAT(finding.text, ::testing::StartsWith("length "));

  const test::TemporaryFolder folder;
  write_report(summary, folder.file(""));
  EXPECT_THAT(test::file_content(folder.file("memory_by_length.svg")), HasSubstr("context length"));
}

TEST(Combine, TellsExperimentsApartAndRefusesDifferentMetrics) {
  runner::Results one = runner::sample_results(), other = runner::sample_results();
  one.name = "first";
  other.name = "second";
  const Summary summary = summarize(combine({one, other}));
  EXPECT_EQ(summary.points.size(), 6u);
  EXPECT_THAT(quality_by_degree(summary).series,
              ::testing::Contains(::testing::Field(&PlotSeries::name, "bpt, second")));
  other.metric.name = "accuracy";
  EXPECT_THROW(combine({one, other}), ConfigError);
}

}  // namespace
}  // namespace bough::report
