#include "tasks/text_classification/text_classification.h"

#include "tasks/texts/classification_run.h"

namespace bough::tasks {
namespace {

class TextClassificationTask : public ClassificationTask {
 public:
  TextClassificationTask() : ClassificationTask(false) {}

  std::string name() const override { return "text_classification"; }
  std::string summary() const override { return "say which class a text is of"; }

  std::vector<Parameter> task_parameters() const override {
    std::vector<Parameter> parameters =
        labelled_corpus_parameters({TextFormat::sst5, TextFormat::sst2, TextFormat::imdb, TextFormat::tsv});
    parameters.push_back(integer_parameter("shifts",
                                           "the test texts are also scored with 1, 2, ... up to so many placeholders "
                                           "in front of each, whose embedding is zero",
                                           {.initial = 0, .largest = 1000}));
    return parameters;
  }
};

}  // namespace

const Task& text_classification_task() {
  static const TextClassificationTask task;
  return task;
}

}  // namespace bough::tasks
