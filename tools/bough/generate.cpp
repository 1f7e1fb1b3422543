#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "bough/graph/plugin.h"
#include "tasks/training/training_loop.h"
#include "tools/bough/commands.h"

namespace bough::cli {
void run_generate(GenerateCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  if (std::filesystem::is_directory(command.checkpoint)) {
    const std::filesystem::path folder = command.checkpoint;
    const bool best = !command.last && std::filesystem::exists(folder / training::best_file);
    command.checkpoint = (folder / (best ? training::best_file : training::checkpoint_file)).string();
  }
  command.options.device = parse_device(command.device);
  fmt::print("{}", command.options.prompt);
  command.options.on_character = [](char c) {
    std::fputc(c, stdout);
    std::fflush(stdout);
  };
  generate_text(command.checkpoint, command.options);
  fmt::print("\n");
}

}  // namespace bough::cli
