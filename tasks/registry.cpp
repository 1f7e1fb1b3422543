#include "tasks/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "src/core/nearest_name.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/nli/nli.h"
#include "tasks/text_classification/text_classification.h"
#include "tasks/translation/translation.h"

namespace bough::tasks {

const std::vector<const Task*>& all_tasks() {
  static const std::vector<const Task*> all = {&char_lm_task(), &text_classification_task(), &nli_task(),
                                               &translation_task()};
  return all;
}

const Task& task_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Task* task : all_tasks()) {
    if (task->name() == name) return *task;
    known.push_back(task->name());
  }
  const std::string nearest = nearest_name(name, known);
  throw ConfigError("experiment", fmt::format("there is no task '{}'{}; known are {}", name,
                                              nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                                              fmt::join(known, ", ")));
}

}  // namespace bough::tasks
