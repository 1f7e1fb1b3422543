#include "tasks/runner/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/plugin.h"
#include "tasks/data/data_path.h"
#include "tasks/recorded_plugins.h"
#include "tasks/registry.h"
#include "tasks/runner/embedded.h"
#include "tasks/training/training_options.h"

namespace bough::runner {
namespace {

using nlohmann::json;

std::vector<std::string> split_path(const std::string& path) {
  // What is swept is named by a whole path, so that is one key.
  if (path.starts_with("sweep.")) return {"sweep", path.substr(6)};
  std::vector<std::string> keys;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    keys.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  keys.push_back(path.substr(begin));
  return keys;
}

void set_value(json& source, const std::string& path, const json& value) {
  const std::vector<std::string> keys = split_path(path);
  json* place = &source;
  for (const std::string& key : keys) {
    if (key.empty()) throw ConfigError("experiment", fmt::format("'{}' is not a path like train.steps", path));
    const auto graph = source.find("graph");
    if (graph != source.end() && place == &*graph && place->is_string()) *place = {{"kind", *place}};
    if (!place->is_object() && !place->is_null()) {
      throw ConfigError("experiment",
                        fmt::format("'{}' leads into {}, which is not an object", path, json_excerpt(*place)));
    }
    place = &(*place)[key];
  }
  *place = value;
}

/// Bytes that are no UTF-8 are replaced in one way of writing and left out in the other.
bool is_utf8(const std::string& text) {
  const auto written = [&text](json::error_handler_t handler) { return json(text).dump(-1, ' ', false, handler); };
  return written(json::error_handler_t::replace) == written(json::error_handler_t::ignore);
}

std::string task_kind(const json& source) {
  const auto task = source.find("task");
  if (task == source.end() || !task->is_object()) return tasks::all_tasks().front()->name();
  const auto kind = task->find("kind");
  return kind != task->end() && kind->is_string() ? kind->get<std::string>() : tasks::all_tasks().front()->name();
}

json config_of(const Settings& all) {
  return {{"task", all.json("task")},
          {"model", all.json("model")},
          {"graph", all.json("graph")},
          {"train", training::with_default_steps(all.json("train"))}};
}

/// Solves the "degree" of graphs, each once: runs differ in seeds and models too.
class DegreeChoices {
 public:
  std::optional<DegreeChoice> choose(json& graph, const BuildOptions& options) {
    const auto [entry, added] = solved_.try_emplace({graph.dump(), options.length});
    if (added) {
      json specification = graph;
      entry->second.choice = choose_degree(specification, options);
      entry->second.graph = std::move(specification);
    }
    graph = entry->second.graph;
    return entry->second.choice;
  }

 private:
  struct Solved {
    json graph;
    std::optional<DegreeChoice> choice;
  };
  std::map<std::pair<std::string, std::int64_t>, Solved> solved_;
};

/// The run with these settings; `source` is the experiment without its sweep.
PlannedRun check_run(const ParameterTable& table, const tasks::Task& task, const json& source, const json& settings,
                     const ExperimentOptions& options, DegreeChoices& choices) {
  json own = source;
  for (const auto& [path, value] : settings.items()) set_value(own, path, value);
  if (own.contains("graph") && own["graph"].is_string()) own["graph"] = {{"kind", own["graph"]}};
  const Settings all = table.read("experiment", own);
  json config = config_of(all);
  const auto choice = choices.choose(config["graph"], task.graph_options(all.object("task")));
  PlannedRun run{.name = {},
                 .config = config,
                 .settings = settings,
                 .checked = settings_of(config, options.data_folders, options.device),
                 .choice = choice};
  training::check_training(run.checked.train);
  task.check(run.checked);
  return run;
}

/// A library that an experiment names is looked up like data. One that is no longer there may have been loaded from
/// elsewhere (--plugin).
void load_named_plugin(const std::string& name, const std::vector<std::string>& folders) {
  std::string path;
  try {
    path = find_data_file(name, folders);
  } catch (const IoError&) {
    const auto same_file = [&](const std::string& library) {
      return std::filesystem::path(library).filename() == std::filesystem::path(name).filename();
    };
    if (std::ranges::any_of(tasks::loaded_plugins(), same_file)) return;
    throw IoError("plugins", fmt::format("there is no library '{}' in {}; say where it is with --plugin FILE", name,
                                         fmt::join(folders, ", ")));
  }
  load_plugin(path);
}

/// "[bpt] k must be ..." as a part of another error: "bpt: k must be ...".
std::string as_part(const std::string& message, const std::string& place) {
  const std::size_t end = message.find("] ");
  if (!message.starts_with('[') || end == std::string::npos) return message;
  const std::string where = message.substr(1, end - 1), rest = message.substr(end + 2);
  return where == "experiment" || place.find(where) != std::string::npos ? rest : where + ": " + rest;
}

/// A run of the sweep. Errors name the value in the sweep that causes them, if it is one.
PlannedRun run_at(const std::vector<SweepAxis>& axes, const SweepPlace& place,
                  const std::function<PlannedRun(const json& settings)>& run_with) {
  try {
    return run_with(settings_at(axes, place));
  } catch (const ConfigError& error) {
    const std::string guilty = place_of_error(axes, place, [&](const json& settings) -> std::string {
      try {
        run_with(settings);
        return "";
      } catch (const ConfigError& other) {
        return other.what();
      }
    });
    if (guilty.empty()) throw;
    throw ConfigError(guilty, as_part(error.what(), guilty));
  }
}

}  // namespace

ParameterTable experiment_parameters(const tasks::Task& task) {
  std::vector<Parameter> about_task = task.task_parameters();
  about_task.insert(about_task.begin(), choice_parameter("kind", "what is learned: " + task.summary(), {task.name()}));
  std::vector<Parameter> train = training::training_parameters();
  std::ranges::copy(task.train_parameters(), std::back_inserter(train));
  return {string_parameter("name", "of the experiment, in the report and as the default folder", "experiment"),
          string_parameter("description", "what it is for, shown in the report", ""),
          string_parameter("focus",
                           "the pattern that the report compares with all others: a kind of graph, or what names of "
                           "runs begin with; none = all with all",
                           ""),
          string_parameter("$schema", "where an editor finds what bough run --schema prints; ignored", ""),
          object_parameter("task", "what is learned, from which data", about_task),
          object_parameter("model", "the same for every pattern", task.model_parameters()),
          object_parameter("graph", "the attention pattern; bough generators lists them", {}, true),
          object_parameter("train", "how long and how fast it learns", train),
          object_parameter("sweep", "dotted path -> list of values; every combination is one run"),
          list_parameter("plugins", "shared libraries with further patterns", string_parameter("file", "")),
          integer_parameter("jobs", "runs side by side; default: as many as there are cores",
                            {.smallest = 1, .largest = 1024})};
}

void apply_override(json& source, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError("--set", fmt::format("expects path=value, e.g. train.steps=50, not '{}'", text));
  }
  if (!is_utf8(text)) throw ConfigError("--set", "text must be UTF-8, like all JSON");
  const std::string path = text.substr(0, equals), value = text.substr(equals + 1);
  json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded()) parsed = value;
  set_value(source, path, parsed);
  if (source.contains("sweep") && source["sweep"].is_object()) source["sweep"].erase(path);
}

tasks::RunSettings settings_of(const json& config, std::vector<std::string> data_folders, Device device) {
  return {.task = Settings("task", config.at("task")),
          .model = Settings("model", config.at("model")),
          .train = Settings("train", config.at("train")),
          .graph = config.at("graph"),
          .data_folders = std::move(data_folders),
          .device = device};
}

json completed_config(const json& saved) {
  try {
    return config_of(experiment_parameters(tasks::task_named(task_kind(saved))).read("saved configuration", saved));
  } catch (const ConfigError&) {
    return saved;
  }
}

std::string first_difference(const json& a, const json& b) {
  if (a == b) return "";
  if (!a.is_object() || !b.is_object()) return " ";
  for (const auto& [key, value] : a.items()) {
    const auto other = b.find(key);
    if (other == b.end()) return key;
    const std::string inside = first_difference(value, *other);
    if (!inside.empty()) return inside == " " ? key : key + "." + inside;
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) return key;
  }
  return "";
}

std::string experiment_name(json source, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) apply_override(source, text);
  const json name = source.is_object() ? source.value("name", json()) : json();
  return as_file_name(name.is_string() ? name.get<std::string>() : "", "experiment");
}

Experiment read_experiment(json source, const ExperimentOptions& options) {
  if (!source.is_object()) {
    throw ConfigError("experiment", fmt::format("must be a JSON object, not {}", json_excerpt(source)));
  }
  for (const std::string& text : options.overrides) apply_override(source, text);
  if (source.contains("plugins") && source["plugins"].is_array()) {
    for (const json& library : source["plugins"]) {
      if (library.is_string()) load_named_plugin(library.get<std::string>(), options.data_folders);
    }
  }

  const tasks::Task& task = tasks::task_named(task_kind(source));
  const ParameterTable table = experiment_parameters(task);
  json own = source;
  own.erase("sweep");
  const std::vector<SweepAxis> axes = read_sweep(source.value("sweep", json::object()));
  Experiment experiment{.name = experiment_name(own), .description = {}, .source = source, .task = &task, .runs = {}};
  std::map<std::string, const json*> config_of_name;
  std::map<std::string, std::string> name_of_config;
  DegreeChoices choices;
  const std::vector<SweepPlace> places = sweep_places(axes);
  experiment.runs.reserve(places.size());
  for (const SweepPlace& place : places) {
    const auto run_with = [&](const json& settings) { return check_run(table, task, own, settings, options, choices); };
    PlannedRun& run = experiment.runs.emplace_back(run_at(axes, place, run_with));
    const std::string name = run_name(axes, place, run.config["graph"]);
    run.name = name;
    for (int number = 2; !config_of_name.emplace(run.name, &run.config).second; ++number) {
      if (*config_of_name[run.name] == run.config) {
        throw ConfigError("sweep", fmt::format("two runs would be the same, '{}'; is a value given twice?", run.name));
      }
      run.name = fmt::format("{}-{}", name, number);
    }
    if (const auto [same, added] = name_of_config.emplace(run.config.dump(), run.name); !added && run.choice) {
      throw ConfigError("sweep", fmt::format("the runs '{}' and '{}' would be the same: {}", same->second, run.name,
                                             to_string(*run.choice)));
    }
  }
  experiment.description = own.value("description", "");
  experiment.jobs = own.value("jobs", json()).is_number_integer() ? own["jobs"].get<std::int64_t>() : 0;
  return experiment;
}

json default_experiment() { return parse_json(default_experiment_text, "default experiment"); }

}  // namespace bough::runner
