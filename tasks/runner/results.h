#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/tasks/run_experiment.h"
#include "tasks/runner/experiment.h"
#include "tasks/runner/run_inputs.h"
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
  RunInputs inputs = {};
  std::vector<std::string> plugins = {};    ///< libraries that its graph comes from
  std::optional<DegreeChoice> choice = {};  ///< for a graph that asked for a "degree"
  std::vector<std::string> following = {};  ///< paths of settings that follow from others of their zip
  std::int64_t steps_done = 0;
  /// Of the parameters that were best on the validation data, at best_step; those after the last step beside it.
  nlohmann::json metrics = nlohmann::json::object();
  std::optional<std::int64_t> best_step = {};
  std::string best_by = {};  ///< the number of the validation data that decided best_step; empty: the metric
  nlohmann::json last_metrics = nlohmann::json::object();
  std::string remark = {};  ///< why a number of last_metrics is null; empty if none is
  std::vector<CurvePoint> curve = {};
  double train_seconds = 0;  ///< without evaluation
  double tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0;
  /// What the times depend on, as training::TrainingOutcome has it; results of earlier versions name the machine of the
  /// whole file, and do not tell the share of the processor time that the run had to wait for.
  nlohmann::json machines = nlohmann::json::array();
  std::optional<double> waited_share = {};
  /// Share of the processor time of the whole machine that programs other than this experiment used meanwhile.
  std::optional<double> other_share = {};
  /// Why a person has left its times out of reports; empty if they are shown.
  std::string times_left_out = {};
};

/// A metric of the run; NaN if it has none of that name.
double metric_of(const RunResult& result, const std::string& name);

nlohmann::ordered_json to_json(const RunResult& result);
/// IoError if something that is needed is missing or of another type.
RunResult run_result_from(const nlohmann::json& entry);

/// What a graph looks like, so that reports can show it where its plug-in is not.
struct GraphPicture {
  nlohmann::json graph;  ///< its specification
  std::string svg;
};

/// One of the experiments that a comparison joins.
struct JoinedExperiment {
  std::string name;  ///< with which the names of its runs begin
  std::string description;
  nlohmann::json experiment, host;  ///< as in Results
};

/// Everything a report needs: the file that stays valid JSON whatever happens.
struct Results {
  std::string name, description;
  std::string note = {};      ///< a remark of a person on these figures
  nlohmann::json experiment;  ///< as given, with what --set changed
  nlohmann::json host;
  std::string command;  ///< how to repeat it
  /// Whole paths of where its data was looked up, but for the folder of the results; none in those of earlier versions.
  std::vector<std::string> data_folders = {};
  /// When a run last began or ended, UTC, "2026-01-31T12:00:00.000Z"; empty in those of earlier versions.
  std::string changed_at = {};
  Metric metric;
  std::vector<Metric> further_metrics = {};  ///< of the task; numbers that not every run need have
  std::vector<Bound> bounds;
  std::vector<Reference> references = {};
  std::vector<RunResult> runs;
  std::vector<GraphPicture> pictures = {};  ///< of every graph of the runs that can be drawn
  /// Of report::combine, which has no description, experiment and host of its own; no part of the file.
  std::vector<JoinedExperiment> joined = {};

  RunResult* find(const std::string& run_name);
  /// Nothing if there is none, as in results of earlier versions.
  const GraphPicture* picture_of(const nlohmann::json& graph) const;
};

/// The contents of results.json.
nlohmann::ordered_json to_json(const Results& results);
/// Replaces the file atomically. Numbers that are not finite become null.
void save_results(const std::string& path, const Results& results);
/// IoError if the file is not there or is not one of ours.
Results load_results(const std::string& path);

/// A time as Results::changed_at has it. Later times are greater texts.
std::string time_in_words(std::chrono::system_clock::time_point time);

/// Results::data_folders of the results in a folder, those below the working directory relative to it, as graphs from
/// files are named in configurations; none if there are no results that can be read.
std::vector<std::string> recorded_data_folders(const std::string& folder);

}  // namespace bough::runner
