#pragma once

#include <string>
#include <vector>

/// Help for other programs, written from what command_line.cpp declares.
namespace bough::cli {

struct OptionHelp {
  std::vector<std::string> names;  ///< "--out"; of an argument without dashes its name alone
  std::string value;               ///< what it takes, "DIR"; empty for a flag
  std::string description;
  std::string initial = {};  ///< the default as text; empty if there is none worth saying
  bool required = false;
  bool repeated = false;  ///< an argument that takes all that follow
};

struct CommandHelp {
  std::string name;
  std::string description;
  std::vector<OptionHelp> arguments;  ///< without dashes, in their order
  std::vector<OptionHelp> options;
};

/// The program with the options that every command takes, and its commands.
struct ProgramHelp {
  std::string name, description, version;
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};

/// A page for man(1), in roff.
std::string manual_page(const ProgramHelp& program);

/// A script that completes commands, options, files and the names of attention patterns. ConfigError for a shell other
/// than bash, zsh and fish.
std::string completion_script(const ProgramHelp& program, const std::string& shell);

}  // namespace bough::cli
