#include "tasks/runner/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/plugin.h"
#include "tasks/data/data_path.h"
#include "tasks/registry.h"
#include "tasks/runner/embedded.h"
#include "tasks/training/training_options.h"

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::size_t most_runs = 100'000;
constexpr std::size_t longest_name = 120;

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

/// Everything but letters, digits, '.', '_' and '-' becomes '_': names are folders.
std::string as_file_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return text;
}

/// Bytes that are no UTF-8 are replaced in one way of writing and left out in the other.
bool is_utf8(const std::string& text) {
  const auto written = [&text](json::error_handler_t handler) { return json(text).dump(-1, ' ', false, handler); };
  return written(json::error_handler_t::replace) == written(json::error_handler_t::ignore);
}

std::string scalar_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_structured() ? "" : value.dump();
}

std::string task_kind(const json& source) {
  const auto task = source.find("task");
  if (task == source.end() || !task->is_object()) return tasks::all_tasks().front()->name();
  const auto kind = task->find("kind");
  return kind != task->end() && kind->is_string() ? kind->get<std::string>() : tasks::all_tasks().front()->name();
}

struct SweepAxis {
  std::string path;
  json values;
};

std::vector<SweepAxis> read_sweep(const json& sweep) {
  std::vector<SweepAxis> axes;
  for (const auto& [path, values] : sweep.items()) {
    if (!values.is_array() || values.empty()) {
      throw ConfigError("sweep",
                        fmt::format("'{}' must be a list of at least one value, not {}", path, json_excerpt(values)));
    }
    axes.push_back({path, values});
  }
  // Seeds vary slowest: a sweep that is stopped early has run every setting.
  std::ranges::stable_sort(axes, {}, [](const SweepAxis& axis) { return axis.path == "train.seed" ? 0 : 1; });
  return axes;
}

/// All combinations; the last axis varies fastest.
std::vector<json> combinations(const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
    if (count > most_runs) throw ConfigError("sweep", fmt::format("there would be more than {} runs", most_runs));
  }
  std::vector<json> result;
  for (std::size_t number = 0; number < count; ++number) {
    json setting = json::object();
    std::size_t rest = number;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      setting[axis->path] = axis->values[rest % axis->values.size()];
      rest /= axis->values.size();
    }
    result.push_back(std::move(setting));
  }
  return result;
}

std::string name_of(const std::vector<SweepAxis>& axes, const json& settings, const json& graph) {
  std::vector<const SweepAxis*> shown;
  for (const SweepAxis& axis : axes) {
    if (axis.values.size() > 1) shown.push_back(&axis);
  }
  // Patterns first, seeds last, as people read them.
  std::ranges::reverse(shown);
  std::ranges::stable_sort(shown, {}, [](const SweepAxis* axis) { return axis->path == "graph" ? 0 : 1; });
  std::string name;
  for (const SweepAxis* axis : shown) {
    const json& value = settings[axis->path];
    std::string part = describe_setting(axis->path, value);
    if (value.is_structured() && part.empty()) {
      const auto place = std::ranges::find(axis->values, value) - axis->values.begin();
      part = fmt::format("{}{}", axis->path, place + 1);
    }
    name += (name.empty() ? "" : "-") + part;
  }
  name = as_file_name(name.empty() ? describe_setting("graph", graph) : name);
  return name.size() > longest_name ? name.substr(0, longest_name) : name;
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

PlannedRun check_run(const ParameterTable& table, const tasks::Task& task, const json& source,
                     const ExperimentOptions& options, DegreeChoices& choices) {
  json own = source;
  own.erase("sweep");
  if (own.contains("graph") && own["graph"].is_string()) own["graph"] = {{"kind", own["graph"]}};
  const Settings all = table.read("experiment", own);
  json config = config_of(all);
  const auto choice = choices.choose(config["graph"], task.graph_options(all.object("task")));
  PlannedRun run{.name = {},
                 .config = config,
                 .settings = {},
                 .checked = settings_of(config, options.data_folders, options.device),
                 .choice = choice};
  training::check_training(run.checked.train);
  task.check(run.checked);
  return run;
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

std::string describe_setting(const std::string& path, const json& value) {
  const std::string last = path.substr(path.rfind('.') + 1);
  if (!value.is_object()) {
    const std::string text = scalar_text(value);
    return path == "graph" ? text : text.empty() ? "" : last + text;
  }
  const auto kind = value.find("kind");
  if (kind == value.end() || !kind->is_string()) return "";
  std::string name = kind->get<std::string>();
  for (const auto& [key, entry] : value.items()) {
    if (key == "kind") continue;
    const std::string text = scalar_text(entry);
    if (text.empty()) return "";
    name += fmt::format("-{}{}", key, text);
  }
  return name;
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
  return as_file_name(name.is_string() ? name.get<std::string>() : "experiment");
}

Experiment read_experiment(json source, const ExperimentOptions& options) {
  if (!source.is_object()) {
    throw ConfigError("experiment", fmt::format("must be a JSON object, not {}", json_excerpt(source)));
  }
  for (const std::string& text : options.overrides) apply_override(source, text);
  std::vector<std::string> plugins;
  if (source.contains("plugins") && source["plugins"].is_array()) {
    for (const json& library : source["plugins"]) {
      if (!library.is_string()) continue;
      plugins.push_back(find_data_file(library.get<std::string>(), options.data_folders));
      load_plugin(plugins.back());
    }
  }

  const tasks::Task& task = tasks::task_named(task_kind(source));
  const ParameterTable table = experiment_parameters(task);
  const json sweep = source.value("sweep", json::object());
  if (!sweep.is_object()) {
    throw ConfigError("sweep", fmt::format("must be an object of lists, not {}", json_excerpt(sweep)));
  }
  const std::vector<SweepAxis> axes = read_sweep(sweep);

  Experiment experiment{.name = {}, .description = {}, .source = source, .task = &task, .runs = {}, .plugins = plugins};
  std::set<std::string> names;
  DegreeChoices choices;
  std::map<std::string, std::string> solved;  // configuration -> run
  for (json& settings : combinations(axes)) {
    json own = source;
    for (const auto& [path, value] : settings.items()) set_value(own, path, value);
    PlannedRun run = check_run(table, task, own, options, choices);
    run.name = name_of(axes, settings, run.config["graph"]);
    if (const auto [same, added] = solved.emplace(run.config.dump(), run.name); !added && run.choice) {
      throw ConfigError("sweep", fmt::format("the runs '{}' and '{}' would be the same: {}", same->second, run.name,
                                             to_string(*run.choice)));
    }
    run.settings = std::move(settings);
    if (!names.insert(run.name).second) {
      throw ConfigError("sweep", fmt::format("two runs would be called '{}'; is a value given twice?", run.name));
    }
    experiment.runs.push_back(std::move(run));
  }
  json own = source;
  own.erase("sweep");
  experiment.name = experiment_name(own);
  experiment.description = own.value("description", "");
  experiment.jobs = own.value("jobs", json()).is_number_integer() ? own["jobs"].get<std::int64_t>() : 0;
  return experiment;
}

json default_experiment() { return parse_json(default_experiment_text, "default experiment"); }

}  // namespace bough::runner
