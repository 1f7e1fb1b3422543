#pragma once

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

/// One setting, over its seeds.
struct Point {
  std::string label;    ///< "bpt-k4"
  std::string pattern;  ///< "bpt", and what else is swept, the length too: the points of one pattern make a line
  nlohmann::json graph;
  double degree = 0;
  std::int64_t length = 0, num_edges = 0, num_nodes = 0, parameters = 0;
  Statistic metric, tokens_per_second, train_seconds, memory_bytes;
  std::vector<std::string> runs;  ///< their names
};

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

  std::vector<std::int64_t> lengths() const;  ///< all different ones, ascending
};

Summary summarize(runner::Results results);

/// Several results as one: runs are told apart by the name of their experiment. ConfigError unless all have the same
/// metric.
runner::Results combine(std::vector<runner::Results> all);

}  // namespace bough::report
