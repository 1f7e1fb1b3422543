#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;

/// All but the time it took.
std::string without_seconds(const std::string& output) { return output.substr(0, output.rfind(',')); }

TEST(Run, TrainsTheClassifierAndReportsItsAccuracy) {
  const ProgramResult result = run_bough({"run", "--steps", "20", "--threads", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("20 steps, seed 1, 2 threads"));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("[0-9.]+% of 900 points it had not seen are right"));
}

TEST(Run, ShowsProgressInPlainLinesWhereThereIsNoTerminal) {
  const ProgramResult result = run_bough({"run", "--steps", "20"});
  EXPECT_THAT(result.errors, ::testing::StartsWith("2/20  loss "));
  EXPECT_THAT(result.errors, HasSubstr("\n20/20  loss "));
  EXPECT_THAT(result.errors, ::testing::Not(HasSubstr("\r")));
}

TEST(Run, IsRepeatableAndTheSeedMatters) {
  const auto output = [](const std::string& seed) {
    return without_seconds(run_bough({"run", "--steps", "10", "--seed", seed, "--threads", "1"}).output);
  };
  EXPECT_EQ(output("3"), output("3"));
  EXPECT_NE(output("3"), output("4"));
}

TEST(Run, RefusesStepsAndSeedsThatAreNone) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--steps", "0"}, {"--steps", "-5"}, {"--steps", "many"}, {"--seed", "x"}}) {
    std::vector<std::string> command = {"run"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_bough(command);
    EXPECT_EQ(result.exit_code, 2) << arguments[0] << ' ' << arguments[1];
    EXPECT_THAT(result.errors, HasSubstr(arguments[0]));
  }
}

}  // namespace
}  // namespace bough::test
