#pragma once

#include "tasks/task.h"

namespace bough::tasks {

/// Natural language inference: whether a premise entails a hypothesis, contradicts it, or neither.
const Task& nli_task();

}  // namespace bough::tasks
