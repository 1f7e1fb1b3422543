#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tasks/runner/references.h"
#include "tasks/runner/run_name.h"
#include "tasks/task.h"

namespace bough::runner {

/// One run of a sweep.
struct PlannedRun {
  std::string name;            ///< run_name(), and a number where that is taken; also the name of its folder
  nlohmann::json config;       ///< {"task", "model", "graph", "train"}: checked, with every default
  nlohmann::json settings;     ///< what the sweep sets: {"train.seed": 1, ...}
  tasks::RunSettings checked;  ///< config as the task takes it
  std::optional<DegreeChoice> choice = {};  ///< for a graph that asks for a "degree"; config has the parameter
  std::vector<std::string> following = {};  ///< paths of settings that follow from others of their zip
};

/// A checked experiment: JSON as api users write it, and the runs that follow from it.
struct Experiment {
  std::string name;
  std::string description;
  /// As given, with what it extends, what --set changed and all libraries that its patterns come from.
  nlohmann::json source;
  const tasks::Task* task = nullptr;
  std::vector<PlannedRun> runs;
  std::int64_t jobs = 0;  ///< runs side by side; 0 = as many as there are cores
  std::vector<Reference> references = {};
};

/// What an experiment for this task may hold.
ParameterTable experiment_parameters(const tasks::Task& task);

/// Where an experiment finds files and what it runs on.
struct ExperimentOptions {
  std::vector<std::string> overrides = {};     ///< "train.steps=50"; a path that is swept is swept no more
  std::vector<std::string> data_folders = {};  ///< looked up in this order
  Device device = Device::cpu();
  std::string file = {};  ///< that it comes from; "extends" is relative to it, or to the current folder without one
};

/// Merges what the experiment extends (extends.h), applies overrides and checks everything that needs no data.
/// ConfigError naming the key, with the nearest known one, for anything that is not allowed and the value of the sweep
/// that it comes from, for a sweep without values and for two runs that are the same. Loads the plug-ins it names,
/// which are looked up like data.
Experiment read_experiment(nlohmann::json source, const ExperimentOptions& options = {});

/// The name of an experiment with these overrides, as a file name; checks nothing else and extends nothing.
std::string experiment_name(nlohmann::json source, const std::vector<std::string>& overrides = {});

/// Sets one value: the path's objects are made as needed. The text is JSON or else a plain string. ConfigError unless
/// it looks like path=value.
void apply_override(nlohmann::json& source, const std::string& text);

/// A checked configuration as the task takes it.
tasks::RunSettings settings_of(const nlohmann::json& config, std::vector<std::string> data_folders, Device device);

/// The configuration of a run that was saved earlier, with the defaults of keys that have been added to experiments
/// since; as it is where it is no longer a valid one.
nlohmann::json completed_config(const nlohmann::json& saved);

/// The first path at which two configurations differ, or nothing.
std::string first_difference(const nlohmann::json& a, const nlohmann::json& b);

/// The experiment that `bough run` without a file runs; it needs no data.
nlohmann::json default_experiment();

}  // namespace bough::runner
