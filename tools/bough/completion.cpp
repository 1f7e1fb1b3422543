#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "graph/generators/wanted_degree.h"
#include "tools/bough/manual.h"

namespace bough::cli {
namespace {

/// What the shell offers for a value, by the word that help shows for it.
enum class Offer { nothing, files, folders, patterns, patterns_and_files, parameters, shells };

Offer offer_for(const std::string& value) {
  if (value == "DIR") return Offer::folders;
  if (value == "FILE") return Offer::files;
  if (value == "KIND,...") return Offer::patterns;
  if (value == "GRAPH") return Offer::patterns_and_files;
  if (value == "NAME=VALUE") return Offer::parameters;
  if (value == "SHELL") return Offer::shells;
  return Offer::nothing;
}

constexpr const char* shells = "bash zsh fish";

std::string pattern_names() {
  std::vector<std::string> names;
  for (const GeneratorDescription& description : generators().list()) names.push_back(description.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// "width= degree=": what `bough graph` takes after the name of the pattern.
std::string parameters_of(const GeneratorDescription& description) {
  std::vector<std::string> words;
  for (const Parameter& parameter : description.parameters.parameters()) words.push_back(parameter.name + "=");
  if (!degree_parameter(description).empty()) words.emplace_back("degree=");
  return fmt::format("{}", fmt::join(words, " "));
}

/// A line of a case of bash and zsh for each pattern.
std::string parameter_cases() {
  std::string cases;
  for (const GeneratorDescription& description : generators().list()) {
    cases += fmt::format("    {}) keys=\"{}\" ;;\n", description.name, parameters_of(description));
  }
  return cases;
}

std::vector<std::string> names_of(const std::vector<OptionHelp>& options) {
  std::vector<std::string> names;
  for (const OptionHelp& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> command_names(const ProgramHelp& program) {
  std::vector<std::string> names;
  for (const CommandHelp& command : program.commands) names.push_back(command.name);
  return names;
}

std::string bash_offer(Offer offer) {
  switch (offer) {
    case Offer::nothing:
      return ":";
    case Offer::files:
      return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$current\"))";
    case Offer::folders:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$current\"))";
    case Offer::patterns:
      // Of a list with commas the last word is completed, and what stands before it stays.
      return "COMPREPLY=($(compgen -P \"${current%\"${current##*,}\"}\" -W \"$patterns\" -- \"${current##*,}\"))";
    case Offer::patterns_and_files:
      return "if [[ $keys ]]; then compopt -o nospace; COMPREPLY=($(compgen -W \"$keys\" -- "
             "\"$current\")); "
             "else COMPREPLY=($(compgen -W \"$patterns\" -- \"$current\") $(compgen -f -- \"$current\")); fi";
    case Offer::parameters:
      return ":";  // a case of the first argument
    case Offer::shells:
      return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", shells);
  }
  return "";
}

std::string bash_script(const ProgramHelp& program) {
  std::string options, values, arguments;
  const auto add_values = [&](const std::string& command, const std::vector<OptionHelp>& of) {
    for (const OptionHelp& option : of) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        values += fmt::format("    {}:{}) {}; return ;;\n", command, name, bash_offer(offer_for(option.value)));
      }
    }
  };
  for (const CommandHelp& command : program.commands) {
    options +=
        fmt::format("    {}) options=\"{} $options\" ;;\n", command.name, fmt::join(names_of(command.options), " "));
    add_values(command.name, command.options);
    const Offer offer = command.arguments.empty() ? Offer::nothing : offer_for(command.arguments.front().value);
    arguments += fmt::format("    {}) {} ;;\n", command.name, bash_offer(offer));
  }
  add_values("*", program.options);
  return fmt::format(
      R"(# bash completion of bough; written by `bough completion bash`
_bough() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= word
  local patterns="{patterns}" options="{options}" commands="{commands}" keys=
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [[ " $commands " == *" $word "* ]]; then
      command=$word
      break
    fi
  done
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
{parameters}    esac
  done
  case $command:$previous in
{values}  esac
  case $command in
{command_options}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  case $command in
    "") COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
{arguments}  esac
}}
complete -F _bough bough
)",
      fmt::arg("patterns", pattern_names()), fmt::arg("parameters", parameter_cases()),
      fmt::arg("options", fmt::format("{}", fmt::join(names_of(program.options), " "))),
      fmt::arg("commands", fmt::format("{}", fmt::join(command_names(program), " "))), fmt::arg("values", values),
      fmt::arg("command_options", options), fmt::arg("arguments", arguments));
}

/// In single quotes, with what means something in a specification of _arguments escaped.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result;
}

std::string zsh_offer(Offer offer) {
  switch (offer) {
    case Offer::nothing:
      return " ";
    case Offer::files:
      return "_files";
    case Offer::folders:
      return "_files -/";
    case Offer::patterns:
      return "_sequence compadd - " + pattern_names();
    case Offer::patterns_and_files:
      return "_alternative \"patterns:pattern:(" + pattern_names() + ")\" \"files:file:_files\"";
    case Offer::parameters:
      return "_bough_parameters";
    case Offer::shells:
      return fmt::format("({})", shells);
  }
  return "";
}

std::string zsh_options(const std::vector<OptionHelp>& options) {
  std::string text;
  for (const OptionHelp& option : options) {
    for (const std::string& name : option.names) {
      text += fmt::format(" \\\n        '{}[{}]", name, zsh_text(option.description));
      if (!option.value.empty())
        text += fmt::format(":{}:{}", zsh_text(option.value), zsh_offer(offer_for(option.value)));
      text += "'";
    }
  }
  return text;
}

std::string zsh_script(const ProgramHelp& program) {
  std::string commands, cases;
  for (const CommandHelp& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.description));
    cases += fmt::format("      {}) _arguments{}{}", command.name, zsh_options(command.options),
                         zsh_options(program.options));
    for (const OptionHelp& argument : command.arguments) {
      cases += fmt::format(" \\\n        '{}:{}:{}'", argument.repeated ? "*" : "", zsh_text(argument.value),
                           zsh_offer(offer_for(argument.value)));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      R"(#compdef bough
# zsh completion of bough; written by `bough completion zsh`
_bough_parameters() {{
  local word keys=
  for word in $words; do
    case $word in
{parameters}    esac
  done
  compadd -S "" -- ${{=keys}}
}}
_bough() {{
  local curcontext=$curcontext state line
  local -a commands
  commands=(
{commands}  )
  _arguments -C{options} \
        '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe -t commands command commands ;;
    argument) case $words[1] in
{cases}    esac ;;
  esac
}}
_bough "$@"
)",
      fmt::arg("commands", commands), fmt::arg("options", zsh_options(program.options)), fmt::arg("cases", cases),
      fmt::arg("parameters", parameter_cases()));
}

std::string fish_text(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_offer(Offer offer) {
  switch (offer) {
    case Offer::nothing:
      return " -x";
    case Offer::files:
    case Offer::folders:
      return " -r -F";
    case Offer::patterns:
      return " -x -a " + fish_text(pattern_names());
    case Offer::patterns_and_files:
      return " -F -a " + fish_text(pattern_names());
    case Offer::parameters:
      return " -x";  // of each pattern, after its name
    case Offer::shells:
      return " -x -a " + fish_text(shells);
  }
  return "";
}

/// Whether it takes a pattern and then the parameters of that pattern.
bool has_parameters(const CommandHelp& command) {
  return std::ranges::any_of(command.arguments,
                             [](const OptionHelp& argument) { return offer_for(argument.value) == Offer::parameters; });
}

std::string fish_script(const ProgramHelp& program) {
  std::string script = "# fish completion of bough; written by `bough completion fish`\ncomplete -c bough -f\n";
  const auto add_options = [&](const std::string& condition, const std::vector<OptionHelp>& options) {
    for (const OptionHelp& option : options) {
      script += "complete -c bough" + condition;
      for (const std::string& name : option.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.empty()) script += fish_offer(offer_for(option.value));
      script += " -d " + fish_text(option.description) + "\n";
    }
  };
  add_options("", program.options);
  for (const CommandHelp& command : program.commands) {
    script += fmt::format("complete -c bough -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          fish_text(command.description));
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    add_options(condition, command.options);
    if (has_parameters(command)) {
      const std::string in_command = fmt::format("__fish_seen_subcommand_from {}; and ", command.name);
      script += fmt::format("complete -c bough -n '{}not __fish_seen_subcommand_from {}'{}\n", in_command,
                            pattern_names(), fish_offer(Offer::patterns_and_files));
      for (const GeneratorDescription& description : generators().list()) {
        script += fmt::format("complete -c bough -n '{}__fish_seen_subcommand_from {}' -a {}\n", in_command,
                              description.name, fish_text(parameters_of(description)));
      }
    } else if (!command.arguments.empty()) {
      script += "complete -c bough" + condition + fish_offer(offer_for(command.arguments.front().value)) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const ProgramHelp& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  throw ConfigError("completion", fmt::format("there are scripts for bash, zsh and fish, not for '{}'", shell));
}

}  // namespace bough::cli
