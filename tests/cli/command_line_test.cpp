#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/program.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// One readable sentence: a single line that starts with the program's name.
void expect_one_sentence(const std::string& errors) {
  EXPECT_THAT(errors, StartsWith("bough: "));
  EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
  EXPECT_TRUE(errors.ends_with('\n')) << errors;
}

std::vector<std::string> commands_in_help() {
  std::istringstream help(run_bough({"--help"}).output);
  std::vector<std::string> result;
  std::string line;
  while (std::getline(help, line) && line != "Subcommands:") {
  }
  while (std::getline(help, line) && !line.empty()) {
    std::string name;
    std::istringstream(line) >> name;
    result.push_back(name);
  }
  return result;
}

TEST(CommandLine, HelpListsTheCommands) {
  const ProgramResult result = run_bough({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("Usage: bough"));
  EXPECT_THAT(result.output, HasSubstr("--threads"));
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(commands_in_help(), ::testing::Contains("version"));
}

TEST(CommandLine, EveryCommandExplainsItself) {
  for (const std::string& name : commands_in_help()) {
    const ProgramResult result = run_bough({name, "--help"});
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.output, HasSubstr("Usage: bough " + name));
    EXPECT_THAT(result.errors, IsEmpty());
  }
}

TEST(CommandLine, EveryCommandRefusesAnUnknownOption) {
  for (const std::string& name : commands_in_help()) {
    const ProgramResult result = run_bough({name, "--no-such-option"});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.output, IsEmpty());
    EXPECT_THAT(result.errors, HasSubstr("--no-such-option"));
    expect_one_sentence(result.errors);
  }
}

TEST(CommandLine, WithoutACommandShowsHelpAsAnError) {
  const ProgramResult result = run_bough({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.errors, HasSubstr("Usage: bough"));
}

TEST(CommandLine, SuggestsTheCommandBehindATypo) {
  const ProgramResult result = run_bough({"verison", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("there is no command 'verison', did you mean 'version'?"));
  expect_one_sentence(result.errors);
}

TEST(CommandLine, SuggestsNothingForACommandFarFromAll) {
  const ProgramResult result = run_bough({"transmogrify"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("there is no command 'transmogrify'; see bough --help"));
}

TEST(CommandLine, SuggestsTheOptionBehindATypo) {
  const ProgramResult result = run_bough({"version", "--jsno"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("there is no option '--jsno', did you mean '--json'?"));
  expect_one_sentence(result.errors);
}

TEST(CommandLine, RefusesArgumentsThatNoCommandReads) {
  const ProgramResult result = run_bough({"version", "please"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("'please' was not expected"));
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAFailure) {
  const ProgramResult result = run_bough({"version"}, {.output_file = "/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("the output could not be written"));
  expect_one_sentence(result.errors);
}

TEST(Threads, OptionWorksBeforeAndAfterTheCommand) {
  EXPECT_THAT(run_bough({"--threads", "3", "version", "--json"}).output, HasSubstr("\"threads\":3"));
  EXPECT_THAT(run_bough({"version", "--json", "--threads", "3"}).output, HasSubstr("\"threads\":3"));
}

TEST(Threads, EnvironmentSetsThemAndTheOptionWins) {
  const ProgramOptions five = {.environment = {{"BOUGH_THREADS", "5"}}};
  EXPECT_THAT(run_bough({"version", "--json"}, five).output, HasSubstr("\"threads\":5"));
  EXPECT_THAT(run_bough({"version", "--json", "--threads", "2"}, five).output, HasSubstr("\"threads\":2"));
}

TEST(Threads, AnEnvironmentThatIsNoNumberIsAUsageError) {
  for (const char* value : {"abc", "0", "-1", "3x", "99999999999999999999"}) {
    const ProgramResult result = run_bough({"version"}, {.environment = {{"BOUGH_THREADS", value}}});
    EXPECT_EQ(result.exit_code, 2) << value;
    EXPECT_THAT(result.output, IsEmpty());
    EXPECT_THAT(result.errors, HasSubstr(value));
    EXPECT_THAT(result.errors, HasSubstr("BOUGH_THREADS"));
    expect_one_sentence(result.errors);
  }
}

TEST(Threads, AnOptionThatIsNoNumberIsAUsageError) {
  for (const char* value : {"abc", "0", "-1", "1025", "99999999999999999999"}) {
    const ProgramResult result = run_bough({"version", "--threads", value});
    EXPECT_EQ(result.exit_code, 2) << value;
    EXPECT_THAT(result.errors, HasSubstr(value));
    expect_one_sentence(result.errors);
  }
}

}  // namespace
}  // namespace bough::test
