#pragma once

#include <string>
#include <vector>

#include "tasks/task.h"

namespace bough::tasks {

/// All tasks there are; registry.cpp lists them. The first is the one that an experiment without task.kind means.
const std::vector<const Task*>& all_tasks();

/// ConfigError naming the nearest and all known ones if there is none of that name.
const Task& task_named(const std::string& name);

}  // namespace bough::tasks
