#pragma once

#include <memory>

#include "tasks/task.h"

namespace bough::tasks {

/// Reads the data and makes the model.
std::unique_ptr<TrainingRun> start_translation_run(const RunSettings& settings);

}  // namespace bough::tasks
