#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tasks/runner/results.h"

/// What a report says, worked out from results.json and nothing else.
namespace bough::report {

/// Of runs that differ in nothing but the seed.
struct Statistic {
  double mean = 0;
  double deviation = 0;  ///< sample standard deviation; 0 for a single run
  int count = 0;
};
Statistic statistic_of(const std::vector<double>& values);
/// "0.7000 ± 0.0283" with that many decimals, or "0.7000" for a single run.
std::string with_deviation(const Statistic& value, int decimals);

/// Whether times of a setting can stand beside those of the others.
enum class Times {
  comparable,
  doubtful,  ///< the machine was busy, or another one: shown with a mark, in no plot
  left_out,  ///< on request: not shown
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
  double degree = 0;
  std::int64_t length = 0, num_edges = 0, num_nodes = 0, parameters = 0;
  Statistic metric = {}, memory_bytes = {};
  /// Over runs whose times can be compared, if there are any.
  Statistic tokens_per_second = {}, train_seconds = {};
  Times times = Times::comparable;
  std::string times_remark = {};       ///< why they cannot be compared
  std::vector<std::string> runs = {};  ///< their names
};

/// Above this share of its processor time a run has had to wait so much that its times say little.
inline constexpr double busy_share = 0.05;

/// How one pattern does against another at about the same degree.
struct Finding {
  std::string text;
  bool ahead = false;  ///< the pattern that the text names first has the better mean
  bool clear = false;  ///< the means are further apart than the deviations together
};

/// Findings in a report; further ones are counted only.
inline constexpr std::size_t most_findings = 12;

struct Summary {
  runner::Results results;
  std::vector<Point> points;  ///< of runs that are done and have a score, by length, then degree
  /// What the experiment names as its "focus", if there are both points of it and others. Findings are then told from
  /// its side, by degree; otherwise all pairs of patterns are compared, the better one is named first and the clearest
  /// findings come first.
  std::string focus;
  std::vector<Finding> findings;        ///< most_findings at most
  std::size_t findings_left_out = 0;    ///< further ones
  std::string findings_remark() const;  ///< that some were left out, or that there are none; empty otherwise
  /// Why times of some settings cannot be compared, one sentence for each reason.
  std::vector<std::string> times_remarks() const;

  std::vector<std::int64_t> lengths() const;  ///< all different ones, ascending
  /// All different kinds of patterns, those of the focus first: the order and the colours of every plot.
  std::vector<std::string> kinds() const;
};

Summary summarize(runner::Results results);

/// Several results as one: runs are told apart by the name of their experiment. ConfigError unless all have the same
/// metric.
runner::Results combine(std::vector<runner::Results> all);

}  // namespace bough::report
