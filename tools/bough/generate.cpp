#include "tasks/language_model/generate.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "bough/graph/plugin.h"
#include "tasks/runner/train_run.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

struct GenerateCommand {
  std::string checkpoint;
  std::vector<std::string> plugins;
  GenerateOptions options;
};

void run_generate(GenerateCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  if (std::filesystem::is_directory(command.checkpoint)) {
    command.checkpoint = (std::filesystem::path(command.checkpoint) / runner::checkpoint_file).string();
  }
  fmt::print("{}", command.options.prompt);
  command.options.on_character = [](char c) {
    std::fputc(c, stdout);
    std::fflush(stdout);
  };
  generate_text(command.checkpoint, command.options);
  fmt::print("\n");
}

}  // namespace

void add_generate_command(Commands& commands) {
  const auto given = std::make_shared<GenerateCommand>();
  CLI::App& command = commands.add("generate", "Continue a text with a model that bough run has trained",
                                   [given] { run_generate(*given); });
  command.add_option("checkpoint", given->checkpoint, "A checkpoint, or the folder of a run (DIR/runs/NAME)")
      ->type_name("FILE")
      ->required();
  command.add_option("--prompt", given->options.prompt, "What the text begins with")->type_name("TEXT");
  command.add_option("--count", given->options.count, "Characters to add")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->capture_default_str();
  command.add_option("--temperature", given->options.temperature, "0 takes the likeliest character each time")
      ->type_name("T")
      ->capture_default_str();
  command.add_option("--seed", given->options.seed, "Of the choices")->type_name("N")->capture_default_str();
  command.add_option("--plugin", given->plugins, "A shared library with further patterns; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace bough::cli
