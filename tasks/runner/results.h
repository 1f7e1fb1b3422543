#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/tasks/run_experiment.h"
#include "tasks/runner/experiment.h"
#include "tasks/training/training_loop.h"

namespace bough::runner {

using bough::RunStatus;
using tasks::Bound;
using tasks::Metric;
using tasks::RunFacts;
using training::CurvePoint;

/// What results.json says of one run.
struct RunResult {
  std::string name;
  nlohmann::json settings, config;
  RunStatus status = RunStatus::running;
  std::string error = {};
  RunFacts facts = {};
  std::optional<DegreeChoice> choice = {};  ///< for a graph that asked for a "degree"
  std::int64_t steps_done = 0;
  /// Of the parameters that were best on the validation data, at best_step; those after the last step beside it.
  nlohmann::json metrics = nlohmann::json::object();
  std::optional<std::int64_t> best_step = {};
  nlohmann::json last_metrics = nlohmann::json::object();
  std::vector<CurvePoint> curve = {};
  double train_seconds = 0;  ///< without evaluation
  double tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0;
};

/// A metric of the run; NaN if it has none of that name.
double metric_of(const RunResult& result, const std::string& name);

nlohmann::ordered_json to_json(const RunResult& result);
/// IoError if something that is needed is missing or of another type.
RunResult run_result_from(const nlohmann::json& entry);

/// Everything a report needs: the file that stays valid JSON whatever happens.
struct Results {
  std::string name, description;
  std::string note = {};      ///< a remark of a person on these figures
  nlohmann::json experiment;  ///< as given, with what --set changed
  nlohmann::json host;
  std::string command;  ///< how to repeat it
  Metric metric;
  std::vector<Bound> bounds;
  std::vector<RunResult> runs;

  RunResult* find(const std::string& run_name);
};

/// The contents of results.json.
nlohmann::ordered_json to_json(const Results& results);
/// Replaces the file atomically. Numbers that are not finite become null.
void save_results(const std::string& path, const Results& results);
/// IoError if the file is not there, ConfigError or IoError if it is not one of ours.
Results load_results(const std::string& path);

}  // namespace bough::runner
