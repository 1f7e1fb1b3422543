#include "tasks/text_classification/text_classification.h"

#include "tasks/texts/classification_run.h"

namespace bough::tasks {
namespace {

class TextClassificationTask : public Task {
 public:
  std::string name() const override { return "text_classification"; }
  std::string summary() const override { return "say which class a text is of"; }
  Metric metric() const override { return accuracy_metric(); }
  Metric selection(const RunSettings& settings) const override { return classification_selection(settings); }

  std::vector<Parameter> task_parameters() const override {
    std::vector<Parameter> parameters =
        labelled_corpus_parameters({TextFormat::sst5, TextFormat::sst2, TextFormat::imdb, TextFormat::tsv});
    parameters.push_back(integer_parameter("shifts",
                                           "the test texts are also scored with 1, 2, ... up to so many placeholders "
                                           "in front of each, whose embedding is zero",
                                           {.initial = 0, .largest = 1000}));
    return parameters;
  }
  std::vector<Parameter> model_parameters() const override { return classifier_parameters(false); }
  std::vector<Parameter> train_parameters() const override { return classification_train_parameters(); }

  BuildOptions graph_options(const Settings& task) const override { return {.length = task.integer("degree_length")}; }
  void check(const RunSettings& settings) const override { check_classification(settings); }
  std::vector<Bound> bounds(const RunSettings&) const override { return {}; }
  std::unique_ptr<TrainingRun> start(const RunSettings& settings) const override {
    return start_classification(settings);
  }
};

}  // namespace

const Task& text_classification_task() {
  static const TextClassificationTask task;
  return task;
}

}  // namespace bough::tasks
