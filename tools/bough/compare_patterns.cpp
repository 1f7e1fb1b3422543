#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "graph/generators/unreachable_degree.h"
#include "graph/generators/wanted_degree.h"
#include "tasks/registry.h"
#include "tasks/runner/experiment.h"
#include "tools/bough/commands.h"
#include "tools/bough/open_page.h"
#include "tools/bough/result_folder.h"
#include "tools/bough/short_form.h"

namespace bough::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string absolute_file(const std::string& path) {
  if (fs::is_directory(path)) throw IoError("compare-patterns", fmt::format("'{}' is a folder, not a file", path));
  if (!fs::is_regular_file(path)) throw IoError("compare-patterns", fmt::format("there is no file '{}'", path));
  return fs::absolute(path).lexically_normal().string();
}

/// Patterns of lists like bpt,pyramid:recent=[2,2].
std::vector<std::string> words_of(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (const std::string& word : split_outside_brackets(list, ',')) words.push_back(word);
  }
  return words;
}

/// The built-in experiment with the text, the length and the steps that were asked for, still without graphs.
json experiment_without_graphs(const ComparePatternsCommand& command) {
  json experiment = runner::default_experiment();
  for (const char* key : {"focus", "graph", "sweep"}) experiment.erase(key);
  experiment["name"] = "compare-patterns";
  experiment["description"] =
      fmt::format("{} at attention degrees {}, on {}.", fmt::join(words_of(command.patterns), ", "),
                  fmt::join(command.degrees, ", "),
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
  json keys = experiment.at("task");
  const json kind = keys.is_object() ? keys.value("kind", json()) : json();
  const tasks::Task& task = kind.is_string() ? tasks::task_named(kind.get<std::string>()) : *tasks::all_tasks().front();
  keys.erase("kind");
  return task.graph_options(ParameterTable(task.task_parameters()).read("task", keys));
}

/// Whether a pattern that has a degree takes its other parameters: those that the degree decides get their default, or
/// the least value that they may have.
void require_known_parameters(const json& pattern, const GeneratorDescription& description) {
  const bool reads_json_itself = description.parameters.parameters().empty() && description.summary.empty();
  if (reads_json_itself) return;
  json specification = pattern;
  const std::string& decided = description.degree.parameter;
  if (!degree_parameter(description).empty()) specification.erase("degree");
  if (specification.value("of", json()).is_string()) specification["of"] = {{"kind", specification["of"]}};
  const auto& parameters = description.parameters.parameters();
  if (const auto parameter = std::ranges::find(parameters, decided, &Parameter::name);
      parameter != parameters.end() && parameter->required && !specification.contains(decided)) {
    specification[decided] =
        parameter->type == ParameterType::number ? json(std::max(0.0, parameter->minimum)) : json(parameter->smallest);
  }
  specification.erase("kind");
  description.parameters.read(description.name, specification);
}

/// Every pattern at every degree that it can have; one that has but one degree is there once. What is left out is said
/// on stderr: degrees that a pattern cannot have. ConfigError for anything else that is wrong with it.
ordered_json graphs_of(const ComparePatternsCommand& command, const BuildOptions& options) {
  ordered_json graphs = ordered_json::array();
  std::map<std::string, double> chosen;  // by solved specification: the degree that was wanted
  for (const std::string& word : words_of(command.patterns)) {
    const json pattern = pattern_from_word(word);
    const std::string kind = pattern["kind"];
    ordered_json entry = {{"kind", kind}};
    entry.update(ordered_json(pattern));
    const GeneratorDescription description = generators().describe(kind);
    require_known_parameters(pattern, description);
    if (!has_open_degree(pattern)) {
      graphs.push_back(entry);
      continue;
    }
    for (const double degree : command.degrees) {
      entry["degree"] = degree;
      if (degree == std::floor(degree)) entry["degree"] = static_cast<std::int64_t>(degree);  // 14, not 14.0
      json specification = entry;
      try {
        if (const auto own = choose_own_degree(specification, options)) {
          entry["degree"] = specification["degree"];
          fmt::print(stderr, "{}: {}\n", kind, to_string(*own));
        } else {
          choose_degree(specification, options);
        }
      } catch (const UnreachableDegree& error) {
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

}  // namespace

void run_compare_patterns(const ComparePatternsCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  const ordered_json experiment = experiment_of(command);
  const std::string name = "compare-patterns";
  const std::string folder = !command.out.empty() ? command.out : command.resume ? last_folder(name) : new_folder(name);
  RunCommand run;
  run.file = (fs::path(folder) / "experiment.json").string();
  run.text = readable_json(experiment);
  run.out = folder;
  run.resume = command.resume;
  run.device = command.device;
  run.jobs = command.jobs;
  run.dry_run = command.dry_run;
  run_experiment(run);
  if (!command.dry_run && !command.no_open) open_page((fs::path(folder) / "report.html").string());
}

}  // namespace bough::cli
