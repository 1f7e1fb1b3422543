#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bough/core/config.h"
#include "bough/core/device.h"

/// What the runner asks of a task. A task is one folder (reader, batcher, model assembly, metric) behind this
/// interface; registry.cpp alone lists them.
namespace bough::tasks {

/// What decides between models: a number of that name in the metrics of every run.
struct Metric {
  std::string name;   ///< "bpc"
  std::string label;  ///< "bits per character"
  bool lower_is_better = true;
};

/// A value of the metric that is known without a model, shown as a line beside the results.
struct Bound {
  std::string name;
  double value = 0;
};

/// What is known of a run before its first step.
struct RunFacts {
  double attention_degree = 0;  ///< mean number of in-edges of token nodes
  std::int64_t num_nodes = 0;   ///< of the graph of one sequence
  std::int64_t num_edges = 0;
  std::int64_t length = 0;  ///< tokens of a sequence
  std::int64_t parameters = 0;
  std::int64_t tokens_per_step = 0;
  double operations_per_step = 0;  ///< floating-point operations of one training step, about
  double evaluation_steps = 0;     ///< all evaluation together, in training steps, about
  std::int64_t memory_bytes = 0;   ///< at the peak, about
};

/// One model with its data. Everything is a function of the configuration and the number of steps taken, bit for bit
/// and for any number of threads.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  virtual RunFacts facts() const = 0;
  /// One training step, counted from 1. Nothing is updated if its loss is not finite.
  virtual void step(std::int64_t step) = 0;
  enum class Losses { known, all };
  /// Losses of the steps since those of the last call, in order. Where a device computes ahead of the host, it may know
  /// none of them, unless it is asked for all and waits.
  virtual std::vector<double> losses(Losses which) = 0;
  /// Metrics on data held out for watching, and on the data that decides.
  virtual nlohmann::json validate() = 0;
  virtual nlohmann::json test() = 0;

  /// A checkpoint with everything that the next step depends on, and what the runner wants to keep with it.
  virtual void save(const std::string& path, std::map<std::string, std::string> notes) = 0;
  virtual std::map<std::string, std::string> load(const std::string& path) = 0;
};

/// One run of a sweep, checked: what the tables of the task allow, with defaults filled in.
struct RunSettings {
  Settings task, model, train;
  nlohmann::json graph;  ///< a specification as generators take it
  /// Where relative paths of data files are looked up, in this order.
  std::vector<std::string> data_folders = {};
  Device device = Device::cpu();
};

/// One kind that an object in JSON may be, and the keys that it then has.
struct ObjectKind {
  std::string name, summary;
  ParameterTable parameters;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual std::string name() const = 0;  ///< "kind" in JSON
  virtual std::string summary() const = 0;
  virtual Metric metric() const = 0;
  /// Keys of "task", without "kind"; keys of "model"; keys of "train" beside those that all tasks share
  /// (training::training_parameters).
  virtual std::vector<Parameter> task_parameters() const = 0;
  virtual std::vector<Parameter> model_parameters() const = 0;
  virtual std::vector<Parameter> train_parameters() const { return {}; }
  /// Objects among task_parameters() whose keys depend on their "kind", by name.
  virtual std::map<std::string, std::vector<ObjectKind>> object_kinds() const { return {}; }
  /// ConfigError for what the tables cannot tell. Reads no files.
  virtual void check(const RunSettings& settings) const = 0;
  virtual std::vector<Bound> bounds(const RunSettings& settings) const = 0;
  /// Reads the data and makes the model.
  virtual std::unique_ptr<TrainingRun> start(const RunSettings& settings) const = 0;
};

}  // namespace bough::tasks
