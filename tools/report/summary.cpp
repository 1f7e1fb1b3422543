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

bool have_same_test_data(const Point& one, const Point& other) {
  const bool hashed = one.test_data.contains("hash") && other.test_data.contains("hash");
  return std::ranges::all_of(one.test_data.items(), [&](const auto& entry) {
    if (hashed && entry.key() == "file") return true;
    const auto same = other.test_data.find(entry.key());
    return same == other.test_data.end() || *same == entry.value();
  });
}

bool Summary::has_one_test_set() const {
  return std::ranges::all_of(points, [&](const Point& one) {
    return std::ranges::all_of(points, [&](const Point& other) { return have_same_test_data(one, other); });
  });
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

std::vector<runner::Metric> Summary::further_metrics() const {
  std::vector<runner::Metric> shown;
  for (const runner::Metric& metric : results.further_metrics) {
    const auto has = [&](const Point& point) { return point.further_metrics.contains(metric.name); };
    if (metric.name != results.metric.name && std::ranges::any_of(points, has)) shown.push_back(metric);
  }
  return shown;
}

Summary summarize(runner::Results results) {
  Summary summary;
  summary.points = points_of(results);
  summary.results = std::move(results);
  add_findings(summary);
  return summary;
}

namespace {

/// Empty if no run tells.
std::string task_of(const runner::Results& results) {
  for (const runner::RunResult& run : results.runs) {
    const auto kind = nlohmann::json::json_pointer("/task/kind");
    if (run.config.contains(kind) && run.config[kind].is_string()) return run.config[kind];
  }
  return "";
}

/// Whether the scores of both mean the same.
void require_comparable(const runner::Results& one, const runner::Results& other) {
  if (one.metric.name != other.metric.name) {
    throw ConfigError("compare", fmt::format("'{}' is scored by {}, '{}' by {}: they cannot share a plot", one.name,
                                             one.metric.name, other.name, other.metric.name));
  }
  const std::string task = task_of(one), other_task = task_of(other);
  if (task.empty() || other_task.empty() || task == other_task) return;
  throw ConfigError("compare",
                    fmt::format("'{}' is an experiment of the task {}, '{}' of {}: though both are scored by "
                                "{}, their scores cannot share a plot; compare those of one task",
                                one.name, task, other.name, other_task, one.metric.name));
}

}  // namespace

runner::Results combine(std::vector<runner::Results> all) {
  if (all.empty()) throw ConfigError("compare", "at least one folder with results is needed");
  runner::Results result = all.front();
  result.runs.clear();
  result.name.clear();
  result.command.clear();
  result.note.clear();
  result.pictures.clear();
  result.description.clear();
  result.host = nlohmann::json();
  result.joined.clear();
  std::map<std::string, int> uses;
  for (const runner::Results& one : all) {
    require_comparable(all.front(), one);
    const int number = ++uses[one.name];
    const std::string name = number == 1 ? one.name : fmt::format("{} {}", one.name, number);
    result.name += (result.name.empty() ? "" : " and ") + name;
    result.command += (result.command.empty() ? "" : "\n") + one.command;
    result.joined.push_back(
        {.name = name, .description = one.description, .experiment = one.experiment, .host = one.host});
    for (const runner::Metric& metric : one.further_metrics) {
      if (std::ranges::count(result.further_metrics, metric.name, &runner::Metric::name) == 0) {
        result.further_metrics.push_back(metric);
      }
    }
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
      const auto same_name = std::ranges::find(result.bounds, bound.name, &runner::Bound::name);
      if (same_name == result.bounds.end()) {
        result.bounds.push_back(bound);
      } else if (same_name->value != bound.value) {
        result.bounds.push_back({.name = fmt::format("{}, {}", bound.name, name), .value = bound.value});
      }
    }
    for (const runner::Reference& reference : one.references) {
      if (std::ranges::count(result.references, reference) == 0) result.references.push_back(reference);
    }
  }
  return result;
}

}  // namespace bough::report
