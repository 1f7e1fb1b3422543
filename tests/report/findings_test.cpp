#include "tools/report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/results_sample.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A pattern with this degree and these scores, of the seeds 1, 2, ...
struct Scored {
  std::string kind;
  double degree;
  std::vector<double> scores;
};

runner::Results results_of(const std::vector<Scored>& patterns, const std::string& focus = "") {
  runner::Results results = runner::sample_results();
  results.experiment = {{"name", "sample"}};
  if (!focus.empty()) results.experiment["focus"] = focus;
  results.runs.clear();
  for (const auto& [kind, degree, scores] : patterns) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      results.runs.push_back(runner::sample_run({{"kind", kind}}, static_cast<int>(i) + 1, degree, scores[i]));
    }
  }
  return results;
}

Finding only_finding(const runner::Results& results) {
  const Summary summary = summarize(results);
  EXPECT_EQ(summary.findings.size(), 1u) << findings_text(summary);
  return summary.findings.empty() ? Finding{} : summary.findings.front();
}

const Scored tree{"bpt", 21, {0.70, 0.72, 0.71, 0.69, 0.73}};
const Scored far_behind{"window", 20, {0.90, 0.91, 0.905, 0.88, 0.93}};
const Scored scattered{"window", 20, {0.70, 0.75, 0.68, 0.74, 0.73}};

TEST(Findings, SayAheadWithTheTestBehindItWhereTheSeedsAgree) {
  const Finding finding = only_finding(results_of({tree, far_behind}, "bpt"));
  EXPECT_EQ(finding.verdict, Verdict::ahead);
  EXPECT_EQ(
      finding.text,
      "bpt (degree 21.0): 0.710 ± 0.016 against 0.905 ± 0.018 for window (degree 20.0): ahead (p < 0.001, 5 seeds; "
      "difference 0.195, 95% interval 0.189 to 0.201)");
  ASSERT_TRUE(finding.test);
  EXPECT_NEAR(finding.test->t_test.difference, 0.195, 1e-12);
  EXPECT_FALSE(finding.seeds_needed);
}

TEST(Findings, SayBehindWhereThePatternNamedFirstIsWorse) {
  const Finding finding = only_finding(results_of({tree, far_behind}, "window"));
  EXPECT_EQ(finding.verdict, Verdict::behind);
  EXPECT_THAT(finding.text, HasSubstr("0.905 ± 0.018 against 0.710 ± 0.016 for bpt (degree 21.0): behind (p < 0.001, 5 "
                                      "seeds; difference -0.195, 95% interval -0.201 to -0.189)"));
}

TEST(Findings, TakeTheDirectionFromTheMetric) {
  runner::Results results = results_of({tree, far_behind}, "bpt");
  results.metric.lower_is_better = false;
  const Finding finding = only_finding(results);
  EXPECT_EQ(finding.verdict, Verdict::behind);
  EXPECT_NEAR(finding.test->t_test.difference, -0.195, 1e-12);
}

TEST(Findings, NameThePatternWithTheHigherScoreFirstWhereHigherIsBetter) {
  const Scored good{"window", 20, {0.81, 0.82, 0.80, 0.83, 0.79, 0.81}},
      bad{"bpt", 21, {0.6, 0.62, 0.61, 0.6, 0.59, 0.6}};
  const Scored between{"star", 20.5, {0.7, 0.71, 0.72, 0.7, 0.69, 0.71}};
  runner::Results results = results_of({bad, good, between});
  results.metric.lower_is_better = false;
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.findings.size(), 3u);
  EXPECT_THAT(summary.findings[0].text,
              StartsWith("window (degree 20.0): 0.810 ± 0.014 against 0.603 ± 0.010 for bpt"));
  for (const Finding& finding : summary.findings) {
    EXPECT_GT(summary.points[finding.one].metric.mean, summary.points[finding.other].metric.mean);
    EXPECT_EQ(finding.verdict, Verdict::ahead);
    ASSERT_TRUE(finding.test && finding.test->bootstrap);
    EXPECT_GT(finding.test->t_test.interval.low, 0);
    EXPECT_GT(finding.test->bootstrap->low, 0) << "positive where the first one is better";
    EXPECT_LT(finding.test->corrected_p, 0.05);
  }
}

TEST(Findings, SayHowManySeedsWouldTellWhereTheseCannot) {
  const Finding finding = only_finding(results_of({tree, scattered}, "bpt"));
  EXPECT_EQ(finding.verdict, Verdict::cannot_tell);
  ASSERT_TRUE(finding.seeds_needed);
  EXPECT_GT(*finding.seeds_needed, 5);
  EXPECT_THAT(finding.text,
              ::testing::ContainsRegex("cannot tell \\(p = 0\\.[0-9]+, 5 seeds; difference 0.010, 95% interval "
                                       "-0.0[0-9]+ to 0.0[0-9]+; about [0-9]+ seeds would tell\\)"));
  const Finding same = only_finding(results_of({tree, {"window", 20, tree.scores}}, "bpt"));
  EXPECT_THAT(same.text,
              HasSubstr("cannot tell (p = 1.00, 5 seeds; difference 0.000, 95% interval 0.000 to 0.000; more "
                        "than 100 seeds would be needed)"));
}

TEST(Findings, ClaimNothingFromFewerThanThreeSeedsHoweverFarApart) {
  const auto first = [](Scored pattern, std::size_t seeds) {
    pattern.scores.resize(seeds);
    return pattern;
  };
  for (const std::size_t seeds : {1u, 2u}) {
    const Finding finding = only_finding(results_of({first(tree, seeds), first(far_behind, seeds)}, "bpt"));
    EXPECT_EQ(finding.verdict, Verdict::cannot_tell);
    EXPECT_FALSE(finding.test);
    EXPECT_THAT(finding.text, HasSubstr(seeds == 1 ? "cannot tell (1 seed; at least 3 are needed)"
                                                   : "cannot tell (2 seeds; at least 3 are needed)"));
    EXPECT_EQ(finding.seeds_needed, 3);
  }
  EXPECT_THAT(only_finding(results_of({first(tree, 2), far_behind}, "bpt")).text,
              HasSubstr("cannot tell (2 and 5 seeds; at least 3 are needed)"));
  EXPECT_EQ(only_finding(results_of({first(tree, 3), first(far_behind, 3)}, "bpt")).verdict, Verdict::ahead);
}

TEST(Findings, PairRunsWithTheSameSeedsWhereNothingElseDiffersThanTheyTell) {
  runner::Results results = results_of({tree, far_behind});
  EXPECT_EQ(only_finding(results).test->pairing, Pairing::paired);
  std::swap(results.runs[0], results.runs[3]);
  EXPECT_EQ(only_finding(results).test->pairing, Pairing::paired) << "in whatever order";
  EXPECT_NEAR(only_finding(results).test->t_test.standard_error, 0.0022360679775, 1e-9);

  runner::Results swept = results;
  for (runner::RunResult& run : swept.runs) {
    if (run.config["graph"]["kind"] != "bpt") continue;
    run.settings["train.learning_rate"] = run.config["train"]["learning_rate"] = 0.5;
  }
  EXPECT_EQ(only_finding(swept).test->pairing, Pairing::paired) << "labels tell the difference";

  runner::Results hidden = results;
  for (runner::RunResult& run : hidden.runs) {
    if (run.config["graph"]["kind"] == "bpt") run.config["train"]["steps"] = 77;
  }
  EXPECT_EQ(only_finding(hidden).test->pairing, Pairing::independent);

  runner::Results other_seed = results;
  other_seed.runs[0].config["train"]["seed"] = 99;
  EXPECT_EQ(only_finding(other_seed).test->pairing, Pairing::independent);
  other_seed.runs[0].config["train"].erase("seed");
  EXPECT_EQ(only_finding(other_seed).test->pairing, Pairing::independent);
  EXPECT_THAT(findings_text(summarize(other_seed)), HasSubstr("Welch's t-test"));
  EXPECT_THAT(findings_text(summarize(results)), HasSubstr("paired t-test"));
}

TEST(Findings, AreCorrectedForAllComparisonsAndSayWhereThatChangesTheVerdict) {
  // Against each of the others p is between 0.01 and 0.05.
  std::vector<Scored> patterns{{"bpt", 20, {0.70, 0.71, 0.72, 0.71}}};
  for (const char* kind : {"window", "star", "dilated"}) patterns.push_back({kind, 20, {0.712, 0.73, 0.73, 0.74}});
  const Summary one = summarize(results_of({patterns[0], patterns[1]}, "bpt"));
  EXPECT_EQ(one.findings[0].verdict, Verdict::ahead);
  EXPECT_THAT(findings_text(one), Not(HasSubstr("Holm")));
  const Summary three = summarize(results_of(patterns, "bpt"));
  ASSERT_EQ(three.findings.size(), 3u);
  for (const Finding& finding : three.findings) {
    EXPECT_EQ(finding.test->t_test.p, one.findings[0].test->t_test.p);
    EXPECT_NEAR(finding.test->corrected_p, 3 * finding.test->t_test.p, 1e-12);
    EXPECT_EQ(finding.verdict, Verdict::cannot_tell);
    EXPECT_THAT(finding.text,
                ::testing::ContainsRegex("cannot tell \\(p = 0.0[0-9]+, corrected for 3 comparisons 0\\."));
    EXPECT_GT(*finding.seeds_needed, 4) << "these were not enough";
    EXPECT_EQ(finding.seeds_needed, three.findings[0].seeds_needed) << "the same scores need the same";
  }
  EXPECT_EQ(three.tested, 3u);
  EXPECT_THAT(findings_text(three), HasSubstr("Holm's correction for all 3"));
}

TEST(Findings, CountComparisonsThatAreLeftOutInTheCorrection) {
  std::vector<Scored> patterns;
  for (int i = 0; i < 7; ++i) {
    const double score = 0.1 * i;
    patterns.push_back({"pattern" + std::string(1, static_cast<char>('a' + i)), 20, {score, score + 0.001, score}});
  }
  const Summary summary = summarize(results_of(patterns));
  EXPECT_EQ(summary.findings.size(), most_findings);
  EXPECT_EQ(summary.findings_left_out, 21 - most_findings);
  EXPECT_EQ(summary.tested, 21u);
  EXPECT_THAT(findings_text(summary), HasSubstr("names a \"focus\" makes fewer comparisons"));
  EXPECT_THAT(findings_text(summarize(results_of(patterns, "patterna"))), Not(HasSubstr("names a \"focus\"")));
  EXPECT_THAT(findings_text(summary), HasSubstr("9 more comparisons at about the same degree are left out."));
  EXPECT_THAT(to_html(summary), HasSubstr("9 more comparisons"));
}

TEST(Findings, HaveAnIntervalOfResamplesFromSixSeedsOn) {
  const Scored one{"bpt", 20, {0.70, 0.71, 0.72, 0.71, 0.73, 0.69}},
      other{"window", 20, {0.8, 0.82, 0.83, 0.8, 0.84, 0.8}};
  const Finding finding = only_finding(results_of({one, other}, "bpt"));
  ASSERT_TRUE(finding.test->bootstrap);
  EXPECT_GT(finding.test->bootstrap->low, 0.08);
  EXPECT_LT(finding.test->bootstrap->high, 0.13);
  EXPECT_THAT(finding.text,
              ::testing::ContainsRegex("95% interval 0\\.[0-9]+ to 0\\.[0-9]+, by bootstrap 0\\.[0-9]+ to "
                                       "0\\.[0-9]+\\)"));
  EXPECT_FALSE(only_finding(results_of({tree, far_behind}, "bpt")).test->bootstrap);
  const auto method = [](const std::vector<Scored>& patterns) {
    return to_json(summarize(results_of(patterns)))["findings_method"].dump();
  };
  EXPECT_THAT(method({tree, far_behind}),
              HasSubstr("With fewer than 6 seeds of each, resamples make an interval too narrow"));
  EXPECT_THAT(method({one, other}), Not(HasSubstr("resamples")));
  EXPECT_THAT(to_html(summarize(results_of({one, other}))), HasSubstr("by bootstrap"));
}

/// The study of attention degrees: what a zip sets with the graph is in no label.
TEST(Findings, SayWhichSettingsFollowThePatternsThatAreCompared) {
  runner::Results results = results_of({tree, far_behind, {"star", 80, {0.5}}});
  for (runner::RunResult& run : results.runs) {
    const std::string kind = run.config["graph"]["kind"];
    run.following = {"model.positions", "task.evaluation_length", "train.warmup"};
    run.settings["model.positions"] = run.config["model"]["positions"] = kind == "bpt"    ? "relations"
                                                                         : kind == "star" ? "learned"
                                                                                          : "sinusoidal";
    run.settings["task.evaluation_length"] = run.config["task"]["evaluation_length"] = kind == "bpt" ? 1024 : 512;
    run.settings["train.warmup"] = run.config["train"]["warmup"] = 4000;
  }
  const Summary summary = summarize(results);
  const std::string sentence =
      "These patterns also differ in model.positions (relations, sinusoidal), task.evaluation_length (1024, 512).";
  EXPECT_THAT(summary.findings_method(), ::testing::Contains(sentence)) << "star is not compared";
  EXPECT_THAT(to_json(summary)["findings_method"].dump(), HasSubstr(sentence));
  EXPECT_THAT(findings_text(summarize(results_of({tree, far_behind}))), Not(HasSubstr("also differ")));
}

TEST(Findings, HaveAPThatShowsOnWhichSideOfTheLevelItIs) {
  EXPECT_EQ(describe_p(0.0496), "0.0496");
  EXPECT_EQ(describe_p(0.04996), "0.04996");
  EXPECT_EQ(describe_p(0.05), "0.050");
  EXPECT_EQ(describe_p(0.0494), "0.049");
  EXPECT_EQ(describe_p(0.0004), "< 0.001");
  EXPECT_EQ(describe_p(0.25), "0.25");
}

TEST(Findings, TakeThePOfAPermutationTestWhereScoresDoNotScatter) {
  const auto equal = [](std::size_t seeds) {
    std::vector<double> low, high;
    for (std::size_t i = 0; i < seeds; ++i) {
      low.push_back(0.5 + 0.125 * static_cast<double>(i));
      high.push_back(low.back() + 0.25);
    }
    return results_of({{"bpt", 20, low}, {"window", 20, high}}, "bpt");
  };
  const Finding three = only_finding(equal(3));
  EXPECT_EQ(three.verdict, Verdict::cannot_tell);
  EXPECT_EQ(three.test->t_test.p, 0.25) << "of the eight ways to give signs to the differences two are as extreme";
  EXPECT_EQ(three.seeds_needed, 6);
  EXPECT_THAT(three.text, HasSubstr("cannot tell (p = 0.25 by permutation, since all differences are equal, 3 seeds; "
                                    "difference 0.250; about 6 seeds would tell)"));
  EXPECT_THAT(findings_text(summarize(equal(3))), HasSubstr("a t-test would be certain of anything"));
  const auto entry = to_json(summarize(equal(3)))["findings"][0];
  EXPECT_EQ(entry["test"], "permutation test");
  EXPECT_TRUE(entry["interval"].is_null());
  EXPECT_EQ(only_finding(equal(5)).verdict, Verdict::cannot_tell);
  EXPECT_EQ(only_finding(equal(6)).verdict, Verdict::ahead);
  EXPECT_EQ(only_finding(equal(6)).test->t_test.p, 1.0 / 32);
  EXPECT_FALSE(only_finding(equal(6)).test->bootstrap);

  // Not paired, for one of five has another seed.
  runner::Results apart =
      results_of({{"bpt", 20, {0.5, 0.5, 0.5}}, {"window", 20, {0.75, 0.75, 0.75, 0.75, 0.75}}}, "bpt");
  const Finding independent = only_finding(apart);
  EXPECT_NEAR(independent.test->t_test.p, 1.0 / 56, 1e-12) << "of eight scores three are of bpt";
  EXPECT_THAT(independent.text, HasSubstr("since all scores of each are equal, 3 and 5 seeds"));
}

TEST(Findings, SayThatRunsWhichFailedAreMissing) {
  runner::Results results = results_of({tree, far_behind}, "bpt");
  results.runs[0].status = runner::RunStatus::failed;
  results.runs[1].metrics["bpc"] = nullptr;
  const Finding finding = only_finding(results);
  EXPECT_THAT(finding.text, HasSubstr("3 and 5 seeds"));
  EXPECT_THAT(finding.text, HasSubstr("; without 2 runs of bpt that failed)"));
  EXPECT_EQ(finding.test->pairing, Pairing::independent);
}

TEST(Findings, CompareEveryPatternWithEveryOtherThatIsNearWithoutAFocus) {
  const Summary summary = summarize(
      results_of({{"window", 20, {0.9}}, {"mine_from_a_plugin", 21, {0.5}}, {"star", 22, {0.7}}, {"far", 80, {0.4}}}));
  EXPECT_EQ(summary.focus, "");
  ASSERT_EQ(summary.findings.size(), 3u);
  EXPECT_THAT(summary.findings[0].text, StartsWith("mine_from_a_plugin (degree 21.0): 0.500 against 0.900"))
      << "the largest difference first, told from the better one's side";
  EXPECT_EQ(summary.findings_remark(), "");
}

TEST(Findings, AreToldFromTheSideOfTheFocusWhateverItIsCalled) {
  const std::vector<Scored> patterns{{"window", 20, {0.9}}, {"mine", 21, {0.5}}, {"star", 22, {0.4}}};
  const Summary summary = summarize(results_of(patterns, "mine"));
  EXPECT_EQ(summary.focus, "mine");
  ASSERT_EQ(summary.findings.size(), 2u) << "window and star are not compared";
  for (const Finding& finding : summary.findings) EXPECT_THAT(finding.text, StartsWith("mine (degree"));
  EXPECT_THAT(summary.findings[0].text, HasSubstr("for star"));
  EXPECT_THAT(summary.findings[1].text, HasSubstr("for window"));
  EXPECT_EQ(summarize(results_of(patterns, "mine-seed1")).findings.size(), 2u) << "the name of a run";
  EXPECT_EQ(summarize(results_of(patterns, "min")).focus, "") << "half a word is no name";
  EXPECT_EQ(summarize(results_of(patterns, "absent")).findings.size(), 3u) << "a focus that was not run";
}

TEST(Findings, DoNotComparePatternsThatDifferInMoreThanTheGraphWhereOthersDoNot) {
  runner::Results results = results_of({{"window", 20, {0.9}}, {"bpt", 21, {0.5}}});
  const std::vector<runner::RunResult> first = results.runs;
  results.runs.clear();
  for (const int layers : {2, 4}) {
    for (runner::RunResult run : first) {
      run.name += std::to_string(layers);
      run.settings["model.layers"] = run.config["model"]["layers"] = layers;
      results.runs.push_back(run);
    }
  }
  const Summary grid = summarize(results);
  EXPECT_EQ(grid.findings.size(), 4u) << "two patterns of 2 layers and of 4, and each with itself: "
                                      << findings_text(grid);
  EXPECT_THAT(findings_text(grid),
              Not(HasSubstr("bpt, model.layers 2 (degree 21.0): 0.500 against 0.900 for window, model.layers 4")));
  results.runs = {results.runs[0], results.runs[3]};
  EXPECT_EQ(summarize(results).findings.size(), 1u) << "there is nothing else to compare";
}

TEST(Findings, SayThatNoTwoPatternsAreNearOnlyWhereItIsTrue) {
  const auto findings = [](const runner::Results& results) { return findings_text(summarize(results)); };
  EXPECT_EQ(findings(results_of({{"window", 20, {0.9}}, {"star", 40, {0.5}}})),
            "No two patterns have about the same degree here.\n");
  EXPECT_EQ(findings(results_of({{"window", 20, {0.9}}, {"star", 21, {0.5}}, {"bpt", 40, {0.5}}}, "bpt")),
            "No other pattern has about the same degree as bpt here.\n");
  EXPECT_THAT(findings(results_of({{"window", 20, {0.9}}, {"star", 21, {0.5}}, {"bpt", 40, {0.5}}})),
              HasSubstr("star (degree 21.0)"));
}

TEST(Findings, ComparePatternsThatAreMadeOfOtherPatterns) {
  runner::Results results = results_of({{"window", 20, {0.9}}});
  const auto both = [](const nlohmann::json& one) {
    return nlohmann::json({{"kind", "union"}, {"of", {one, {{"kind", "window"}, {"width", 2}}}}});
  };
  results.runs.push_back(runner::sample_run(both({{"kind", "bpt"}, {"k", 1}}), 1, 21, 0.5));
  results.runs.push_back(runner::sample_run(both({{"kind", "star"}}), 2, 21, 0.6));
  const Summary summary = summarize(results);
  ASSERT_EQ(summary.points.size(), 3u);
  EXPECT_EQ(summary.points[1].label, "union(bpt-k1+window-width2)");
  EXPECT_EQ(summary.points[1].kind, "union(bpt+window)");
  EXPECT_EQ(summary.findings.size(), 3u) << findings_text(summary);
}

TEST(Findings, AreInTheSummaryForPrograms) {
  const nlohmann::json file = to_json(summarize(results_of({tree, far_behind, {"star", 22, {0.5, 0.6}}}, "bpt")));
  ASSERT_EQ(file["findings"].size(), 2u);
  const nlohmann::json &open = file["findings"][0], &decided = file["findings"][1];
  EXPECT_EQ(decided["verdict"], "ahead");
  EXPECT_EQ(decided["one"], "bpt");
  EXPECT_EQ(decided["other"], "window");
  EXPECT_EQ(decided["test"], "paired t-test");
  EXPECT_LT(decided["p"], 0.001);
  EXPECT_EQ(decided["corrected_p"], decided["p"]);
  EXPECT_NEAR(decided["difference"].get<double>(), 0.195, 1e-12);
  EXPECT_LT(decided["interval"][0], decided["difference"]);
  EXPECT_EQ(decided["seeds"], nlohmann::json({5, 5}));
  EXPECT_TRUE(decided["seeds_needed"].is_null());
  EXPECT_EQ(open["verdict"], "cannot tell");
  EXPECT_TRUE(open["p"].is_null());
  EXPECT_EQ(open["seeds_needed"], 3);
  EXPECT_EQ(file["comparisons_tested"], 1);
}

}  // namespace
}  // namespace bough::report
