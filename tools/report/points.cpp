#include "tools/report/points.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace bough::report {
namespace {

using nlohmann::json;
using Runs = std::vector<const runner::RunResult*>;

/// The configuration without its seed: what runs of one point share.
json without_seed(json config) {
  if (config.contains("train")) config["train"].erase("seed");
  return config;
}

/// Patterns that a pattern is made of, wherever its parameters hold them.
std::vector<json> parts_of(const json& graph) {
  std::vector<json> parts;
  const auto take = [&parts](const json& value) {
    if (value.is_object() && value.contains("kind")) parts.push_back(value);
  };
  for (const auto& [key, value] : graph.items()) {
    take(value);
    if (value.is_array()) std::ranges::for_each(value, take);
  }
  return parts;
}

std::string in_brackets(const json& graph, std::string (*name)(const json&)) {
  std::vector<std::string> names;
  for (const json& part : parts_of(graph)) names.push_back(name(part));
  return names.empty() ? "" : fmt::format("({})", fmt::join(names, "+"));
}

std::string kind_of(const json& graph) { return graph.value("kind", "?") + in_brackets(graph, kind_of); }

/// "bpt-k4", "union(bpt-k4+window-width8)".
std::string name_of(const json& graph) {
  if (parts_of(graph).empty()) {
    const std::string plain = runner::describe_setting("graph", graph);
    if (!plain.empty()) return plain;
  }
  json scalars = graph;
  for (const auto& [key, value] : graph.items()) {
    if (value.is_structured()) scalars.erase(key);
  }
  const std::string name = runner::describe_setting("graph", scalars);
  return (name.empty() ? "?" : name) + in_brackets(graph, name_of);
}

/// What the sweep sets beside graph and seed; the length always.
json settings_of(const runner::RunResult& run) {
  json settings = json::object();
  for (const auto& [path, value] : run.settings.items()) {
    if (path != "graph" && !path.starts_with("graph.") && path != "train.seed") settings[path] = value;
  }
  settings[length_path] = run.facts.length;
  return settings;
}

/// All but the length, which labels name only where there are several.
std::string other_settings(const json& settings) {
  std::string text;
  for (const auto& [path, value] : settings.items()) {
    if (path != length_path) text += ", " + describe_value(path, value);
  }
  return text;
}

/// Machines on which most runs were timed, the first of several: times of others are not compared with theirs.
json usual_machines(const runner::Results& results) {
  std::vector<std::pair<json, int>> counts;
  for (const runner::RunResult& run : results.runs) {
    if (run.status != runner::RunStatus::done) continue;
    const auto known = std::ranges::find(counts, run.machines, &std::pair<json, int>::first);
    known == counts.end() ? void(counts.emplace_back(run.machines, 1)) : void(++known->second);
  }
  const auto most = std::ranges::max_element(counts, {}, &std::pair<json, int>::second);
  return most == counts.end() ? json::array() : most->first;
}

/// What one run says of its own times.
struct TimesVerdict {
  Times times = Times::comparable;
  std::string remark = {};
};

TimesVerdict judge_times(const runner::RunResult& run, const json& usual) {
  if (!run.times_left_out.empty()) return {Times::left_out, run.times_left_out};
  if (run.waited_share.value_or(0) > busy_share) {
    return {Times::doubtful,
            fmt::format("the machine was busy, they waited for more than {:.0f}% of the processor time that they "
                        "could have used",
                        100 * busy_share)};
  }
  if (run.machines.size() > 1) return {Times::doubtful, "they were begun on one machine and resumed on another"};
  if (run.machines != usual) {
    const auto part = [](const json& machines, const char* key) {
      return machines.empty() ? json() : machines.front().value(key, json());
    };
    const bool only_threads = part(run.machines, "processor") == part(usual, "processor") &&
                              part(run.machines, "threads") != part(usual, "threads");
    return {Times::doubtful, only_threads
                                 ? fmt::format("they had {} threads where most had {}",
                                               part(run.machines, "threads").dump(), part(usual, "threads").dump())
                                 : "they ran on another machine or with another build than most"};
  }
  return {};
}

Point point_of(const Runs& runs, const std::string& metric, const json& usual) {
  const runner::RunResult& first = *runs.front();
  const json graph = first.config.value("graph", json::object()), settings = settings_of(first);
  const std::string rest = other_settings(settings);
  Point point{.label = name_of(graph) + rest,
              .name = {},
              .kind = kind_of(graph),
              .pattern = kind_of(graph) + rest,
              .graph = graph,
              .config = without_seed(first.config),
              .settings = settings,
              .degree = first.facts.attention_degree,
              .length = first.facts.length,
              .num_edges = first.facts.num_edges,
              .num_nodes = first.facts.num_nodes,
              .parameters = first.facts.parameters};
  point.name = point.label;
  // Times of the runs that can be compared; of all, marked, if there are none.
  Runs timed;
  for (const runner::RunResult* run : runs) {
    point.runs.push_back(run->name);
    if (judge_times(*run, usual).times == Times::comparable) timed.push_back(run);
  }
  if (timed.empty()) {
    timed = runs;
    const TimesVerdict verdict = judge_times(first, usual);
    point.times = verdict.times;
    point.times_remark = verdict.remark;
  }
  const auto over = [](const Runs& seeds, const auto& value) {
    std::vector<double> values;
    for (const runner::RunResult* run : seeds) values.push_back(static_cast<double>(value(*run)));
    return statistic_of(values);
  };
  point.metric = over(runs, [&](const auto& run) { return runner::metric_of(run, metric); });
  point.memory_bytes = over(runs, [](const auto& run) { return run.peak_memory_bytes; });
  point.tokens_per_second = over(timed, [](const auto& run) { return run.tokens_per_second; });
  point.train_seconds = over(timed, [](const auto& run) { return run.train_seconds; });
  return point;
}

}  // namespace

std::string describe_value(const std::string& path, const json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return path == "experiment" ? text : fmt::format("{} {}", path, text);
}

std::vector<Point> points_of(const runner::Results& results) {
  std::map<std::string, Runs> groups;
  for (const runner::RunResult& run : results.runs) {
    const bool scored = std::isfinite(runner::metric_of(run, results.metric.name));
    if (run.status != runner::RunStatus::done || !scored) continue;
    groups[without_seed(run.config).dump() + run.settings.value("experiment", "")].push_back(&run);
  }
  const json usual = usual_machines(results);
  std::vector<Point> points;
  std::set<std::int64_t> lengths;
  for (const auto& [key, runs] : groups) {
    points.push_back(point_of(runs, results.metric.name, usual));
    lengths.insert(points.back().length);
  }
  std::ranges::sort(points, [](const Point& a, const Point& b) {
    return std::tie(a.length, a.degree, a.label) < std::tie(b.length, b.degree, b.label);
  });
  for (Point& point : points) {
    if (lengths.size() < 2) break;
    point.name += fmt::format(", length {}", point.length);
    point.pattern += fmt::format(", length {}", point.length);
  }
  return points;
}

}  // namespace bough::report
