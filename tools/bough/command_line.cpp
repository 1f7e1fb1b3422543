#include "tools/bough/command_line.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bough/core/version.h"
#include "tools/bough/command_set.h"
#include "tools/bough/option_errors.h"

namespace bough::cli {
namespace {

/// The program with all it takes.
struct Program {
  CLI::App app{"Message passing on graphs: attention graphs, kernels, training.", "bough"};
  Commands commands{app};
  std::optional<int> threads;
  std::string kernel_trace;

  Program() {
    app.set_version_flag("--version", fmt::format("bough {}", build_information().version),
                         "Print the version and end");
    app.add_option("--threads", threads, "Number of threads; otherwise BOUGH_THREADS, otherwise all cores")
        ->type_name("N");
    app.add_option(
           "--trace-kernels", kernel_trace,
           "Time every kernel on a GPU: one JSON object a line in this file, a table at the end; runs are slower "
           "and one after the other")
        ->type_name("FILE");
    declare_commands(commands);
  }
};

std::vector<std::string> option_names(const CLI::App& program, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app : {&command, &program}) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string where_help_is(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? "see bough --help" : fmt::format("see bough {} --help", parsed.front()->get_name());
}

/// What to say about an argument that no command or option takes.
std::string describe_unexpected(const std::string& argument, const CLI::App& program, const Commands& commands) {
  const auto parsed = program.get_subcommands();
  if (argument.starts_with('-')) {
    const CLI::App& command = parsed.empty() ? program : *parsed.front();
    const std::string hint = suggestion(argument, option_names(program, command));
    const bool may_be_parameter = hint.empty() && argument.starts_with("--") && command.get_name() == "graph";
    return fmt::format("there is no option '{}'{}{}", argument, hint,
                       may_be_parameter ? "; parameters of a pattern have no dashes: k=4" : "");
  }
  if (!parsed.empty()) return fmt::format("'{}' was not expected", argument);
  return fmt::format("there is no command '{}'{}", argument, suggestion(argument, commands.names()));
}

/// The option of the program or the command that was given, by the name that CLI11 has in its messages.
const CLI::Option* option_named(const std::string& name, const CLI::App& program) {
  std::vector<const CLI::App*> apps{&program};
  for (const CLI::App* command : program.get_subcommands()) apps.push_back(command);
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_name() == name || option->check_name(name)) return option;
    }
  }
  return nullptr;
}

/// What CLI11 says of a value that is missing or of the wrong type names the option and little else.
std::string describe_value_error(const CLI::ParseError& error, const CLI::App& program) {
  std::string text = error.what();
  if (const std::string range = describe_range_error(text); !range.empty()) return range;
  if (const std::string type = between(text, ": 1 required ", " missing"); !type.empty()) {
    return fmt::format("{0} needs a value: {0} {1}", text.substr(0, text.find(": ")), type);
  }
  if (text.find(": At Most 1 required but received ") != std::string::npos) {
    return fmt::format("{} is given more than once", text.substr(0, text.find(": ")));
  }
  const std::string failed = "Could not convert: ", missing = " is required";
  if (text.starts_with(failed) && text.find(" = ") != std::string::npos) {
    const std::size_t equals = text.find(" = ");
    const std::string name = text.substr(failed.size(), equals - failed.size());
    const std::string value = text.substr(equals + 3);
    const CLI::Option* option = option_named(name, program);
    const std::string type = option == nullptr ? "" : option->get_type_name();
    return fmt::format("{} expects {}, not '{}'", name,
                       type.starts_with("N") || type.starts_with("T") ? "a number" : "another value", value);
  }
  if (text.ends_with(missing)) {
    const std::string name = text.substr(0, text.size() - missing.size());
    const CLI::Option* option = option_named(name, program);
    if (option != nullptr) return fmt::format("{} is missing: {}", name, option->get_description());
  }
  return text;
}

/// A mistyped name often makes something else look missing, so it comes first.
std::string describe(const CLI::ParseError& error, const CLI::App& program, const Commands& commands) {
  const std::vector<std::string> unexpected = program.remaining(true);
  const std::string problem = unexpected.empty() ? describe_value_error(error, program)
                                                 : describe_unexpected(unexpected.front(), program, commands);
  return fmt::format("{}; {}", problem, where_help_is(program));
}

OptionHelp describe_option(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // followed by what a check of the value is called, "I:NONNEGATIVE"
  OptionHelp help{.names = {},
                  .value = option.get_expected_max() == 0 ? "" : type.substr(0, type.find(':')),
                  .description = option.get_description(),
                  .initial = option.get_default_str(),
                  .required = option.get_required(),
                  .repeated = option.get_expected_max() > 1};
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  if (help.names.empty()) help.names.push_back(option.get_name(true));
  return help;
}

std::vector<OptionHelp> describe_options(const CLI::App& app, bool positional) {
  std::vector<OptionHelp> result;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == positional) result.push_back(describe_option(*option));
  }
  return result;
}

}  // namespace

ProgramHelp describe_program() {
  const Program program;
  ProgramHelp help{.name = program.app.get_name(),
                   .description = program.app.get_description(),
                   .version = build_information().version,
                   .options = describe_options(program.app, false),
                   .commands = {}};
  for (const CLI::App* command : program.app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // not for people
    CommandHelp& entry = help.commands.emplace_back();
    entry.name = command->get_name();
    entry.description = command->get_description();
    entry.arguments = describe_options(*command, true);
    for (OptionHelp& option : describe_options(*command, false)) {
      if (option.names.front() != "--help") entry.options.push_back(std::move(option));  // one of every command
    }
  }
  return help;
}

CommandLine parse_command_line(int argument_count, char** arguments) {
  Program program;
  try {
    program.app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return {.help = program.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return {.help = fmt::format("{}\n", version.what())};
  } catch (const CLI::ParseError& error) {
    return {.problem = describe(error, program.app, program.commands)};
  }
  return {.run = program.commands.given(), .threads = program.threads, .kernel_trace = program.kernel_trace};
}

std::string program_help() { return Program().app.help(); }

}  // namespace bough::cli
