#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/graph_generator.h"

namespace bough {

using nlohmann::json;

GraphRequest read_graph_request(const json& specification, const GeneratorRegistry& registry) {
  static const ParameterTable options = {
      integer_parameter("length", "tokens of the sequence",
                        {.smallest = 1, .largest = max_sequence_length, .required = true}),
      boolean_parameter("causal", "whether tokens may depend on earlier tokens only"),
  };
  if (!specification.is_object()) {
    throw ConfigError("graph",
                      fmt::format(R"(a graph is an object like {{"kind": "bpt", "k": 4, "length": 64}}, not {})",
                                  json_excerpt(specification)));
  }
  require_json_depth(specification, "graph");  // before anything copies it, which recurses
  json parameters = specification;
  json building = json::object();
  for (const Parameter& parameter : options.parameters()) {
    if (const auto given = parameters.find(parameter.name); given != parameters.end()) {
      building[parameter.name] = *given;
      parameters.erase(given);
    }
  }
  GraphRequest request;
  // A search for the degree needs length and causality, which come before the generator then.
  if (parameters.contains("degree")) {
    const Settings settings = options.read("graph", building);
    request.choice = choose_degree(
        parameters, {.length = settings.integer("length"), .causal = settings.boolean("causal")}, registry);
  }
  request.generator = registry.make(parameters);
  const std::optional<std::int64_t> only = request.generator->fixed_length();
  if (only && !building.contains("length")) building["length"] = *only;
  const Settings settings = options.read("graph", building);
  request.options = {.length = settings.integer("length"), .causal = settings.boolean("causal")};
  return request;
}

}  // namespace bough
