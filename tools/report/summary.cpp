#include "tools/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "tools/report/points.h"

namespace bough::report {
namespace {

using nlohmann::json;

struct Comparison {
  const Point* one;
  const Point* other;
  Finding finding;
  double difference;  ///< of the means, absolute
};

bool is_better(const Point& one, const Point& other, bool lower_is_better) {
  const double difference = other.metric.mean - one.metric.mean;
  return lower_is_better ? difference > 0 : difference < 0;
}

Comparison compare(const Point& one, const Point& other, bool lower_is_better) {
  Comparison result{&one, &other, {}, std::abs(other.metric.mean - one.metric.mean)};
  Finding& finding = result.finding;
  finding.ahead = is_better(one, other, lower_is_better);
  const bool several_seeds = one.metric.count > 1 && other.metric.count > 1;
  finding.clear = several_seeds && result.difference > one.metric.deviation + other.metric.deviation;
  finding.text = fmt::format("{} (degree {:.1f}): {} against {} for {} (degree {:.1f}): {}{}", one.label, one.degree,
                             with_deviation(one.metric, 3), with_deviation(other.metric, 3), other.label, other.degree,
                             finding.ahead ? "better" : "not better",
                             finding.clear   ? ""
                             : several_seeds ? ", by less than the seeds scatter"
                                             : ", which one seed alone cannot tell");
  return result;
}

/// "bpt" and "bpt-k4" begin "bpt-k4-seed1"; "bpt-k" and "bp" do not: a name ends where a word does.
bool begins_with_name(const std::string& text, const std::string& name) {
  return text.starts_with(name) &&
         (text.size() == name.size() || std::isalnum(static_cast<unsigned char>(text[name.size()])) == 0);
}

bool in_focus(const Point& point, const std::string& focus) {
  const auto named = [&](const std::string& name) { return begins_with_name(name, focus); };
  return point.kind == focus || named(point.label) || std::ranges::any_of(point.runs, named);
}

/// For each pattern that `candidate` lets through the point nearest to `one` in degree, if it is near.
template <typename Candidate>
std::vector<const Point*> nearest_of_each_pattern(const Point& one, const std::vector<Point>& points,
                                                  const Candidate& candidate) {
  const auto distance = [&](const Point& other) { return std::abs(std::log(other.degree / one.degree)); };
  std::map<std::string, const Point*> nearest;
  for (const Point& other : points) {
    if (other.length != one.length || other.pattern == one.pattern || !candidate(other)) continue;
    if (!(distance(other) <= std::log(same_degree))) continue;
    const Point*& best = nearest[other.pattern];
    if (best == nullptr || distance(other) < distance(*best)) best = &other;
  }
  std::vector<const Point*> result;
  for (const auto& [pattern, other] : nearest) result.push_back(other);
  return result;
}

std::vector<Comparison> compare_with_focus(const std::vector<Point>& points, const std::string& focus,
                                           bool lower_is_better) {
  std::vector<Comparison> all;
  const auto is_other = [&](const Point& point) { return !in_focus(point, focus); };
  for (const Point& one : points) {
    if (is_other(one)) continue;
    for (const Point* other : nearest_of_each_pattern(one, points, is_other)) {
      all.push_back(compare(one, *other, lower_is_better));
    }
  }
  return all;
}

std::vector<Comparison> compare_all_pairs(const std::vector<Point>& points, bool lower_is_better) {
  std::set<std::pair<const Point*, const Point*>> pairs;
  for (const Point& one : points) {
    for (const Point* other : nearest_of_each_pattern(one, points, [](const Point&) { return true; })) {
      pairs.insert(std::minmax(&one, other));
    }
  }
  std::vector<Comparison> all;
  for (const auto& [one, other] : pairs) {
    const bool swapped = is_better(*other, *one, lower_is_better);
    all.push_back(compare(swapped ? *other : *one, swapped ? *one : *other, lower_is_better));
  }
  return all;
}

/// Compares points of different patterns that are near in degree, at most most_findings of them.
void find(Summary& summary, bool lower_is_better, const std::string& focus) {
  const std::vector<Point>& points = summary.points;
  const auto focused = std::ranges::count_if(points, [&](const Point& point) { return in_focus(point, focus); });
  if (!focus.empty() && focused > 0 && focused < std::ssize(points)) summary.focus = focus;
  std::vector<Comparison> all = summary.focus.empty() ? compare_all_pairs(points, lower_is_better)
                                                      : compare_with_focus(points, focus, lower_is_better);
  std::ranges::stable_sort(all, [](const Comparison& a, const Comparison& b) {
    return std::tie(a.finding.clear, a.difference) > std::tie(b.finding.clear, b.difference);
  });
  if (all.size() > most_findings) {
    summary.findings_left_out = all.size() - most_findings;
    all.resize(most_findings, all.front());
  }
  // Points are sorted by length and degree.
  if (!summary.focus.empty()) {
    std::ranges::stable_sort(all, {}, [](const Comparison& a) { return std::pair(a.one, a.other->pattern); });
  }
  const bool several_lengths = summary.lengths().size() > 1;
  for (Comparison& comparison : all) {
    Finding& finding = summary.findings.emplace_back(std::move(comparison.finding));
    if (several_lengths) finding.text = fmt::format("length {}: {}", comparison.one->length, finding.text);
  }
}

}  // namespace

Statistic statistic_of(const std::vector<double>& values) {
  Statistic result{.mean = 0, .deviation = 0, .count = static_cast<int>(values.size())};
  if (values.empty()) return result;
  for (const double value : values) result.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

std::string with_deviation(const Statistic& value, int decimals) {
  return value.count > 1 ? fmt::format("{:.{}f} ± {:.{}f}", value.mean, decimals, value.deviation, decimals)
                         : fmt::format("{:.{}f}", value.mean, decimals);
}

std::vector<std::int64_t> Summary::lengths() const {
  std::set<std::int64_t> lengths;
  for (const Point& point : points) lengths.insert(point.length);
  return {lengths.begin(), lengths.end()};
}

std::vector<std::string> Summary::kinds() const {
  std::vector<std::string> kinds;
  const auto add = [&kinds](const Point& point) {
    if (std::ranges::find(kinds, point.kind) == kinds.end()) kinds.push_back(point.kind);
  };
  for (const Point& point : points) {
    if (!focus.empty() && in_focus(point, focus)) add(point);
  }
  std::ranges::for_each(points, add);
  return kinds;
}

std::vector<std::string> Summary::times_remarks() const {
  std::map<std::string, std::vector<std::string>> names_of;
  for (const Point& point : points) {
    if (point.times != Times::comparable) names_of[point.times_remark].push_back(point.name);
  }
  std::vector<std::string> remarks;
  for (const auto& [reason, names] : names_of) {
    const std::string whose = names.size() == points.size() ? "these runs"
                              : names.size() > 3            ? fmt::format("{} settings", names.size())
                                                            : fmt::format("{}", fmt::join(names, " and "));
    remarks.push_back(fmt::format("Times of {} cannot be compared: {}.", whose, reason));
  }
  return remarks;
}

std::string Summary::findings_remark() const {
  if (findings_left_out > 0) {
    return fmt::format("{} more comparison{} at about the same degree {} left out.", findings_left_out,
                       findings_left_out == 1 ? "" : "s", findings_left_out == 1 ? "is" : "are");
  }
  if (!findings.empty()) return "";
  const char* where = lengths().size() > 1 ? " at the same length" : "";
  return focus.empty() ? fmt::format("No two patterns have about the same degree{} here.", where)
                       : fmt::format("No other pattern has about the same degree as {}{} here.", focus, where);
}

Summary summarize(runner::Results results) {
  Summary summary;
  summary.points = points_of(results);
  const json focus = results.experiment.is_object() ? results.experiment.value("focus", json("")) : json("");
  find(summary, results.metric.lower_is_better, focus.is_string() ? focus.get<std::string>() : "");
  summary.results = std::move(results);
  return summary;
}

runner::Results combine(std::vector<runner::Results> all) {
  if (all.empty()) throw ConfigError("compare", "at least one folder with results is needed");
  runner::Results result = all.front();
  result.runs.clear();
  result.name.clear();
  result.command.clear();
  result.note.clear();
  result.pictures.clear();
  std::map<std::string, int> uses;
  for (const runner::Results& one : all) {
    if (one.metric.name != result.metric.name) {
      throw ConfigError("compare", fmt::format("'{}' is scored by {}, '{}' by {}: they cannot share a plot",
                                               all.front().name, result.metric.name, one.name, one.metric.name));
    }
    const int number = ++uses[one.name];
    const std::string name = number == 1 ? one.name : fmt::format("{} {}", one.name, number);
    result.name += (result.name.empty() ? "" : " and ") + name;
    result.command += (result.command.empty() ? "" : "\n") + one.command;
    if (!one.note.empty()) result.note += fmt::format("{}{}: {}", result.note.empty() ? "" : "; ", name, one.note);
    for (runner::RunResult run : one.runs) {
      run.name = fmt::format("{}: {}", name, run.name);
      run.settings["experiment"] = name;
      result.runs.push_back(std::move(run));
    }
    for (const runner::GraphPicture& picture : one.pictures) {
      if (result.picture_of(picture.graph) == nullptr) result.pictures.push_back(picture);
    }
    for (const runner::Bound& bound : one.bounds) {
      const bool known = std::ranges::any_of(result.bounds, [&](const auto& b) { return b.name == bound.name; });
      if (!known) result.bounds.push_back(bound);
    }
  }
  return result;
}

}  // namespace bough::report
