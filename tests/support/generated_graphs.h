#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "tests/support/graph_zoo.h"

namespace bough::test {

/// A graph of every attention generator that has a default for each parameter.
inline std::vector<zoo::NamedGraph> generated_graphs(std::int64_t length, bool causal = false) {
  std::vector<zoo::NamedGraph> graphs;
  for (const GeneratorDescription& description : generators().list()) {
    try {
      const auto generator = generators().make(description.name, nlohmann::json::object());
      graphs.push_back({description.name, generator->build({.length = length, .causal = causal}).graph});
    } catch (const ConfigError&) {
      // It has parameters without defaults, such as a file to read.
    }
  }
  return graphs;
}

}  // namespace bough::test
