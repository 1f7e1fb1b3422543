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

/// What the sweep sets beside graph and seed; the length always. What follows from other settings by a zip is left out:
/// points that differ in a length and its learning rate make one line against the length.
json settings_of(const runner::RunResult& run) {
  json settings = json::object();
  for (const auto& [path, value] : run.settings.items()) {
    const bool follows = std::ranges::find(run.following, path) != run.following.end();
    if (path != "graph" && !path.starts_with("graph.") && path != "train.seed" && !follows) settings[path] = value;
  }
  settings[length_path] = run.facts.length;
  return settings;
}

/// Those that are left out, but for what settings tell anyway.
std::vector<std::string> following_of(const runner::RunResult& run) {
  std::vector<std::string> paths;
  for (const std::string& path : run.following) {
    const bool is_told = path == "graph" || path.starts_with("graph.") || path == "train.seed" || path == length_path;
    if (!is_told) paths.push_back(path);
  }
  return paths;
}

/// All but the length, which labels name only where there are several.
std::string other_settings(const json& settings) {
  std::string text;
  for (const auto& [path, value] : settings.items()) {
    if (path != length_path) text += ", " + describe_value(path, value);
  }
  return text;
}

/// The machines of a run, each once. How busy they were is told by the time that the run waited for.
json machines_of(const runner::RunResult& run) {
  json machines = json::array();
  for (json machine : run.machines) {
    if (machine.is_object()) machine.erase("load");
    if (std::ranges::find(machines, machine) == machines.end()) machines.push_back(std::move(machine));
  }
  return machines;
}

/// Machines on which most runs were timed, the first of several: times of others are not compared with theirs.
json usual_machines(const runner::Results& results) {
  std::vector<std::pair<json, int>> counts;
  for (const runner::RunResult& run : results.runs) {
    if (run.status != runner::RunStatus::done) continue;
    const auto known = std::ranges::find(counts, machines_of(run), &std::pair<json, int>::first);
    known == counts.end() ? void(counts.emplace_back(machines_of(run), 1)) : void(++known->second);
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
  if (run.other_share.value_or(0) > other_busy_share) {
    return {Times::doubtful,
            fmt::format("the machine was busy, other programs used more than {:.0f}% of it", 100 * other_busy_share)};
  }
  const json own = machines_of(run);
  if (own.size() > 1) {
    return {Times::doubtful, "they were begun on one machine or with one build and resumed on another"};
  }
  if (own != usual) {
    const auto part = [](const json& machines, const char* key) {
      return machines.empty() ? json() : machines.front().value(key, json());
    };
    const bool only_threads =
        part(own, "processor") == part(usual, "processor") && part(own, "threads") != part(usual, "threads");
    return {Times::doubtful, only_threads ? fmt::format("they had {} threads where most had {}",
                                                        part(own, "threads").dump(), part(usual, "threads").dump())
                                          : "they ran on another machine or with another build than most"};
  }
  return {};
}

/// The score after the last step; NaN if the run does not tell.
double last_metric_of(const runner::RunResult& run, const std::string& name) {
  const json value = run.last_metrics.is_object() ? run.last_metrics.value(name, json()) : json();
  return value.is_number() ? value.get<double>() : std::nan("");
}

/// The part of a task's settings that says what it is scored on, files with the hash of what is in them.
json test_data_of(const runner::RunResult& run) {
  const json task = run.config.value("task", json::object());
  const json corpus = task.is_object() ? task.value("corpus", json()) : json();
  const json& source = corpus.is_object() ? corpus : task;
  json result = json::object();
  if (!source.is_object()) return result;
  std::vector<const char*> keys{"kind", "format", "reads", "test_characters"};
  const char* file = "test";
  if (corpus.is_object()) {
    const bool has_own_file = corpus.value("test_path", json("")) != json("");
    file = has_own_file ? "test_path" : "path";
    if (!has_own_file) keys.insert(keys.end(), {"held_out", "characters"});
  }
  for (const char* key : keys) {
    if (source.contains(key)) result[key] = source[key];
  }
  if (const json name = source.value(file, json()); name.is_string()) {
    result["file"] = name;
    const auto known = std::ranges::find(run.inputs.data_files, name.get<std::string>(), &runner::DataFile::name);
    if (known != run.inputs.data_files.end()) result["hash"] = known->hash;
  }
  return result;
}

Point point_of(const Runs& runs, const runner::Results& results, const json& usual) {
  const std::string& metric = results.metric.name;
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
              .following = following_of(first),
              .test_data = test_data_of(first),
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
    point.run_times.push_back(judge_times(*run, usual).times);
    point.scores.push_back({.seed = run->config.value(json::json_pointer("/train/seed"), json()),
                            .score = runner::metric_of(*run, metric)});
    if (point.run_times.back() == Times::comparable) timed.push_back(run);
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
  const bool tells_last =
      std::ranges::all_of(runs, [&](const auto* run) { return std::isfinite(last_metric_of(*run, metric)); });
  if (tells_last) point.last_metric = over(runs, [&](const auto& run) { return last_metric_of(run, metric); });
  for (const runner::Metric& further : results.further_metrics) {
    const auto score = [&](const runner::RunResult& run) { return runner::metric_of(run, further.name); };
    const bool all_tell = std::ranges::all_of(runs, [&](const auto* run) { return std::isfinite(score(*run)); });
    if (all_tell) point.further_metrics[further.name] = over(runs, score);
  }
  point.classification = classification_of(runs);
  const bool tells_best = std::ranges::all_of(runs, [](const auto* run) { return run->best_step.has_value(); });
  if (tells_best) point.best_step = over(runs, [](const auto& run) { return run.best_step.value_or(0); });
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
  std::map<std::string, int> without_score;
  for (const runner::RunResult& run : results.runs) {
    if (run.status == runner::RunStatus::running) continue;
    const std::string key = without_seed(run.config).dump() + run.settings.value("experiment", "");
    const bool scored = std::isfinite(runner::metric_of(run, results.metric.name));
    run.status == runner::RunStatus::done&& scored ? groups[key].push_back(&run) : void(++without_score[key]);
  }
  const json usual = usual_machines(results);
  std::vector<Point> points;
  std::set<std::int64_t> lengths;
  for (const auto& [key, runs] : groups) {
    points.push_back(point_of(runs, results, usual));
    points.back().runs_without_score = without_score[key];
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
