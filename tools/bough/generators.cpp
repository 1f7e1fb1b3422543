#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/graph/plugin.h"
#include "graph/generators/wanted_degree.h"
#include "tasks/runner/key_reference.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

void print_generators_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GeneratorDescription& description : generators().list()) {
    const std::string solved = degree_parameter(description);
    list.push_back({{"name", description.name},
                    {"summary", description.summary},
                    {"causal", description.causal},
                    {"origin", description.origin},
                    {"parameters", description.parameters.to_json()},
                    {"degree_parameter", solved.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(solved)}});
  }
  fmt::print("{}\n", list.dump(2));
}

void print_generators() {
  for (const GeneratorDescription& description : generators().list()) {
    fmt::print("{}", description.name);
    if (!description.summary.empty()) fmt::print(": {}", description.summary);
    if (!description.causal) fmt::print("; not for causal use");
    if (description.origin != "built in") fmt::print(" [{}]", description.origin);
    fmt::print("\n{}", runner::specification_keys(description).help());
  }
  fmt::print(
      "\nEvery graph also takes \"length\" (tokens, from 1 to {}) and \"causal\" (default false). The attention degree "
      "is "
      "the mean number of nodes that a token attends to; where it can be given, the other parameter is solved for "
      "it.\n",
      max_sequence_length);
}

}  // namespace

void run_generators(const GeneratorsCommand& command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  (command.json ? print_generators_json : print_generators)();
}

}  // namespace bough::cli
