#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/graph/plugin.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

struct GeneratorsOptions {
  std::vector<std::string> plugins;
  bool json = false;
};

void print_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GeneratorDescription& description : generators().list()) {
    list.push_back({{"name", description.name},
                    {"summary", description.summary},
                    {"causal", description.causal},
                    {"origin", description.origin},
                    {"parameters", to_json(description.parameters)}});
  }
  fmt::print("{}\n", list.dump(2));
}

void print_text() {
  for (const GeneratorDescription& description : generators().list()) {
    fmt::print("{}", description.name);
    if (!description.summary.empty()) fmt::print(": {}", description.summary);
    if (!description.causal) fmt::print("; not for causal use");
    if (description.origin != "built in") fmt::print(" [{}]", description.origin);
    fmt::print("\n{}", describe(description.parameters));
  }
  fmt::print("\nEvery graph also takes \"length\" (tokens, from 1 to {}) and \"causal\" (default false).\n",
             max_sequence_length);
}

}  // namespace

void add_generators_command(Commands& commands) {
  const auto options = std::make_shared<GeneratorsOptions>();
  CLI::App& command =
      commands.add("generators", "List attention patterns with their parameters and defaults", [options] {
        for (const std::string& library : options->plugins) load_plugin(library);
        (options->json ? print_json : print_text)();
      });
  command.add_flag("--json", options->json, "One JSON list");
  command
      .add_option("--plugin", options->plugins, "A shared library with further patterns; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace bough::cli
