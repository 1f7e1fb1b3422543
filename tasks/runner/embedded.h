#pragma once

#include <string_view>

namespace bough {

/// tasks/experiments/default.json
extern const std::string_view default_experiment_text;

}  // namespace bough
