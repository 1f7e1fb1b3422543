#pragma once

#include <memory>

#include "bough/graph/graph_generator.h"

namespace bough {

/// What GeneratorRegistry::make hands out: the generator under its name, which keeps the promises of GraphGenerator or
/// says in its author's terms which one is broken.
///
/// Everything that the generator throws leaves as an Error that names the pattern, what was asked of it and, for a
/// plug-in, the library. Each graph is checked as build_checked does.
std::unique_ptr<GraphGenerator> checked_generator(std::unique_ptr<GraphGenerator> generator,
                                                  const GeneratorDescription& description);

/// Calls a factory; what it throws leaves as an Error that names the pattern. ConfigError if it returns nothing.
std::unique_ptr<GraphGenerator> make_named(const GeneratorDescription& description,
                                           const std::function<std::unique_ptr<GraphGenerator>()>& factory);

/// registry.make for a pattern within another; `place` is its key there, "of" or "of[1]". A ConfigError names the whole
/// way to it: "[of[1].of] window: unknown key ...".
std::unique_ptr<GraphGenerator> make_member(const GeneratorRegistry& registry, const nlohmann::json& specification,
                                            const std::string& place);

}  // namespace bough
