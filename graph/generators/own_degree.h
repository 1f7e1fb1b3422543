#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "bough/graph/graph_generator.h"

namespace bough {

/// For patterns whose own parameter is called "degree" and means something else (expander): takes the "degree" of the
/// specification as a wanted attention degree and replaces it by the value of the parameter that comes nearest to it.
/// Nothing for all other patterns. Where patterns are compared at equal degrees, one key has to mean one thing; errors
/// and cost as choose_degree.
std::optional<DegreeChoice> choose_own_degree(nlohmann::json& specification, const BuildOptions& options,
                                              const GeneratorRegistry& registry = generators());

}  // namespace bough
