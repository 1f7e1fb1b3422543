#include "tools/bough/commands.h"

#include <utility>

namespace bough::cli {

CLI::App& Commands::add(const std::string& name, const std::string& description, std::function<void()> run) {
  CLI::App* app = program_.add_subcommand(name, description);
  app->fallthrough();  // --threads may stand before or after the command
  entries_.push_back({app, std::move(run)});
  return *app;
}

bool Commands::run() const {
  for (const Entry& entry : entries_) {
    if (entry.app->parsed()) {
      entry.run();
      return true;
    }
  }
  return false;
}

std::vector<std::string> Commands::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) result.push_back(entry.app->get_name());
  return result;
}

}  // namespace bough::cli
