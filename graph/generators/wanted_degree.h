#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bough/graph/graph_generator.h"

namespace bough {

/// What a wanted "degree" of a pattern decides: the parameter of its rule; "of" for a pattern around one other, whose
/// parameter it is then; empty if the degree cannot be chosen, as that of several patterns together.
std::string degree_parameter(const GeneratorDescription& description);

/// Whether a "degree" can be added to a specification: it is a parameter of the pattern itself, or there is one for it,
/// perhaps in a pattern within, that is not given.
bool has_open_degree(const nlohmann::json& specification, const GeneratorRegistry& registry = generators());

/// For patterns whose own parameter is called "degree" and means something else (expander): takes the "degree" of the
/// specification as a wanted attention degree and replaces it by the value of the parameter that comes nearest to it.
/// Nothing for all other patterns. Where patterns are compared at equal degrees, one key has to mean one thing; errors
/// and cost as choose_degree.
std::optional<DegreeChoice> choose_own_degree(nlohmann::json& specification, const BuildOptions& options,
                                              const GeneratorRegistry& registry = generators());

}  // namespace bough
