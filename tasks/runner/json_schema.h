#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bough/core/config.h"
#include "tasks/task.h"

namespace bough::runner {

/// The JSON Schema (draft 2020-12) of an object whose keys a table describes; editors complete and check with it.
nlohmann::json json_schema(const ParameterTable& table);

/// The schema of whole experiments, with every registered generator and every task, or with these. Which keys there are
/// follows from the kind of the task; the first one is meant where none is given.
nlohmann::json experiment_schema();
nlohmann::json experiment_schema(const std::vector<const tasks::Task*>& tasks);

}  // namespace bough::runner
