#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "src/core/files.h"
#include "tasks/registry.h"
#include "tasks/runner/experiment.h"
#include "tools/bough/commands.h"
#include "tools/bough/result_folder.h"
#include "tools/bough/short_form.h"

namespace bough::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string absolute_file(const std::string& path) {
  if (!fs::is_regular_file(path)) throw IoError("compare-patterns", fmt::format("there is no file '{}'", path));
  return fs::absolute(path).lexically_normal().string();
}

/// The built-in experiment with the text, the length and the steps that were asked for, still without graphs.
json experiment_without_graphs(const ComparePatternsCommand& command) {
  json experiment = runner::default_experiment();
  for (const char* key : {"focus", "graph", "sweep"}) experiment.erase(key);
  experiment["name"] = "compare-patterns";
  experiment["description"] = fmt::format(
      "{} at attention degrees {}, on {}.", fmt::join(command.patterns, ", "), fmt::join(command.degrees, ", "),
      command.data.empty() ? "made-up text whose next word depends on words far back"
                           : fs::path(command.data).filename().string());
  if (!command.data.empty()) {
    experiment["task"]["corpus"] = {
        {"kind", "text"}, {"path", absolute_file(command.data)}, {"test_characters", 100'000}};
  }
  if (command.length > 0) experiment["task"]["length"] = command.length;
  if (command.steps > 0) experiment["train"]["steps"] = command.steps;
  for (const std::string& library : command.plugins) experiment["plugins"].push_back(absolute_file(library));
  for (const std::string& text : command.overrides) runner::apply_override(experiment, text);
  return experiment;
}

BuildOptions graph_options(const json& experiment) {
  const tasks::Task& task = *tasks::all_tasks().front();
  json keys = experiment.at("task");
  keys.erase("kind");
  return task.graph_options(ParameterTable(task.task_parameters()).read("task", keys));
}

/// Every pattern at every degree that it can have; one that has but one degree is there once. What is left out is said
/// on stderr.
ordered_json graphs_of(const ComparePatternsCommand& command, const BuildOptions& options) {
  ordered_json graphs = ordered_json::array();
  std::map<std::string, double> chosen;  // by solved specification: the degree that was wanted
  for (const std::string& word : command.patterns) {
    const json pattern = pattern_from_word(word);
    const std::string kind = pattern["kind"];
    ordered_json entry = {{"kind", kind}};
    entry.update(ordered_json(pattern));
    const GeneratorDescription description = generators().describe(kind);
    const bool has_degree = !description.degree.parameter.empty() ||
                            std::ranges::find(description.parameters.parameters(), "degree", &Parameter::name) !=
                                description.parameters.parameters().end();
    if (!has_degree || pattern.contains(description.degree.parameter)) {
      graphs.push_back(entry);
      continue;
    }
    for (const double degree : command.degrees) {
      entry["degree"] = degree;
      if (degree == std::floor(degree)) entry["degree"] = static_cast<std::int64_t>(degree);  // 14, not 14.0
      json specification = entry;
      try {
        choose_degree(specification, options);
      } catch (const ConfigError& error) {
        fmt::print(stderr, "left out: {}\n", error.what());
        continue;
      }
      const auto [same, added] = chosen.emplace(specification.dump(), degree);
      if (added) {
        graphs.push_back(entry);
      } else {
        fmt::print(stderr, "left out: {} at degree {}, for which it is the same graph as at degree {}\n", kind, degree,
                   same->second);
      }
    }
  }
  if (graphs.empty()) {
    throw ConfigError("compare-patterns", "none of the patterns can have any of the degrees; the reasons are above");
  }
  return graphs;
}

ordered_json experiment_of(const ComparePatternsCommand& command) {
  json base = experiment_without_graphs(command);
  const ordered_json graphs = graphs_of(command, graph_options(base));
  std::vector<int> seeds(static_cast<std::size_t>(command.seeds));
  std::iota(seeds.begin(), seeds.end(), 1);
  if (!base.contains("focus")) base["focus"] = graphs[0]["kind"];
  ordered_json sweep = {{"graph", graphs}, {"train.seed", seeds}};
  if (base.contains("sweep")) sweep.update(ordered_json(base["sweep"]));
  // In the order in which one reads it; what else there is follows.
  ordered_json experiment;
  for (const char* key : {"name", "description", "focus", "task", "model", "graph", "train"}) {
    experiment[key] = base.value(key, json::object());
  }
  experiment["graph"] = graphs[0];
  for (const auto& [key, value] : base.items()) experiment.emplace(key, value);
  experiment["sweep"] = sweep;
  return experiment;
}

/// Shows a page to a person who sits in front of a screen.
void open_page(const std::string& path) {
  const bool has_display = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_display || ::isatty(STDOUT_FILENO) == 0) return;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  std::string program = "xdg-open", argument = path;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  // Without such a program the page stays closed; its name has been printed.
  ::posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

void run_compare_patterns(const ComparePatternsCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  const ordered_json experiment = experiment_of(command);
  const std::string folder = command.out.empty() ? new_folder("compare-patterns") : command.out;
  fs::create_directories(folder);
  const std::string file = (fs::path(folder) / "experiment.json").string(), text = readable_json(experiment);
  AtomicFileWriter writer(file);
  writer.write(text.data(), text.size());
  writer.commit();
  fmt::print(stderr, "the experiment is in {}; to run it again, changed or not: bough run {}\n", file, file);
  RunCommand run;
  run.file = file;
  run.out = folder;
  run.device = command.device;
  run.jobs = command.jobs;
  run.dry_run = command.dry_run;
  run_experiment(run);
  if (!command.dry_run && !command.no_open) open_page((fs::path(folder) / "report.html").string());
}

}  // namespace bough::cli
