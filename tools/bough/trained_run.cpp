#include "tools/bough/trained_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/nn/checkpoint.h"
#include "tasks/recorded_plugins.h"
#include "tasks/registry.h"
#include "tasks/runner/results.h"
#include "tasks/training/training_loop.h"

namespace bough::cli {
namespace {

namespace fs = std::filesystem;

bool has_checkpoint(const fs::path& folder) {
  return fs::exists(folder / training::best_file) || fs::exists(folder / training::checkpoint_file);
}

/// The experiment that a path like DIR/runs/NAME is in; empty if it is in none.
fs::path folder_of_experiment(const fs::path& path) {
  for (fs::path folder = path; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "results.json")) return folder;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

/// Says what can be named instead of something that is no model.
[[noreturn]] void refuse(const std::string& command, const fs::path& path) {
  std::vector<std::string> names;
  const fs::path experiment = folder_of_experiment(path);
  if (!experiment.empty()) {
    for (const runner::RunResult& run : runner::load_results((experiment / "results.json").string()).runs) {
      if (has_checkpoint(experiment / "runs" / run.name)) names.push_back(run.name);
    }
    throw IoError(command, names.empty()
                               ? fmt::format("no run of the experiment in '{}' has a checkpoint", experiment.string())
                               : fmt::format("'{}' is no run that has a model; in '{}' there are {}", path.string(),
                                             (experiment / "runs").string(), fmt::join(names, ", ")));
  }
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (fs::exists(entry->path() / "results.json")) names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  throw IoError(command, fmt::format("'{}' {}; name one experiment or run{}", path.string(),
                                     fs::is_directory(path) ? "holds no checkpoint" : "is not there",
                                     names.empty() ? "" : fmt::format(": it holds {}", fmt::join(names, ", "))));
}

/// The runs of an experiment that have a model, with their scores, and how to use one.
void list_runs(const std::string& command, const fs::path& folder, std::FILE* file) {
  const runner::Results results = runner::load_results((folder / "results.json").string());
  std::size_t width = 0;
  std::string first;
  for (const runner::RunResult& run : results.runs) {
    if (!has_checkpoint(folder / "runs" / run.name)) continue;
    if (first.empty()) first = (folder / "runs" / run.name).string();
    width = std::max(width, run.name.size());
  }
  if (first.empty()) {
    throw IoError(command, fmt::format("no run of the experiment in '{}' has a checkpoint", folder.string()));
  }
  fmt::print(file, "'{}' is an experiment; its runs that have a model:\n\n", folder.string());
  for (const runner::RunResult& run : results.runs) {
    if (!has_checkpoint(folder / "runs" / run.name)) continue;
    const double score = runner::metric_of(run, results.metric.name);
    const std::string text = std::isfinite(score) ? fmt::format("{} {:.4f}", results.metric.name, score)
                                                  : std::string(to_string(run.status));
    fmt::print(file, "{:<{}}  {}\n", run.name, width, text);
  }
  fmt::print(file, "\nbough {} {}\n", command, first);
}

}  // namespace

std::optional<std::string> find_checkpoint(const std::string& command, const std::string& path, bool last,
                                           bool must_be_one) {
  if (!fs::is_directory(path)) {
    if (!fs::exists(path)) refuse(command, path);
    return path;
  }
  const fs::path folder = path;
  if (!has_checkpoint(folder) && fs::exists(folder / "results.json")) {
    list_runs(command, folder, must_be_one ? stderr : stdout);
    if (!must_be_one) return {};
    throw ConfigError(command, fmt::format("'{}' is an experiment; name one of its runs", folder.string()));
  }
  if (!has_checkpoint(folder)) refuse(command, folder);
  const bool best = !last && fs::exists(folder / training::best_file);
  if (!best && !last) {
    fmt::print(stderr, "bough: '{}' has no {}, so its last parameters are used; --last says that they are meant\n",
               folder.string(), training::best_file);
  }
  return (folder / (best ? training::best_file : training::checkpoint_file)).string();
}

// What cannot be read is an error of the loading that follows.
void warn_of_another_graph(const std::string& checkpoint) try {
  const std::map<std::string, std::string> notes = nn::load_tensors(checkpoint).metadata;
  const auto inputs = notes.find(runner::inputs_note), config = notes.find("config");
  if (inputs == notes.end() || config == notes.end()) return;  // of an earlier version
  const nlohmann::json saved = parse_json(config->second, checkpoint);
  const nlohmann::json& graph = saved.at("graph");
  if (const auto plugins = notes.find(tasks::plugins_note); plugins != notes.end()) {
    tasks::load_recorded_plugins(graph, parse_json(plugins->second, checkpoint));
  }
  const BuildOptions options =
      tasks::task_named(saved.at("task").at("kind")).graph_options(Settings("task", saved.at("task")));
  const runner::RunInputs before = runner::run_inputs_from(parse_json(inputs->second, checkpoint));
  if (before.graph.empty() || before.graph == runner::graph_fingerprint(generators().make(graph)->build(options)))
    return;
  fmt::print(stderr, "bough: the pattern {} builds another graph now than the one that this model was trained on\n",
             runner::describe_setting("graph", graph));
} catch (const std::exception&) {
}

}  // namespace bough::cli
