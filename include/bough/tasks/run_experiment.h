#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/core/device.h"

namespace bough {

/// How a run stands; `running` is one that was stopped before its end, and saved.
enum class RunStatus { running, done, failed };
/// "running", "done", "failed".
const char* to_string(RunStatus status);

/// One run of an experiment, after it has ended.
struct RunOutcome {
  std::string name;                       ///< by what differs from the others: "bpt-k4-seed1"
  RunStatus status = RunStatus::running;  ///< how it ended
  std::string error = {};                 ///< why it failed
  double attention_degree = 0;            ///< mean number of nodes a token attends to
  /// Edges of the graph of one sequence, trained numbers, steps made.
  std::int64_t num_edges = 0, parameters = 0, steps = 0;
  /// Numbers by name ("bpc", "valid_bpc") of the parameters that were best on the validation data, at best_step, and of
  /// those after the last step. Empty unless the run is done.
  std::map<std::string, double> metrics = {}, last_metrics = {};
  std::optional<std::int64_t> best_step = {};
  double train_seconds = 0, tokens_per_second = 0;
  std::int64_t peak_memory_bytes = 0;

  /// The metric of that name; IndexError if it is not there, with the reason where the run has failed or was stopped.
  double metric(const std::string& which) const;
};

/// What is known of a run before it starts, or why it cannot.
struct RunEstimate {
  std::string name;  ///< as RunOutcome::name
  /// Which parameter was chosen for a graph that asks for a "degree", as a sentence; empty: it does not ask.
  std::string choice = {};
  std::string error = {};       ///< why it cannot start
  double attention_degree = 0;  ///< mean number of nodes a token attends to
  /// Nodes and edges of the graph of one sequence; its tokens; trained numbers of the model.
  std::int64_t num_nodes = 0, num_edges = 0, length = 0, parameters = 0;
  std::int64_t memory_bytes = 0;  ///< at the peak, about
  double seconds = 0;             ///< on one core, about
};

/// What an experiment will do.
struct ExperimentPlan {
  std::string name;               ///< of the experiment
  std::string metric;             ///< what decides, by name: "bpc"
  std::vector<RunEstimate> runs;  ///< in the order in which they start
  int jobs = 1;                   ///< runs side by side
  double seconds = 0;             ///< of all runs, about
  /// What is to be known of the data, each sentence once: sizes, lines left out, words with published vectors.
  std::vector<std::string> remarks = {};
  std::vector<std::string> further_metrics = {};  ///< what else runs are scored by, by name: "perplexity"
};

/// How far a run is.
struct RunProgress {
  /// Steps made, and steps in all.
  std::int64_t step = 0, steps = 0;
  double loss = 0;                                           ///< mean since the last time it was told
  double metric = std::numeric_limits<double>::quiet_NaN();  ///< on the validation data; NaN before the first time
  double tokens_per_second = 0;                              ///< in training
  std::int64_t memory_bytes = 0;                             ///< at the peak so far
  double seconds_left = 0;                                   ///< until its end, about
};

/// Callbacks for progress and results. Every call comes from the thread that called run_experiment. What a callback
/// throws leaves run_experiment, after the runs under way have been saved as by should_stop; no further callback is
/// made, and with `resume` they go on.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Everything is checked, nothing has started.
  virtual void on_plan(const ExperimentPlan& /*plan*/) {}
  /// About twice a second for each run.
  virtual void on_progress(const std::string& /*run*/, const RunProgress& /*progress*/) {}
  /// A run has ended, or was done already.
  virtual void on_result(const RunOutcome& /*result*/, bool /*was_done_before*/) {}
  /// Asked between steps; true saves the runs under way and ends.
  virtual bool should_stop() { return false; }
};

/// How run_experiment runs.
struct RunOptions {
  /// results.json, experiment.json and runs/NAME/ (log and checkpoints) go there. Empty: nothing is left on the disk.
  std::string folder = {};
  /// Where relative paths of data files are looked up, in this order. With `resume`, and where experiment_file is the
  /// experiment.json of a folder of results, the folders in which its data was looked up before come last.
  std::vector<std::string> data_folders = {};
  /// The file that the experiment was read from. What it "extends" is looked up beside it, without a file in the
  /// current folder, then in data_folders; data is looked up beside the extended files too, last.
  std::string experiment_file = {};
  std::vector<std::string> overrides = {};  ///< "train.steps=50", as --set of the command line
  std::vector<std::string> plugins = {};    ///< shared libraries with further patterns
  Device device = Device::cpu();            ///< where models train
  /// Unfinished runs in the folder go on from their checkpoints. How often they are logged and saved may have changed,
  /// and the number of steps too where the steps before do not depend on it: with a constant or noam schedule, or an
  /// exponential one with an epoch_factor.
  bool resume = false;
  /// Event files for TensorBoard in runs/NAME/tensorboard of the folder; tensorboard --logdir FOLDER/runs shows them.
  bool tensorboard = false;
  bool plan_only = false;  ///< ends after on_plan
  /// Runs side by side, each in a process of its own; 1 runs them here, one after the other; 0 is what the experiment
  /// says, or one a core as long as the memory lasts. More than one needs a worker program.
  int jobs = 1;
  /// A program that trains one run when its only argument is run-worker, as `bough` does.
  std::string worker_program = {};
  bool handle_signals = false;      ///< the first SIGINT or SIGTERM saves the runs under way and ends
  std::string command = {};         ///< how to repeat it, for reports
  RunObserver* observer = nullptr;  ///< told of progress, if there is one
};

/// What run_experiment returns.
struct ExperimentResults {
  std::vector<RunOutcome> runs;  ///< those of the folder that were done before included
  int failed = 0;                ///< runs that failed in this call
  bool interrupted = false;      ///< stopped by the observer or a signal
  /// Everything, with learning curves and configurations: the contents of results.json.
  std::shared_ptr<const nlohmann::json> document = {};
};

/// Trains and scores every run of an experiment, as `bough run` does:
///
///   const auto results = bough::run_experiment({{"graph", {{"kind", "bpt"}, {"k", 4}}}, {"train", {{"steps", 50}}}});
///   for (const bough::RunOutcome& run : results.runs) std::cout << run.name << " " << run.metric("bpc") << "\n";
///
/// An experiment is a JSON object {"task", "model", "graph", "train", "sweep", ...}; `bough run --schema` prints all
/// keys, and what is left out has defaults, but for the graph; one that "extends" another file says only how it differs
/// from it, and results.json and experiment.json in the folder have the whole. Runs that the folder's results.json
/// lists as done are not repeated. A run that fails is recorded, and the others go on. The same results, bit for bit,
/// for any number of jobs and threads, interrupted and resumed or not.
///
/// ConfigError for anything in the experiment that is not allowed, naming the key and the nearest known one, and for a
/// folder that holds another experiment, a run of the same name with another configuration, a run made from data files
/// or a graph that have changed since, or, without `resume`, a run that has begun and is not finished: nothing in it is
/// changed then. IoError, one for all runs, if data cannot be
/// read; Error with the reason if no run at all can start; IoError if the folder cannot be written to or another
/// process is at work in it.
ExperimentResults run_experiment(const nlohmann::json& experiment, const RunOptions& options = {});

}  // namespace bough
