#include "tasks/runner/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <tuple>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/plugin.h"
#include "graph/generators/wanted_degree.h"
#include "src/core/utf8.h"
#include "tasks/data/data_path.h"
#include "tasks/recorded_plugins.h"
#include "tasks/registry.h"
#include "tasks/runner/embedded.h"
#include "tasks/runner/experiment_checks.h"
#include "tasks/runner/extends.h"
#include "tasks/training/training_options.h"

namespace bough::runner {
namespace {

using nlohmann::json;

std::vector<std::string> split_path(const std::string& path) {
  // What is swept is named by a whole path, so that is one key.
  if (path.starts_with("sweep.zip.")) return {"sweep", zip_key, path.substr(10)};
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
  /// `swept`: the degree is one of a sweep over graph.degree, where it is the attention degree of every pattern.
  std::optional<DegreeChoice> choose(json& graph, const BuildOptions& options, bool swept) {
    const auto [entry, added] = solved_.try_emplace({graph.dump(), options.length, swept});
    if (added) {
      json specification = graph;
      if (swept) entry->second.choice = choose_own_degree(specification, options);
      if (!entry->second.choice) entry->second.choice = choose_degree(specification, options);
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
  std::map<std::tuple<std::string, std::int64_t, bool>, Solved> solved_;
};

/// Files with graphs are looked up like data; what is not found stays as it is.
void find_graph_files(json& graph, const std::vector<std::string>& folders) {
  if (!graph.is_structured()) return;
  if (graph.is_object() && graph.value("kind", json()) == "file" && graph.value("path", json()).is_string()) {
    const std::filesystem::path path = graph["path"].get<std::string>();
    for (const std::string& folder : folders) {
      const std::filesystem::path place = (folder / path).lexically_normal();
      std::error_code error;
      if (!std::filesystem::is_regular_file(place, error)) continue;
      graph["path"] = place.string();
      return;
    }
  }
  for (json& part : graph) find_graph_files(part, folders);
}

/// The run with these settings; `source` is the experiment without its sweep.
PlannedRun check_run(const ParameterTable& table, const tasks::Task& task, const json& source, const json& settings,
                     const ExperimentOptions& options, DegreeChoices& choices) {
  json own = source;
  for (const auto& [path, value] : settings.items()) set_value(own, path, value);
  if (own.contains("graph") && own["graph"].is_string()) own["graph"] = {{"kind", own["graph"]}};
  if (!own.contains("graph")) {
    json with_graph = own;
    with_graph["graph"] = json::object();
    table.read("experiment", with_graph);  // for keys that are not known: one of them may be meant
    throw ConfigError("experiment",
                      "graph is missing: an object like {\"kind\": \"bpt\", \"k\": 4}, or the name of a pattern; bough "
                      "generators lists them");
  }
  const Settings all = table.read("experiment", own);
  json config = config_of(all);
  find_graph_files(config["graph"], options.data_folders);
  const auto choice =
      choices.choose(config["graph"], task.graph_options(all.object("task")), settings.contains("graph.degree"));
  PlannedRun run{.name = {},
                 .config = config,
                 .settings = settings,
                 .checked = settings_of(config, options.data_folders, options.device),
                 .choice = choice};
  training::check_training(run.checked.train);
  try {
    task.check(run.checked);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    const auto begins = [&message](const char* place) { return message.starts_with(place); };
    if (!begins("[of]") && !begins("[of[") && !begins("[of.")) throw;  // a pattern within the graph
    throw ConfigError("[graph." + message.substr(1));
  }
  return run;
}

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

/// A library that an experiment names is looked up like data. One that is no longer there may have been loaded from
/// elsewhere (--plugin). Returns where it is, so that the saved experiment can be read from another folder; empty if it
/// is not there under its whole path, but other libraries are loaded, one of which may be the same under another name.
std::string load_named_plugin(const std::string& name, const std::vector<std::string>& folders) {
  std::string path;
  try {
    path = find_data_file(name, folders);
  } catch (const IoError&) {
    const auto same_file = [&](const std::string& library) {
      return std::filesystem::path(library).filename() == std::filesystem::path(name).filename();
    };
    const std::vector<std::string> loaded = tasks::loaded_plugins();
    if (const auto found = std::ranges::find_if(loaded, same_file); found != loaded.end()) return absolute(*found);
    if (!loaded.empty() && std::filesystem::path(name).is_absolute()) return "";
    throw ConfigError("plugins", fmt::format("there is no library '{}' in {}; say where it is with --plugin FILE "
                                             "(RunOptions::plugins)",
                                             name, fmt::join(folders, ", ")));
  }
  load_plugin(path);
  return absolute(path);
}

/// Loads the libraries that an experiment names, which stand with their whole path in it after that.
void load_named_plugins(json& source, const std::vector<std::string>& folders) {
  const auto named = source.find("plugins");
  if (named == source.end() || !named->is_array()) return;
  json found = json::array();
  for (const json& library : *named) {
    if (!library.is_string()) {
      found.push_back(library);  // refused with the other keys
    } else if (std::string path = load_named_plugin(library.get<std::string>(), folders); !path.empty()) {
      found.push_back(std::move(path));
    }
  }
  *named = std::move(found);
}

/// Adds the libraries that patterns of the runs come from and that the experiment does not name, such as those of
/// --plugin, so that the saved experiment can be run again without naming them.
void add_used_plugins(json& source, const std::vector<PlannedRun>& runs) {
  std::vector<std::string> named;
  if (source.contains("plugins") && source["plugins"].is_array())
    named = source["plugins"].get<std::vector<std::string>>();
  for (const PlannedRun& run : runs) {
    for (const std::string& library : tasks::plugins_of(run.config["graph"])) {
      const auto is_it = [&library](const std::string& path) {
        std::error_code ignored;
        return path == library || std::filesystem::equivalent(path, library, ignored);
      };
      if (std::ranges::any_of(named, is_it)) continue;
      named.push_back(library);
      source["plugins"].push_back(library);
    }
  }
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

/// Of an experiment that extends no other any more.
Experiment read_merged(json source, const ExperimentOptions& options) {
  for (const std::string& text : options.overrides) apply_override(source, text);
  load_named_plugins(source, options.data_folders);

  const tasks::Task& task = tasks::task_named(task_kind(source));
  const ParameterTable table = experiment_parameters(task);
  json own = source;
  own.erase("sweep");
  const std::vector<SweepAxis> axes = read_sweep(source.value("sweep", json::object()));
  require_sweepable(axes, table);
  Experiment experiment{.name = experiment_name(own), .description = {}, .source = source, .task = &task, .runs = {}};
  std::map<std::string, const json*> config_of_name;
  std::map<std::string, std::string> name_of_config;
  DegreeChoices choices;
  const std::vector<SweepPlace> places = sweep_places(axes);
  experiment.runs.reserve(places.size());
  for (const SweepPlace& place : places) {
    const auto run_with = [&](const json& settings) { return check_run(table, task, own, settings, options, choices); };
    PlannedRun& run = experiment.runs.emplace_back(run_at(axes, place, run_with));
    const std::string name = run_name(axes, place, run.config["graph"], run.choice.has_value());
    run.name = name;
    run.following = following_paths(axes);
    for (int number = 2; !config_of_name.emplace(run.name, &run.config).second; ++number) {
      if (*config_of_name[run.name] == run.config) {
        throw ConfigError("sweep",
                          fmt::format("two runs would be the same, '{}'{}", run.name,
                                      run.choice ? ": " + to_string(*run.choice) : "; is a value given twice?"));
      }
      run.name = fmt::format("{}-{}", name, number);
    }
    json meant = run.config;
    meant["graph"] = completed_graph(meant["graph"]);
    if (const auto [same, added] = name_of_config.emplace(meant.dump(), run.name); !added) {
      throw ConfigError("sweep", fmt::format("the runs '{}' and '{}' would be the same: {}", same->second, run.name,
                                             run.choice ? to_string(*run.choice)
                                                        : "they differ only in values that are the default"));
    }
  }
  if (!axes.empty()) {
    json first = own;
    const json settings = settings_at(axes, places.front());
    for (const auto& [path, value] : settings.items()) set_value(first, path, value);
    if (first.contains("graph") && first["graph"].is_string()) first["graph"] = {{"kind", first["graph"]}};
    require_valid_below_sweep(own, first, table);
  }
  require_known_focus(own, experiment.runs);
  add_used_plugins(experiment.source, experiment.runs);
  experiment.description = own.value("description", "");
  experiment.references = references_of(own);
  experiment.jobs = own.value("jobs", json()).is_number_integer() ? own["jobs"].get<std::int64_t>() : 0;
  return experiment;
}

}  // namespace

ParameterTable experiment_parameters(const tasks::Task& task) {
  std::vector<Parameter> about_task = task.task_parameters();
  about_task.insert(about_task.begin(), choice_parameter("kind", "what is learned: " + task.summary(), {task.name()}));
  std::vector<Parameter> train = training::training_parameters();
  std::ranges::copy(task.train_parameters(), std::back_inserter(train));
  return {
      string_parameter("name", "of the experiment, in the report and as the default folder", "experiment"),
      string_parameter("description", "what it is for, shown in the report", ""),
      string_parameter("focus",
                       "the pattern that the report compares with all others: a kind of graph, or what names of "
                       "runs begin with; none = all with all",
                       ""),
      references_parameter(),
      string_parameter("$schema", "where an editor finds what bough run --schema prints; ignored", ""),
      string_parameter("extends", "another experiment, which this one changes: a file beside it or under --data", ""),
      object_parameter("task", "what is learned, from which data", about_task),
      object_parameter("model", "the same for every pattern", task.model_parameters()),
      object_parameter("graph", "the attention pattern; bough generators lists them", {}, true),
      object_parameter("train", "how long and how fast it learns", train),
      object_parameter("sweep",
                       "dotted path -> list of values; every combination is one run; lists in \"zip\" are walked "
                       "through together"),
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
  if (path == "extends") {
    throw ConfigError("--set", fmt::format("extends={}: what an experiment extends is said in its own file", value));
  }
  json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded()) {
    if (value.starts_with('{') || value.starts_with('[')) parse_json(value, "--set " + path);  // says what is wrong
    parsed = value;
  }
  set_value(source, path, parsed);
  end_sweep_of(source, path);
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
  ExtendedExperiment extended =
      with_extended(std::move(source), {.file = options.file, .data_folders = options.data_folders});
  if (extended.files.empty()) return read_merged(std::move(extended.source), options);
  ExperimentOptions own = options;
  std::ranges::copy(extended.folders, std::back_inserter(own.data_folders));
  try {
    return read_merged(std::move(extended.source), own);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}; {} extends {}", error.what(),
                                  own.file.empty() ? "the experiment" : "'" + own.file + "'",
                                  fmt::join(extended.files, ", which extends ")));
  }
}

json default_experiment() { return parse_json(default_experiment_text, "default experiment"); }

}  // namespace bough::runner
