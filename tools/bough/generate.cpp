#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tools/bough/commands.h"
#include "tools/bough/trained_run.h"

namespace bough::cli {

void run_generate(GenerateCommand command) {
  for (const std::string& library : command.plugins) load_plugin(library);
  const std::optional<std::string> checkpoint = find_checkpoint("generate", command.checkpoint, command.last);
  if (!checkpoint) return;
  command.options.device = parse_device(command.device);
  warn_of_another_graph(*checkpoint);
  // The prompt comes with the first new text: nothing is printed for one that the model cannot read.
  std::string before = command.options.prompt;
  const bool one = command.samples == 1;
  if (one) {
    command.options.on_text = [&before](std::string_view text) {
      fmt::print("{}", std::exchange(before, ""));
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
  }
  try {
    const std::vector<std::string> texts = generate_texts(*checkpoint, command.options, command.samples);
    for (std::size_t i = 0; !one && i < texts.size(); ++i) {
      fmt::print("{}==> {} of {} <==\n{}", i == 0 ? "" : "\n", i + 1, texts.size(), texts[i]);
    }
  } catch (const ConfigError& error) {
    const std::string text = error.what(), place = "[vocabulary] ";
    if (!text.starts_with(place)) throw;
    throw ConfigError("--prompt", text.substr(place.size()));  // the only text that is read here
  }
  fmt::print("\n");
}

}  // namespace bough::cli
