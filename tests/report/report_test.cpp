#include "tools/report/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
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
  for (const char* part :
       {"/runs/0/config", "/runs/0/config/graph", "/runs/0/config/train", "/runs/0/settings", "/runs/0/metrics",
        "/runs/0/curve/0/step", "/runs/0/steps", "/metric", "/bounds/0", "/runs/0/waited_share"}) {
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
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("bpt-k4 +21.01 +0.7000 ± 0.0283 +2 +9000"));
  EXPECT_THAT(table_text(summary), HasSubstr("star-seed1 failed: [star] has no causal form"));
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("ideal +0.4250"));
  EXPECT_THAT(plot_text(summary), HasSubstr("o bpt  x window")) << "the focus first";
}

TEST(Report, EveryMeasuredNumberOfSeveralSeedsHasItsDeviation) {
  runner::Results results = runner::sample_results();
  results.runs[1].train_seconds = 3;
  results.runs[1].peak_memory_bytes = 14'000'000;
  const std::string text = table_text(summarize(results)), page = to_html(summarize(results));
  EXPECT_THAT(text, ::testing::ContainsRegex("bpt-k4 .* 2\\.5 ± 0\\.7 +30015 ± 7 +13\\.0 ± 1\\.4\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("window-width64 .* 2\\.0 +30010 +12\\.0\n")) << "one seed";
  EXPECT_THAT(page, HasSubstr("<td>2.5 ± 0.7</td><td>30015 ± 7</td><td>13.0 ± 1.4</td>"));
  const std::string lines = to_csv(summarize(results));
  EXPECT_THAT(lines, HasSubstr("train_seconds,train_seconds_deviation,tokens_per_second,tokens_per_second_deviation,"
                               "peak_memory_bytes,peak_memory_bytes_deviation,times,"));
  EXPECT_THAT(lines, ::testing::ContainsRegex("bpt-k4,.*,2\\.5,0\\.70710[0-9]*,30015,7\\.0710[0-9]*,13000000,"
                                              "1414213\\.[0-9]*,comparable,"));
  EXPECT_THAT(lines, ::testing::ContainsRegex("window-width64,.*,2,0,30010,0,12000000,0,comparable,"));
  const std::string drawing = to_svg(quality_by_degree(summarize(results)), "sample");
  EXPECT_THAT(drawing, HasSubstr("<title>bpt: 0.7 ± 0.028 at 21.01</title>"));
  EXPECT_THAT(drawing, HasSubstr("<title>window: 0.61 at 56.75</title>"));
  // Columns stay below their heads.
  const std::size_t width = text.find('\n');
  for (std::size_t begin = 0, row = 0; row < 4; ++row, begin = text.find('\n', begin) + 1) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    const auto characters = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_EQ(static_cast<std::size_t>(characters), width) << line;
  }
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

TEST(Report, ShowsTheScoreAfterTheLastStepWhereAnotherCheckpointWasBest) {
  runner::Results results = runner::sample_results();
  for (runner::RunResult& run : results.runs) {
    run.best_step = 10;
    run.last_metrics = run.metrics;
  }
  EXPECT_THAT(table_text(summarize(results)), ::testing::Not(HasSubstr("last step")));
  EXPECT_THAT(to_html(summarize(results)), ::testing::Not(HasSubstr("last score")));
  results.runs[0].best_step = 5;
  results.runs[0].last_metrics["bpc"] = 0.7;
  const Summary summary = summarize(results);
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("bpt-k4 +21.01 +0.7000 ± 0.0283 +8 +0.7100 ± 0.0141 +2 "));
  EXPECT_THAT(table_text(summary), HasSubstr("best on the validation data"));
  EXPECT_THAT(to_html(summary), HasSubstr("<td>0.7000 ± 0.0283<small>step 8, last 0.7100 ± 0.0141</small></td>"));
  EXPECT_THAT(to_csv(summary), HasSubstr(",comparable,7.5,0.71,0.014"));
  EXPECT_THAT(to_csv(summary), HasSubstr("best_step,last_bpc,last_bpc_deviation\n"));
  const nlohmann::json file = to_json(summary);
  EXPECT_EQ(file["points"][1]["best_step"]["mean"], 7.5);
  EXPECT_EQ(file["curves"][0]["best_step"], 5);
}

TEST(Report, SaysByWhichNumberCheckpointsWereChosenWhereThatIsNotTheMetric) {
  runner::Results results = runner::sample_results();
  for (runner::RunResult& run : results.runs) {
    run.best_step = 5;
    run.last_metrics = {{"bpc", 0.95}};
  }
  EXPECT_THAT(table_text(summarize(results)),
              HasSubstr("that were best on the validation data (at step), not the last"));
  for (runner::RunResult& run : results.runs) run.best_by = "loss";
  EXPECT_THAT(table_text(summarize(results)), HasSubstr("best on the validation data by loss (at step), not the last"));
  EXPECT_THAT(to_html(summarize(results)), HasSubstr("was tested: it was best on the validation data by loss."));
  results.runs[0].best_by = "";
  EXPECT_EQ(summarize(results).best_in_words(), "best on the validation data by bpc or loss");
  EXPECT_EQ(runner::run_result_from(to_json(results.runs[1])).best_by, "loss");
}

TEST(Report, LeavesCellsEmptyWhereAnEarlierVersionDidNotTellTheBestStep) {
  const Summary summary = summarize(runner::sample_results());
  EXPECT_FALSE(summary.has_last_scores());
  EXPECT_THAT(to_csv(summary), HasSubstr(",comparable,,,\n"));
  EXPECT_TRUE(to_json(summary)["points"][0]["last_metric"].is_null());
}

/// The sample as a task whose runs have a second number.
runner::Results sample_with_perplexity() {
  runner::Results results = runner::sample_results();
  results.further_metrics = {{.name = "perplexity", .label = "perplexity per <token>"}};
  for (runner::RunResult& run : results.runs) {
    run.config["task"]["kind"] = "char_lm";
    if (run.status == runner::RunStatus::done) run.metrics["perplexity"] = 100 * run.metrics["bpc"].get<double>();
  }
  return results;
}

TEST(Report, ShowsFurtherMetricsOfTheTaskBesideTheFirst) {
  runner::Results results = sample_with_perplexity();
  results.runs[4].metrics.erase("perplexity");
  const Summary summary = summarize(results);
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("degree +test bpc +perplexity +seeds"));
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("bpt-k4 +21.01 +0.7000 ± 0.0283 +70.0000 ± 2.8284 +2 "));
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("window-width64 +56.75 +0.6100 +- +1 "));
  EXPECT_THAT(to_csv(summary), HasSubstr("last_bpc_deviation,perplexity,perplexity_deviation\n"));
  EXPECT_THAT(to_csv(summary), ::testing::ContainsRegex("bpt-k4,bpt,.*,,,,70,2.8284"));
  EXPECT_THAT(to_html(summary), HasSubstr("</th><th>perplexity per &lt;token&gt;</th><th>seeds"));
  EXPECT_THAT(to_html(summary), HasSubstr("<td>0.7000 ± 0.0283</td><td>70.0000 ± 2.8284</td>"));
  EXPECT_THAT(to_html(summary), HasSubstr("<td>0.6100</td><td>–</td>"));
  const nlohmann::json file = to_json(summary);
  EXPECT_EQ(file["further_metrics"][0]["name"], "perplexity");
  EXPECT_NEAR(file["points"][1]["further_metrics"]["perplexity"]["mean"].get<double>(), 70, 1e-9);
  EXPECT_TRUE(file["points"][2]["further_metrics"].empty());
  for (runner::RunResult& run : results.runs) run.metrics.erase("perplexity");
  EXPECT_THAT(table_text(summarize(results)), ::testing::Not(HasSubstr("perplexity"))) << "no run has it";
}

TEST(Results, OfEarlierVersionsHaveTheFurtherMetricsOfTheirTask) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("results.json");
  const runner::Results results = sample_with_perplexity();
  runner::save_results(path, results);
  EXPECT_EQ(runner::load_results(path).further_metrics.at(0).label, "perplexity per <token>");
  nlohmann::json file = nlohmann::json::parse(test::file_content(path));
  file.erase("further_metrics");
  test::write_file(path, file.dump());
  EXPECT_EQ(runner::load_results(path).further_metrics.at(0).name, "perplexity");
  for (nlohmann::json& run : file["runs"]) run["config"]["task"]["kind"] = "of_another_program";
  test::write_file(path, file.dump());
  EXPECT_TRUE(runner::load_results(path).further_metrics.empty());
}

TEST(Report, LeavesOutARunWithoutAScore) {
  runner::Results results = runner::sample_results();
  results.runs.back().status = runner::RunStatus::done;
  results.runs.back().metrics = {{"bpc", nullptr}};
  EXPECT_EQ(summarize(results).points.size(), 3u);
}

/// What tells a line from the others in print, where shades are lost.
std::string look_of(const SeriesStyle& style) { return fmt::format("{} {} {}", style.colour, style.dash, style.shape); }

TEST(SeriesStyle, TellsMoreFamiliesApartThanThereAreColours) {
  std::set<std::string> looks;
  for (std::size_t family = 0; family < 24; ++family) looks.insert(look_of(style_of(family)));
  EXPECT_EQ(looks.size(), 24u);
}

TEST(SeriesStyle, GivesTheLinesOfAFamilyOneColourAndAnythingElseOfTheirOwn) {
  std::set<std::string> looks;
  for (std::size_t line = 0; line < 24; ++line) {
    EXPECT_STREQ(style_of(2, line).colour, style_of(2).colour);
    looks.insert(look_of(style_of(2, line)) + std::to_string(style_of(2, line).shade));
  }
  EXPECT_EQ(looks.size(), 24u);
}

std::map<std::string, std::string> colours_in(const Plot& plot, const Summary& summary) {
  std::map<std::string, std::string> colours;
  for (const PlotSeries& line : plot.series) {
    for (const PlotPoint& point : line.points) colours[summary.points[point.point].kind] = line.style.colour;
  }
  return colours;
}

TEST(Plots, KeepOneOrderAndOneColourForAPatternInAllOfThem) {
  const Summary summary = summarize(runner::sample_of_two_lengths());
  const std::vector<Plot> plots = plots_of(summary);
  ASSERT_EQ(plots.size(), 6u);
  const auto expected = colours_in(plots[0], summary);
  EXPECT_NE(expected.at("bpt"), expected.at("window"));
  for (const Plot& plot : plots) {
    EXPECT_EQ(colours_in(plot, summary), expected) << plot.name;
    EXPECT_THAT(plot.series[0].name, ::testing::StartsWith("bpt")) << plot.name << ": the focus first";
  }
  const std::vector<SeriesStyle> styles = point_styles(summary);
  std::set<std::string> looks;
  for (std::size_t i = 0; i < styles.size(); ++i) {
    EXPECT_EQ(styles[i].colour, expected.at(summary.points[i].kind));
    looks.insert(look_of(styles[i]));
  }
  EXPECT_EQ(looks.size(), summary.points.size()) << "curves of one pattern can be told apart";
}

/// The sample again with each of these values of one setting.
runner::Results swept(const std::string& section, const std::string& key, const std::vector<nlohmann::json>& values) {
  runner::Results results = runner::sample_results();
  const std::vector<runner::RunResult> first = results.runs;
  results.runs.clear();
  for (const nlohmann::json& value : values) {
    for (runner::RunResult run : first) {
      run.name += "-" + key + value.dump();
      run.settings[section + "." + key] = run.config[section][key] = value;
      results.runs.push_back(run);
    }
  }
  return results;
}

TEST(Plots, AreMadeAgainstWhateverNumberWasSwept) {
  const Summary layers = summarize(swept("model", "layers", {2, 3, 4}));
  std::vector<Plot> plots = plots_of(layers);
  ASSERT_EQ(plots.size(), 6u);
  EXPECT_EQ(plots[3].name, "quality_by_model_layers");
  EXPECT_EQ(plots[3].x_title, "model.layers");
  EXPECT_FALSE(plots[3].logarithmic);
  EXPECT_THAT(plots[3].x_ticks, ::testing::ElementsAre(2, 3, 4));
  ASSERT_EQ(plots[3].series.size(), 3u) << "a line for each graph";
  EXPECT_EQ(plots[3].series[0].name, "bpt-k4");
  EXPECT_EQ(plots[3].series[0].points.size(), 3u);
  EXPECT_EQ(plots[0].series.size(), 6u) << "no line joins points of different layers";

  plots = plots_of(summarize(swept("train", "learning_rate", {1e-4, 1e-3})));
  EXPECT_EQ(plots[3].name, "quality_by_train_learning_rate");
  EXPECT_TRUE(plots[3].logarithmic);
  EXPECT_THAT(plots[3].x_ticks, ::testing::ElementsAre(1e-4, 1e-3));
  EXPECT_EQ(plots_of(summarize(swept("model", "norm", {"pre", "post"}))).size(), 3u) << "no numbers";
}

TEST(Plots, BeginWhereTheDataBegin) {
  const Summary summary = summarize(runner::sample_results());
  const PlotRange range = plot_range(quality_by_degree(summary));
  EXPECT_GT(range.x_low, 0.85 * 20.1796875);
  EXPECT_LT(range.x_low, 20.1796875);
  EXPECT_LT(range.x_high, 1.15 * 56.75);
}

const Point& point_named(const Summary& summary, const std::string& label) {
  const auto found = std::ranges::find(summary.points, label, &Point::label);
  if (found == summary.points.end()) throw std::runtime_error("no point " + label);
  return *found;
}

std::vector<std::string> names_of(const std::vector<Plot>& plots) {
  std::vector<std::string> names;
  for (const Plot& plot : plots) names.push_back(plot.name);
  return names;
}

TEST(Times, OfABusyMachineAreMarkedAndInNoPlot) {
  runner::Results results = runner::sample_results();
  results.runs[4].waited_share = 0.4;
  const Summary summary = summarize(results);
  EXPECT_EQ(point_named(summary, "window-width64").times, Times::doubtful);
  EXPECT_EQ(point_named(summary, "window-width20").times, Times::comparable);
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("window-width64 .* 2\\.0\\* +30010\\* "));
  EXPECT_THAT(table_text(summary), HasSubstr("Times of window-width64 cannot be compared: the machine was busy"));
  EXPECT_THAT(to_html(summary), HasSubstr("30010&nbsp;*</td>"));
  const std::vector<Plot> plots = plots_of(summary);
  ASSERT_THAT(names_of(plots), ::testing::ElementsAre("quality", "speed", "memory"));
  EXPECT_EQ(plots[0].series[1].points.size(), 2u);
  EXPECT_EQ(plots[1].series[1].points.size(), 1u) << "window-width64 is left out";
  EXPECT_EQ(plots[1].points_left_out, 1u);
  EXPECT_EQ(plots[2].series[1].points.size(), 2u) << "memory does not depend on the load";
}

TEST(Times, OfOneUndisturbedSeedStandForASetting) {
  runner::Results results = runner::sample_results();
  results.runs[0].waited_share = 0.4;
  results.runs[0].tokens_per_second = 5000;
  const Summary summary = summarize(results);
  const Point& tree = point_named(summary, "bpt-k4");
  EXPECT_EQ(tree.times, Times::comparable);
  EXPECT_EQ(tree.tokens_per_second.mean, 30020);
  EXPECT_EQ(tree.tokens_per_second.count, 1);
  EXPECT_EQ(tree.metric.count, 2);
}

TEST(Times, OfAMachineThatOtherProgramsUsedAreMarked) {
  runner::Results results = runner::sample_results();
  results.runs[4].other_share = 0.3;
  results.runs[0].other_share = results.runs[1].other_share = 0.02;
  const Summary summary = summarize(results);
  EXPECT_EQ(point_named(summary, "bpt-k4").times, Times::comparable);
  EXPECT_EQ(point_named(summary, "window-width64").times, Times::doubtful);
  EXPECT_THAT(summary.times_remarks(),
              ::testing::ElementsAre("Times of window-width64 cannot be compared: the machine was busy, other programs "
                                     "used more than 10% of it."));
}

TEST(Points, OfAZipAreNamedByWhatTellsThemApartAndMakeOneLine) {
  runner::Results results = runner::sample_of_two_lengths();
  for (runner::RunResult& run : results.runs) {
    const double rate = run.facts.length == 256 ? 1e-3 : 5e-4;
    run.settings["task.length"] = run.facts.length;
    run.settings["train.learning_rate"] = run.config["train"]["learning_rate"] = rate;
    run.following = {"train.learning_rate"};
  }
  const Summary summary = summarize(results);
  EXPECT_EQ(point_named(summary, "bpt-k4").config["train"]["learning_rate"], 1e-3);
  const std::vector<Plot> plots = plots_of(summary);
  const auto by_length = std::ranges::find(plots, "quality_by_length", &Plot::name);
  ASSERT_NE(by_length, plots.end());
  for (const PlotSeries& series : by_length->series) EXPECT_EQ(series.points.size(), 2u) << series.name;
  EXPECT_THAT(names_of(plots), ::testing::Not(::testing::Contains(::testing::HasSubstr("learning_rate"))));
}

TEST(Times, OfOtherMachinesAndThreadsAreMarked) {
  runner::Results results = runner::sample_results();
  for (runner::RunResult& run : results.runs) run.machines = {{{"processor", "fast"}, {"threads", 2}}};
  results.runs[2].machines[0]["threads"] = results.runs[3].machines[0]["threads"] = 1;
  results.runs[4].machines[0]["processor"] = "slow";
  const Summary summary = summarize(results);
  EXPECT_EQ(point_named(summary, "bpt-k4").times, Times::comparable);
  EXPECT_THAT(summary.times_remarks(),
              ::testing::UnorderedElementsAre(
                  "Times of window-width20 cannot be compared: they had 1 threads where most had 2.",
                  "Times of window-width64 cannot be compared: they ran on another machine or with another build than "
                  "most."));
  results.runs[0].machines.push_back({{"processor", "other"}});
  results.runs[1].machines = results.runs[0].machines;
  EXPECT_EQ(point_named(summarize(results), "bpt-k4").times_remark,
            "they were begun on one machine or with one build and resumed on another");
}

TEST(Times, OfOneMachineAreComparedHoweverBusyItSaysItWas) {
  runner::Results results = runner::sample_results();
  for (runner::RunResult& run : results.runs) run.machines = {{{"processor", "fast"}, {"load", run.metrics["bpc"]}}};
  results.runs[0].machines.push_back({{"processor", "fast"}, {"load", 3.5}});
  for (const Point& point : summarize(results).points) EXPECT_EQ(point.times, Times::comparable) << point.times_remark;
}

TEST(Times, ThatAreLeftOutOnRequestStandNowhere) {
  runner::Results results = runner::sample_results();
  for (runner::RunResult& run : results.runs) run.times_left_out = "the machine did other work";
  const test::TemporaryFolder folder;
  test::write_file(folder.file("speed.svg"), "of an earlier report");
  test::write_file(folder.file("speedy.svg"), "of another program");
  const Summary summary = summarize(results);
  write_report(summary, folder.file(""));
  EXPECT_THAT(names_of(plots_of(summary)), ::testing::ElementsAre("quality", "memory"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("speed.svg")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("speedy.svg")));
  EXPECT_THAT(test::file_content(folder.file("summary.csv")),
              ::testing::ContainsRegex("bpt-k4.*,4711,,,,,12000000,0,left out"));
  EXPECT_THAT(table_text(summary), HasSubstr("Times of these runs cannot be compared: the machine did other work."));
  EXPECT_THAT(table_text(summary), ::testing::Not(HasSubstr("30010")));
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
  EXPECT_EQ(speed.series[1].name, "window-width20");
  ASSERT_EQ(speed.series[1].points.size(), 2u);
  EXPECT_EQ(speed.series[1].points[1].x, 512);
  EXPECT_EQ(speed.series[1].points[1].y.mean, 30015);
  EXPECT_EQ(plots[0].series.size(), 4u) << "no line joins points of different lengths";
  for (const Finding& finding : summary.findings) EXPECT_THAT(finding.text, ::testing::StartsWith("length "));

  const test::TemporaryFolder folder;
  write_report(summary, folder.file(""));
  EXPECT_THAT(test::file_content(folder.file("memory_by_length.svg")), HasSubstr("context length"));
}

/// The sample with two published figures beside it.
runner::Results sample_with_references() {
  runner::Results results = runner::sample_results();
  results.references = {{"Other <system>", 0.55, "A & B 2017"}, {"Third", 0.553, ""}};
  return results;
}

TEST(References, AreCitedBesideWhatWasMeasuredAndNoPartOfIt) {
  const Summary summary = summarize(sample_with_references());
  EXPECT_EQ(summary.points.size(), 3u);
  EXPECT_THAT(table_text(summary),
              ::testing::ContainsRegex("Other <system> +0.5500  cited, not run here: A & B 2017\n"));
  EXPECT_THAT(table_text(summary), ::testing::ContainsRegex("Third +0.5530  cited, not run here\n"));
  EXPECT_THAT(plot_text(summary), HasSubstr("  === Other <system> 0.55 (cited)"));
  EXPECT_THAT(plot_text(summary), HasSubstr("|===="));
  EXPECT_THAT(findings_text(summary), ::testing::Not(HasSubstr("Other <system>")));
  EXPECT_THAT(to_csv(summary), ::testing::Not(HasSubstr("Other <system>"))) << "a line is a setting";
  EXPECT_EQ(to_json(summary)["references"][1]["value"], 0.553);
  for (const Plot& plot : plots_of(summary)) EXPECT_EQ(plot.references.size(), plot.name == "quality" ? 2u : 0u);
  EXPECT_LT(plot_range(quality_by_degree(summary)).y_low, 0.425) << "bounds still count";
  const std::string page = to_html(summary);
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">Other &lt;system&gt;</th><td>0.5500</td><td>published figure, "
                              "cited</td><td>A &amp; B 2017</td></tr>"));
  EXPECT_THAT(page, HasSubstr("not measured here"));
  EXPECT_THAT(to_html(summarize(runner::sample_results())), ::testing::Not(HasSubstr("not measured here")));
}

TEST(References, StandOnTheirLinesWithoutCoveringEachOther) {
  const Summary summary = summarize(sample_with_references());
  const std::string svg = to_svg(quality_by_degree(summary), "sample");
  std::vector<double> heights;
  for (const char* name : {"Other &lt;system&gt; 0.55 (cited)", "Third 0.553 (cited)"}) {
    const std::size_t end = svg.find(name);
    ASSERT_NE(end, svg.npos) << name;
    heights.push_back(std::stod(svg.substr(svg.rfind(" y=\"", end) + 4)));
  }
  EXPECT_GE(heights[0] - heights[1], 14) << "lower is better, but larger is higher up";
}

TEST(References, SurviveBeingWrittenReadAndCombined) {
  const test::TemporaryFolder folder;
  runner::Results results = sample_with_references();
  runner::save_results(folder.file("results.json"), results);
  const runner::Results read = runner::load_results(folder.file("results.json"));
  EXPECT_EQ(read.references, results.references);
  results.name = "other";
  results.references.push_back({"Third", 0.6, "another figure of it"});
  EXPECT_EQ(combine({read, results}).references.size(), 3u);
}

TEST(Combine, RefusesDifferentTasksThatShareAMetric) {
  runner::Results one = runner::sample_classification(), other = runner::sample_classification();
  one.name = "films";
  other.name = "pairs";
  for (runner::RunResult& run : one.runs) run.config["task"]["kind"] = "text_classification";
  EXPECT_NO_THROW(combine({one, other})) << "the second one does not tell";
  for (runner::RunResult& run : other.runs) run.config["task"]["kind"] = "nli";
  try {
    combine({one, other});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'films' is an experiment of the task text_classification, 'pairs' "
                                                   "of nli: though both are scored by accuracy"));
  }
}

TEST(Combine, MakesNoFindingsAcrossOtherTestData) {
  const auto scored_on = [](const char* name, const char* file, const char* hash) {
    runner::Results results = runner::sample_classification();
    results.name = name;
    for (runner::RunResult& run : results.runs) {
      run.config["task"].update({{"kind", "text_classification"}, {"format", "tsv"}, {"test", file}});
      run.inputs.data_files = {{file, 6, hash}};
    }
    return results;
  };
  const auto across = [](const Summary& summary) {
    return std::ranges::count_if(summary.findings, [&](const Finding& finding) {
      const auto &one = summary.points[finding.one].settings, &other = summary.points[finding.other].settings;
      return one["experiment"] != other["experiment"];
    });
  };
  const Summary same = summarize(combine({scored_on("a", "test.tsv", "01"), scored_on("b", "copy.tsv", "01")}));
  EXPECT_GT(across(same), 0);
  EXPECT_TRUE(same.has_one_test_set());
  runner::Results other = scored_on("b", "test.tsv", "02");
  other.bounds.front().value = 0.7;
  const Summary different = summarize(combine({scored_on("a", "test.tsv", "01"), other}));
  EXPECT_EQ(different.findings.size(), 2u) << "one in each experiment";
  EXPECT_EQ(across(different), 0);
  EXPECT_THAT(findings_text(different), ::testing::HasSubstr("scored on other data are not compared"));
  ASSERT_EQ(different.results.bounds.size(), 2u);
  EXPECT_EQ(different.results.bounds[1].name, "most frequent class, b");
}

TEST(Combine, ListsWhatEachExperimentSaysOfItself) {
  runner::Results one = runner::sample_results(), other = runner::sample_results(), third = runner::sample_results();
  one.name = "first";
  one.description = "short <text>";
  one.host = third.host = {{"processor", "old"}};
  other.name = "second";
  other.description = "long text";
  other.host = {{"processor", "new"}};
  other.experiment["jobs"] = 7;
  third.name = "third";
  const Summary summary = summarize(combine({one, other, third}));
  const std::string page = to_html(summary);
  for (const char* part :
       {"<p><strong>first</strong>: short &lt;text&gt;</p>", "<p><strong>second</strong>: long text</p>",
        "<summary>Configuration of first</summary>", "<summary>Configuration of second</summary>",
        "<summary>Machine of first and third</summary>", "<summary>Machine of second</summary>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  const std::size_t configuration = page.find("Configuration of second");
  EXPECT_NE(page.find("&quot;jobs&quot;: 7", configuration), page.npos);
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<details><summary>Configuration</summary>")));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<p>short")));
  const nlohmann::json file = to_json(summary);
  EXPECT_EQ(file["joined"][1], nlohmann::json({{"name", "second"},
                                               {"description", "long text"},
                                               {"host", {{"processor", "new"}}},
                                               {"experiment", other.experiment}}));
  EXPECT_TRUE(file["host"].is_null());
  EXPECT_EQ(summary.focus, "bpt") << "that of the first";
  EXPECT_THAT(to_html(summarize(one)), HasSubstr("<p>short &lt;text&gt;</p>"));
  EXPECT_FALSE(to_json(summarize(one)).contains("joined"));
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
