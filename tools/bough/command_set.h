#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// What the program can be asked for. CLI11 takes long to compile: only command_line.cpp and command_set.cpp know it.
namespace bough::cli {

/// The commands of a program and what they run.
class Commands {
 public:
  explicit Commands(CLI::App& program) : program_(program) {}

  /// Declares a command; the caller adds its options to what is returned.
  CLI::App& add(const std::string& name, const std::string& description, std::function<int()> run) {
    CLI::App* app = program_.add_subcommand(name, description);
    app->fallthrough();  // --threads may stand before or after the command
    entries_.push_back({app, std::move(run)});
    return *app;
  }
  /// A command that has succeeded if it has not thrown.
  template <typename Run>
  requires std::is_void_v<std::invoke_result_t<Run>> CLI::App& add(const std::string& name,
                                                                   const std::string& description, Run run) {
    return add(name, description, std::function<int()>([run] {
                 run();
                 return 0;
               }));
  }

  /// What runs the command that was given and returns its exit code; empty if there was none.
  std::function<int()> given() const {
    for (const Entry& entry : entries_) {
      if (entry.app->parsed()) return entry.run;
    }
    return {};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries_) result.push_back(entry.app->get_name());
    return result;
  }

 private:
  struct Entry {
    CLI::App* app;
    std::function<int()> run;
  };

  CLI::App& program_;
  std::vector<Entry> entries_;
};

/// Adds every command with its options.
void declare_commands(Commands& commands);

}  // namespace bough::cli
