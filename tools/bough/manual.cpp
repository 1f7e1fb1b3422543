#include "tools/bough/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bough::cli {
namespace {

/// Text as roff takes it: hyphens that can be copied, no line that looks like a request.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else {
      result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string option_entry(const OptionHelp& option) {
  std::string heading;
  for (const std::string& name : option.names) heading += (heading.empty() ? "" : ", ") + bold(name);
  if (option.names.front().starts_with('-') && !option.value.empty()) heading += " " + italic(option.value);
  std::string text = roff(option.description);
  if (!option.initial.empty()) text += fmt::format(" (default: {})", roff(option.initial));
  return fmt::format(".TP\n{}\n{}\n", heading, text);
}

std::string synopsis(const ProgramHelp& program, const CommandHelp& command) {
  std::string text = bold(program.name + " " + command.name);
  for (const OptionHelp& argument : command.arguments) {
    const std::string name = italic(argument.value) + (argument.repeated ? "..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text + " [" + italic("options") + "]";
}

}  // namespace

std::string manual_page(const ProgramHelp& program) {
  std::string page = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", "BOUGH", program.name, program.version);
  page += fmt::format(".SH NAME\n{} \\- {}\n", program.name, roff("message passing and attention on graphs"));
  page += ".SH SYNOPSIS\n.nf\n";
  for (const CommandHelp& command : program.commands) page += synopsis(program, command) + "\n";
  page += fmt::format(".fi\n.SH DESCRIPTION\n{}\n", roff(program.description));
  page += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) {
    page += fmt::format(".SS {}\n{}.\n", synopsis(program, command), roff(command.description));
    for (const OptionHelp& argument : command.arguments) {
      OptionHelp shown = argument;
      shown.names = {argument.value};
      page += option_entry(shown);
    }
    for (const OptionHelp& option : command.options) page += option_entry(option);
  }
  page += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const OptionHelp& option : program.options) page += option_entry(option);
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nAll went well.\n"
      ".TP\n1\nSomething failed; one sentence on standard error says what.\n"
      ".TP\n2\nThe command line, an experiment or a graph is not as it should be.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBBOUGH_THREADS\\fR\n"
      "Number of threads where \\fB\\-\\-threads\\fR is not given.\n"
      ".SH EXAMPLES\n"
      ".nf\n"
      "bough graph bpt \\-\\-length 64 k=4\n"
      "bough compare\\-patterns \\-\\-degree 14,21 \\-\\-patterns bpt,window \\-\\-data text.txt\n"
      "bough run experiment.json \\-\\-out results\n"
      ".fi\n";
  return page;
}

}  // namespace bough::cli
