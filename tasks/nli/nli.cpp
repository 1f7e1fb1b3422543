#include "tasks/nli/nli.h"

#include "tasks/texts/classification_run.h"

namespace bough::tasks {
namespace {

class NliTask : public Task {
 public:
  std::string name() const override { return "nli"; }
  std::string summary() const override {
    return "say whether a premise entails a hypothesis, contradicts it, or neither";
  }
  Metric metric() const override { return accuracy_metric(); }
  Metric selection(const RunSettings& settings) const override { return classification_selection(settings); }

  std::vector<Parameter> task_parameters() const override {
    return labelled_corpus_parameters({TextFormat::snli_tsv, TextFormat::snli_jsonl});
  }
  std::vector<Parameter> model_parameters() const override { return classifier_parameters(true); }
  std::vector<Parameter> train_parameters() const override { return classification_train_parameters(); }

  BuildOptions graph_options(const Settings& task) const override { return {.length = task.integer("degree_length")}; }
  void check(const RunSettings& settings) const override { check_classification(settings); }
  std::vector<Bound> bounds(const RunSettings&) const override { return {}; }
  std::unique_ptr<TrainingRun> start(const RunSettings& settings) const override {
    return start_classification(settings);
  }
};

}  // namespace

const Task& nli_task() {
  static const NliTask task;
  return task;
}

}  // namespace bough::tasks
