#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bough/core/config.h"

namespace bough::runner {

/// The JSON Schema (draft 2020-12) of an object whose keys a table describes; editors complete and check with it.
nlohmann::json json_schema(const ParameterTable& table);

/// The schema of whole experiments, with every registered generator and every task.
nlohmann::json experiment_schema();

}  // namespace bough::runner
