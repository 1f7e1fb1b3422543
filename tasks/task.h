#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bough/core/config.h"
#include "bough/core/device.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/module.h"

/// What the runner asks of a task. A task is one folder (reader, batcher, model assembly, metric) behind this
/// interface; registry.cpp alone lists them.
namespace bough::tasks {

/// A number of that name in the metrics of every run, by which models are compared.
struct Metric {
  std::string name;   ///< "bpc"
  std::string label;  ///< "bits per character"
  bool lower_is_better = true;
  /// A value that only a model has that has learned less than nothing: far beyond what guessing gives. Runs that end
  /// beyond it have diverged. NaN: there is none.
  double hopeless = std::numeric_limits<double>::quiet_NaN();
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
  double validation_steps = 0;     ///< one evaluation on the validation data, in training steps, about
  double test_steps = 0;           ///< the same on the test data
  std::int64_t memory_bytes = 0;   ///< at the peak, about
};

/// Data held out from training: for watching it, and for the score that decides.
enum class Split { valid, test };

/// Tensors of one micro-batch: what the model reads and what it should predict.
using Batch = std::vector<Tensor>;

/// Where a micro-batch stands in the course of training; steps count from 1, the parts of a step from 0.
struct StepPosition {
  std::int64_t step = 1, steps = 1, part = 0;
};

/// One model with its data: what the training loop (tasks/training) trains. Everything is a function of the
/// configuration, the number of the step and state(), bit for bit and for any number of threads.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  virtual RunFacts facts() const = 0;
  /// On the device of the run.
  virtual nn::Module& model() = 0;
  /// Steps in which the training data is seen about once; at least 1.
  virtual std::int64_t steps_per_epoch() const = 0;

  /// A micro-batch of a step, on the device of the run; part 0 .. train.gradient_accumulation - 1. All parts of a step
  /// together are what the step has without gradient accumulation. Shapes must not change if steps are captured.
  virtual Batch batch(std::int64_t step, std::int64_t part) = 0;
  /// The mean loss of a batch, one element. Called once for each part of each step, in order.
  virtual Tensor loss(const Batch& batch, StepPosition at) = 0;
  /// What that mean was taken over (targets, sequences), in the same unit for all batches.
  virtual double count(const Batch& batch) const = 0;
  /// Whether from this step on loss() depends on nothing but the batch, so that it may be captured once and replayed.
  virtual bool can_replay(StepPosition /*at*/) const { return true; }

  /// Metrics by name, the task's metric() among them.
  virtual nlohmann::json evaluate(Split split) = 0;
  /// What the next step depends on beside the parameters, such as states that a model remembers of the text before.
  virtual nn::Module::NamedTensors state() const { return {}; }
  /// Tensors that state() gave after so many steps, of a run with the same configuration, on any device. IoError if
  /// they are not such.
  virtual void load_state(const nn::Module::NamedTensors& /*state*/) {}
  /// What checkpoints must hold beside the parameters, for programs that use the model.
  virtual std::map<std::string, std::string> notes() const { return {}; }
  /// What a reader of the log should know about the data: sizes, what was left out, how much of it is known. A line
  /// each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// What Task::bounds cannot know without the data, such as the score of guessing the most frequent class.
  virtual std::vector<Bound> bounds() const { return {}; }
};

/// One run of a sweep, checked: what the tables of the task allow, with defaults filled in.
struct RunSettings {
  Settings task, model, train;
  nlohmann::json graph;  ///< a specification as generators take it
  /// Where relative paths of data files are looked up, in this order.
  std::vector<std::string> data_folders = {};
  Device device = Device::cpu();
  /// Checkpoint from which the run will go on, whose notes a task may read; empty: it begins.
  std::string checkpoint = {};
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
  /// Further numbers in the metrics of every run, which reports show beside metric(), in this order.
  virtual std::vector<Metric> further_metrics() const { return {}; }
  /// Which number of the validation data decides between the checkpoints of one run and when to stop early; progress
  /// and reports stay with metric().
  virtual Metric selection(const RunSettings& /*settings*/) const { return metric(); }
  /// Keys of "task", without "kind"; keys of "model"; keys of "train" beside those that all tasks share
  /// (training::training_parameters).
  virtual std::vector<Parameter> task_parameters() const = 0;
  virtual std::vector<Parameter> model_parameters() const = 0;
  virtual std::vector<Parameter> train_parameters() const { return {}; }
  /// Objects among task_parameters() whose keys depend on their "kind", by name.
  virtual std::map<std::string, std::vector<ObjectKind>> object_kinds() const { return {}; }
  /// What graphs are built for: the length and causality at which a graph's wanted "degree" is solved.
  virtual BuildOptions graph_options(const Settings& task) const = 0;
  /// ConfigError for what the tables cannot tell. Reads no files.
  virtual void check(const RunSettings& settings) const = 0;
  /// Why another number of steps would change the steps before its end too, as the end of a sentence; empty if it would
  /// not. About losses and data: what training itself takes from the number is known without asking.
  virtual std::string why_length_is_fixed(const RunSettings& /*settings*/) const { return ""; }
  virtual std::vector<Bound> bounds(const RunSettings& settings) const = 0;
  /// Reads the data and makes the model.
  virtual std::unique_ptr<TrainingRun> start(const RunSettings& settings) const = 0;
};

}  // namespace bough::tasks
