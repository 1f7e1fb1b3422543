#include "tools/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "tools/report/findings.h"
#include "tools/report/points.h"

namespace bough::report {

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

bool Summary::has_last_scores() const {
  return std::ranges::any_of(points, [](const Point& point) {
    return point.last_metric.count > 0 && point.last_metric.mean != point.metric.mean;
  });
}

std::string Summary::best_in_words() const {
  std::set<std::string> numbers;
  for (const runner::RunResult& run : results.runs) {
    if (run.status == runner::RunStatus::done) numbers.insert(run.best_by.empty() ? results.metric.name : run.best_by);
  }
  const bool by_metric = numbers.empty() || (numbers.size() == 1 && numbers.contains(results.metric.name));
  return "best on the validation data" + (by_metric ? "" : fmt::format(" by {}", fmt::join(numbers, " or ")));
}

bool Summary::has_macro_f1() const {
  return results.metric.name != "macro_f1" &&
         std::ranges::any_of(points, [](const Point& point) { return point.macro_f1.count > 0; });
}

Summary summarize(runner::Results results) {
  Summary summary;
  summary.points = points_of(results);
  summary.results = std::move(results);
  add_findings(summary);
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
    for (const runner::Reference& reference : one.references) {
      if (std::ranges::count(result.references, reference) == 0) result.references.push_back(reference);
    }
  }
  return result;
}

}  // namespace bough::report
