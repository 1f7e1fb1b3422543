#include "tasks/runner/results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <type_traits>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "src/core/files.h"
#include "tasks/registry.h"

namespace bough {

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::done:
      return "done";
    case RunStatus::failed:
      return "failed";
  }
  return "";
}

namespace runner {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

RunStatus status_from(const std::string& text) {
  for (const RunStatus status : {RunStatus::running, RunStatus::done, RunStatus::failed}) {
    if (text == to_string(status)) return status;
  }
  throw IoError("results", fmt::format("there is no status '{}'", text));
}

/// "[json.exception.out_of_range.403] key 'name' not found" without what stands in brackets.
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw IoError("results", fmt::format("'{}' should hold the results that bough run writes, and does not: {}; put a "
                                       "copy back, or run the experiment anew with another --out",
                                       path, reason));
}

json read_object(const std::string& path) {
  try {
    json file = read_json_file(path);
    if (!file.is_object()) refuse(path, fmt::format("it holds {}", json_excerpt(file)));
    return file;
  } catch (const ConfigError& error) {
    refuse(path, reason_of(error));
  }
}

/// The member of an object; IoError that names the key if it is missing, or is not what Value can hold.
template <typename Value>
Value value_in(const json& entry, const char* key) {
  const auto found = entry.find(key);  // the end too for what is no object
  if (found == entry.end()) throw IoError("results", fmt::format("{} is missing", key));
  const bool is_number = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;
  try {
    if (!is_number || found->is_number()) return found->get<Value>();
  } catch (const json::exception&) {
    // Said below.
  }
  throw IoError("results", fmt::format("{} cannot be {}", key, json_excerpt(*found)));
}

/// A number that is at least 0.
template <typename Value>
Value count_in(const json& entry, const char* key) {
  const Value value = value_in<Value>(entry, key);
  if (value < 0) throw IoError("results", fmt::format("{} must be at least 0, not {}", key, value));
  return value;
}

const json& object_in(const json& entry, const char* key) {
  const auto value = entry.find(key);
  if (value == entry.end()) throw IoError("results", fmt::format("{} is missing", key));
  if (!value->is_object()) {
    throw IoError("results", fmt::format("{} must be an object, not {}", key, json_excerpt(*value)));
  }
  return *value;
}

ordered_json metric_json(const Metric& metric) {
  return {{"name", metric.name}, {"label", metric.label}, {"lower_is_better", metric.lower_is_better}};
}

Metric metric_from(const json& entry) {
  return {.name = value_in<std::string>(entry, "name"),
          .label = value_in<std::string>(entry, "label"),
          .lower_is_better = value_in<bool>(entry, "lower_is_better")};
}

/// "the run 'bpt-k4'", as far as the entry tells.
std::string run_in_words(const json& entry) {
  const json name = entry.is_object() ? entry.value("name", json()) : json();
  return name.is_string() ? fmt::format("the run '{}'", name.get<std::string>()) : "a run";
}

/// A score that is no number would leave its run out of tables and findings without a word, and a run that is there
/// twice would count as two seeds.
void require_scores_of_different_runs(const Results& results) {
  std::set<std::string> names;
  for (const RunResult& run : results.runs) {
    if (!names.insert(run.name).second) {
      throw IoError("results", fmt::format("the run '{}' is there twice", run.name));
    }
    if (run.status != RunStatus::done) continue;
    const json score = run.metrics.value(results.metric.name, json());
    if (!score.is_number()) {
      throw IoError("results", fmt::format("the run '{}' is done, and its metrics.{} is no number but {}", run.name,
                                           results.metric.name, json_excerpt(score)));
    }
    for (const Metric& metric : results.further_metrics) {
      const json further = run.metrics.value(metric.name, json());
      if (further.is_number() || further.is_null()) continue;
      throw IoError("results", fmt::format("metrics.{} of the run '{}' is no number but {}", metric.name, run.name,
                                           json_excerpt(further)));
    }
  }
}

/// Those that the task of the runs has now: results of earlier versions do not name them.
std::vector<Metric> further_metrics_of(const std::vector<RunResult>& runs) {
  for (const RunResult& run : runs) {
    const json kind = run.config.value(json::json_pointer("/task/kind"), json());
    const auto& tasks = tasks::all_tasks();
    const auto task = std::ranges::find_if(tasks, [&](const tasks::Task* one) { return kind == one->name(); });
    if (task != tasks.end()) return (*task)->further_metrics();
  }
  return {};
}

}  // namespace

double metric_of(const RunResult& result, const std::string& name) {
  const auto found = result.metrics.find(name);
  return found != result.metrics.end() && found->is_number() ? found->get<double>()
                                                             : std::numeric_limits<double>::quiet_NaN();
}

ordered_json to_json(const RunResult& result) {
  ordered_json entry = {{"name", result.name},
                        {"graph", result.config.value("graph", json::object())},
                        {"seed", result.config.value("train", json::object()).value("seed", json())},
                        {"status", to_string(result.status)}};
  if (!result.error.empty()) entry["error"] = result.error;
  if (!result.remark.empty()) entry["remark"] = result.remark;
  if (!result.plugins.empty()) entry["plugins"] = result.plugins;
  entry.update({{"attention_degree", result.facts.attention_degree},
                {"num_edges", result.facts.num_edges},
                {"num_nodes", result.facts.num_nodes},
                {"length", result.facts.length},
                {"parameters", result.facts.parameters},
                {"metrics", result.metrics},
                {"best_step", result.best_step ? json(*result.best_step) : json()},
                {"last_metrics", result.last_metrics},
                {"train_seconds", result.train_seconds},
                {"tokens_per_second", result.tokens_per_second},
                {"peak_memory_bytes", result.peak_memory_bytes},
                {"waited_share", result.waited_share ? json(*result.waited_share) : json()},
                {"other_share", result.other_share ? json(*result.other_share) : json()},
                {"machines", result.machines},
                {"steps", result.steps_done},
                {"settings", result.settings},
                {"config", result.config},
                {"inputs", to_json(result.inputs)}});
  if (!result.best_by.empty()) entry["best_by"] = result.best_by;
  if (!result.following.empty()) entry["following_settings"] = result.following;
  if (!result.times_left_out.empty()) entry["times_left_out"] = result.times_left_out;
  if (result.choice) {
    entry["chosen"] = {{"wanted_degree", result.choice->wanted}, {"parameters", result.choice->parameters}};
  }
  entry["curve"] = ordered_json::array();
  for (const CurvePoint& point : result.curve) entry["curve"].push_back(to_json(point));
  return entry;
}

RunResult run_result_from(const json& entry) {
  try {
    RunResult result{.name = value_in<std::string>(entry, "name"),
                     .settings = object_in(entry, "settings"),
                     .config = object_in(entry, "config"),
                     .status = status_from(value_in<std::string>(entry, "status")),
                     .error = entry.value("error", ""),
                     .facts = {.attention_degree = count_in<double>(entry, "attention_degree"),
                               .num_nodes = count_in<std::int64_t>(entry, "num_nodes"),
                               .num_edges = count_in<std::int64_t>(entry, "num_edges"),
                               .length = count_in<std::int64_t>(entry, "length"),
                               .parameters = count_in<std::int64_t>(entry, "parameters")},
                     .inputs = run_inputs_from(entry.value("inputs", json())),
                     .plugins = entry.value("plugins", std::vector<std::string>()),
                     .choice = {},
                     .following = entry.value("following_settings", std::vector<std::string>()),
                     .steps_done = count_in<std::int64_t>(entry, "steps"),
                     .metrics = object_in(entry, "metrics"),
                     .best_step = {},
                     .best_by = entry.value("best_by", ""),
                     .last_metrics = entry.value("last_metrics", json::object()),
                     .remark = entry.value("remark", ""),
                     .curve = {},
                     .train_seconds = count_in<double>(entry, "train_seconds"),
                     .tokens_per_second = count_in<double>(entry, "tokens_per_second"),
                     .peak_memory_bytes = count_in<std::int64_t>(entry, "peak_memory_bytes"),
                     .machines = entry.value("machines", json::array()),
                     .waited_share = {},
                     .other_share = {},
                     .times_left_out = entry.value("times_left_out", "")};
    if (const auto chosen = entry.find("chosen"); chosen != entry.end()) {
      result.choice = {.wanted = chosen->at("wanted_degree"),
                       .parameters = chosen->at("parameters"),
                       .degree = result.facts.attention_degree};
    }
    // Results of earlier versions have none of these.
    if (const json waited = entry.value("waited_share", json()); !waited.is_null()) {
      result.waited_share = waited.get<double>();
    }
    if (const json other = entry.value("other_share", json()); !other.is_null())
      result.other_share = other.get<double>();
    if (const json best = entry.value("best_step", json()); !best.is_null())
      result.best_step = best.get<std::int64_t>();
    if (!result.machines.is_array()) {
      throw IoError("results", fmt::format("machines must be a list, not {}", json_excerpt(result.machines)));
    }
    for (const char* key : {"graph", "train"}) {
      if (result.config.contains(key)) object_in(result.config, key);
    }
    for (const json& point : entry.at("curve")) result.curve.push_back(training::curve_point_from(point));
    return result;
  } catch (const json::exception& error) {
    throw IoError("results", fmt::format("{} is not as it was written: {}", run_in_words(entry), reason_of(error)));
  } catch (const IoError& error) {
    throw IoError("results", fmt::format("{} is not as it was written: {}", run_in_words(entry), reason_of(error)));
  }
}

RunResult* Results::find(const std::string& run_name) {
  const auto found = std::ranges::find(runs, run_name, &RunResult::name);
  return found == runs.end() ? nullptr : &*found;
}

const GraphPicture* Results::picture_of(const json& graph) const {
  const auto found = std::ranges::find(pictures, graph, &GraphPicture::graph);
  return found == pictures.end() ? nullptr : &*found;
}

ordered_json to_json(const Results& results) {
  ordered_json file = {{"name", results.name},
                       {"description", results.description},
                       {"note", results.note},
                       {"experiment", results.experiment},
                       {"host", results.host},
                       {"command", results.command},
                       {"data_folders", results.data_folders},
                       {"changed_at", results.changed_at},
                       {"metric", metric_json(results.metric)}};
  file["further_metrics"] = ordered_json::array();
  for (const Metric& metric : results.further_metrics) file["further_metrics"].push_back(metric_json(metric));
  file["bounds"] = ordered_json::array();
  for (const Bound& bound : results.bounds) file["bounds"].push_back({{"name", bound.name}, {"value", bound.value}});
  file["references"] = ordered_json::array();
  for (const Reference& reference : results.references) file["references"].push_back(to_json(reference));
  file["runs"] = ordered_json::array();
  for (const RunResult& run : results.runs) file["runs"].push_back(to_json(run));
  file["pictures"] = ordered_json::array();
  for (const GraphPicture& picture : results.pictures) {
    file["pictures"].push_back({{"graph", picture.graph}, {"svg", picture.svg}});
  }
  return file;
}

void save_results(const std::string& path, const Results& results) {
  // Text from error messages may hold bytes that are no UTF-8.
  const std::string text = to_json(results).dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  AtomicFileWriter writer(path);
  writer.write(text.data(), text.size());
  writer.commit();
}

Results load_results(const std::string& path) {
  const json file = read_object(path);
  try {
    Results results{.name = value_in<std::string>(file, "name"),
                    .description = value_in<std::string>(file, "description"),
                    .note = file.value("note", ""),
                    .experiment = value_in<json>(file, "experiment"),
                    .host = value_in<json>(file, "host"),
                    .command = value_in<std::string>(file, "command"),
                    .data_folders = file.value("data_folders", std::vector<std::string>()),
                    .changed_at = file.value("changed_at", ""),
                    .metric = metric_from(object_in(file, "metric")),
                    .bounds = {},
                    .references = {},
                    .runs = {}};
    for (const json& bound : value_in<json>(file, "bounds"))
      results.bounds.push_back({bound.at("name"), bound.at("value")});
    for (const json& reference : file.value("references", json::array())) {
      results.references.push_back(reference_from(reference));
    }
    for (const json& run : value_in<json>(file, "runs")) {
      RunResult& result = results.runs.emplace_back(run_result_from(run));
      if (result.machines.empty() && !results.host.is_null()) result.machines.push_back(results.host);
    }
    if (const auto further = file.find("further_metrics"); further != file.end()) {
      for (const json& metric : *further) results.further_metrics.push_back(metric_from(metric));
    } else {
      results.further_metrics = further_metrics_of(results.runs);
    }
    require_scores_of_different_runs(results);
    for (const json& picture : file.value("pictures", json::array())) {
      results.pictures.push_back({picture.at("graph"), picture.at("svg")});
    }
    return results;
  } catch (const json::exception& error) {
    refuse(path, reason_of(error));
  } catch (const IoError& error) {
    refuse(path, reason_of(error));
  }
}

std::string time_in_words(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds % 1000);
}

std::vector<std::string> recorded_data_folders(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(folder) / "results.json";
  if (!fs::exists(file)) return {};
  std::error_code error;
  const fs::path here = fs::current_path(error);
  try {
    std::vector<std::string> folders = load_results(file.string()).data_folders;
    for (std::string& one : folders) {
      const fs::path below = fs::path(one).lexically_relative(here);
      if (!below.empty() && *below.begin() != "..") one = below.string();
    }
    return folders;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace runner
}  // namespace bough
