#include "tasks/nli/nli.h"

#include "tasks/texts/classification_run.h"

namespace bough::tasks {
namespace {

class NliTask : public ClassificationTask {
 public:
  NliTask() : ClassificationTask(true) {}

  std::string name() const override { return "nli"; }
  std::string summary() const override {
    return "say whether a premise entails a hypothesis, contradicts it, or neither";
  }

  std::vector<Parameter> task_parameters() const override {
    return labelled_corpus_parameters({TextFormat::snli_tsv, TextFormat::snli_jsonl});
  }
};

}  // namespace

const Task& nli_task() {
  static const NliTask task;
  return task;
}

}  // namespace bough::tasks
