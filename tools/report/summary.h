#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tasks/runner/results.h"
#include "tools/report/classification.h"
#include "tools/report/significance.h"
#include "tools/report/statistic.h"

/// What a report says, worked out from results.json and nothing else.
namespace bough::report {

/// Whether times of a setting can stand beside those of the others.
enum class Times {
  comparable,
  doubtful,  ///< the machine was busy, or another one: shown with a mark, in no plot
  left_out,  ///< on request: not shown
};

struct SeedScore {
  nlohmann::json seed;  ///< null if the run does not tell
  double score = 0;
};

/// One setting, over its seeds.
struct Point {
  std::string label;    ///< "bpt-k4", and what else is swept, but for the length
  std::string name;     ///< the label, with the length where there are several
  std::string kind;     ///< of its pattern: "bpt", "union(bpt+window)"
  std::string pattern;  ///< the kind, and what else is swept, the length too: the points of one pattern make a line
  nlohmann::json graph;
  nlohmann::json config;  ///< of its runs, without the seed
  /// What the sweep sets beside graph and seed, by path, the length included: {"model.layers": 4, "task.length": 512}.
  nlohmann::json settings;
  /// Paths of what the sweep sets with them by a zip, so that labels need not tell: "model.positions" of a graph.
  std::vector<std::string> following = {};
  /// What its runs were scored on, as far as they tell: {"file": "test.tsv", "hash": ..., "format": ...}.
  nlohmann::json test_data;
  double degree = 0;
  std::int64_t length = 0, num_edges = 0, num_nodes = 0, parameters = 0;
  /// Test scores of the checkpoints that were best on the validation data, and of those after the last step; of the
  /// latter and of best_step there are none in results of earlier versions.
  Statistic metric = {}, last_metric = {};
  Statistic best_step = {};
  std::map<std::string, Statistic> further_metrics = {};  ///< of Results, by name, those that all runs have
  Classification classification = {};
  std::vector<SeedScore> scores = {};  ///< what `metric` is made of, in the order of `runs`
  int runs_without_score = 0;          ///< further runs of this setting that failed or have no finite score
  Statistic memory_bytes = {};
  /// Over runs whose times can be compared, if there are any.
  Statistic tokens_per_second = {}, train_seconds = {};
  Times times = Times::comparable;
  std::string times_remark = {};       ///< why they cannot be compared
  std::vector<std::string> runs = {};  ///< their names
  std::vector<Times> run_times = {};   ///< of each of them

  /// memory_bytes in millions.
  Statistic megabytes() const { return {memory_bytes.mean / 1e6, memory_bytes.deviation / 1e6, memory_bytes.count}; }
};

/// Whether both were scored on the same data. What one of them does not tell is not compared, and the name of a file
/// only where no hash says what is in it.
bool have_same_test_data(const Point& one, const Point& other);

/// Above this share of its processor time a run has had to wait so much that its times say little.
inline constexpr double busy_share = 0.05;
/// The same for the share of the machine that other programs used: they take caches and clock rate as well as time.
inline constexpr double other_busy_share = 0.1;

/// What the runs say of one pattern against another.
enum class Verdict { ahead, behind, cannot_tell };

/// How sure a comparison is.
struct FindingTest {
  Pairing pairing = Pairing::independent;
  TTest t_test = {};  ///< its difference is positive where the pattern that is named first is better
  /// Scores do not scatter at all, of which a t-test can say nothing: its p is replaced by that of a permutation test.
  bool permuted = false;
  double corrected_p = 1;                  ///< by Holm's method, for all comparisons that were tested
  std::optional<Interval> bootstrap = {};  ///< from least_for_bootstrap seeds of each on
};

/// How one pattern does against another at about the same degree.
struct Finding {
  std::string text = {};
  std::size_t one = 0, other = 0;  ///< of Summary::points; the text names `one` first
  /// ahead or behind where the corrected p is below significance_level.
  Verdict verdict = Verdict::cannot_tell;
  std::optional<FindingTest> test = {};  ///< nothing with fewer than least_seeds of either
  /// Where the verdict is cannot_tell, how many of each would probably tell (measurements_needed at the level that is
  /// left for this comparison), or least_seeds where there are fewer; most_measurements + 1 stands for more than that.
  std::optional<int> seeds_needed = {};
};

/// No claim is made from fewer seeds of either pattern, and none with a larger p.
inline constexpr int least_seeds = 3;
inline constexpr double significance_level = 0.05;

/// Findings in a report; further ones are counted only.
inline constexpr std::size_t most_findings = 12;

struct Summary {
  runner::Results results;
  std::vector<Point> points;  ///< of runs that are done and have a score, by length, then degree
  /// What the experiment names as its "focus", if there are both points of it and others. Findings are then told from
  /// its side, by degree; otherwise all pairs of patterns are compared, the better one is named first, and differences
  /// that are significant come first, then the larger ones.
  std::string focus;
  std::vector<Finding> findings;        ///< most_findings at most
  std::size_t findings_left_out = 0;    ///< further ones
  std::size_t tested = 0;               ///< comparisons that have a p value, those that are left out too
  std::string findings_remark() const;  ///< that some were left out, or that there are none; empty otherwise
  /// Which tests were made, how they were corrected, and what they do not tell, one sentence each; empty without
  /// findings.
  std::vector<std::string> findings_method() const;
  /// Why times of some settings cannot be compared, one sentence for each reason.
  std::vector<std::string> times_remarks() const;

  bool has_one_test_set() const;              ///< whether all points were scored on the same data
  std::vector<std::int64_t> lengths() const;  ///< all different ones, ascending
  /// All different kinds of patterns, those of the focus first: the order and the colours of every plot.
  std::vector<std::string> kinds() const;
  /// Whether the best checkpoint of some run is another one than its last, with another score.
  bool has_last_scores() const;
  /// What decided which checkpoints were tested: "best on the validation data", by which number if not by the metric.
  std::string best_in_words() const;
  /// What is shown beside the metric: further metrics of the results that some point has.
  std::vector<runner::Metric> further_metrics() const;
};

Summary summarize(runner::Results results);

/// Several results as one: runs are told apart by the name of their experiment, and `joined` has what each of them says
/// of itself. The focus is that of the first. ConfigError unless all have the same metric and the same task.
runner::Results combine(std::vector<runner::Results> all);

}  // namespace bough::report
