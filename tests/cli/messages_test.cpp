#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const std::vector<std::string>& arguments, int exit_code) {
  const ProgramResult result = run_bough(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  EXPECT_EQ(result.output, "");
  return result.errors;
}

TEST(Messages, SayWhyAFileCannotBeReadAndWhatToName) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of({"run", folder.file("nope.json")}, 1), HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of({"report", folder.file("nope")}, 1),
              AllOf(HasSubstr("nope' is not there"), HasSubstr("results/NAME")));
  write_file(folder.file("results.json"), "{}");
  EXPECT_THAT(error_of({"report", folder.file("")}, 1),
              AllOf(HasSubstr("name is missing"), HasSubstr("results.json'"), Not(HasSubstr("json.exception"))));
}

TEST(Messages, KnowWhatPeopleWriteInPlaceOfJson) {
  EXPECT_THAT(error_of({"run", "{'graph': 'bpt'}"}, 2), HasSubstr("double quotes"));
  EXPECT_THAT(error_of({"run", "{// the tree\n\"graph\": \"bpt\"}"}, 2), HasSubstr("no comments"));
  EXPECT_THAT(error_of({"run", "{}"}, 2), AllOf(HasSubstr("graph is missing"), HasSubstr("name of a pattern")));
}

TEST(Messages, SpeakOfOptionsAsTheyAreTyped) {
  EXPECT_THAT(error_of({"version", "--threads", "abc"}, 2), HasSubstr("--threads expects a number, not 'abc'"));
  EXPECT_THAT(error_of({"version", "--threads", "0"}, 2),
              HasSubstr("--threads must be a number from 1 to 1024, not 0"));
  EXPECT_THAT(error_of({"compare"}, 2), HasSubstr("folders is missing: Folders that bough run wrote"));
}

TEST(Messages, ADamagedCheckpointSaysHowTheRunCanBeginAnew) {
  const TemporaryFolder folder;
  const char* const experiment = R"({
    "task": {"corpus": {"train_characters": 3000, "valid_characters": 300, "test_characters": 500}, "length": 32},
    "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
    "graph": "full", "train": {"steps": 2, "tokens_per_batch": 64, "schedule": "constant", "warmup": 1}})";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run", experiment, "--out", folder.file("out"), "--jobs", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments);
  };
  ASSERT_EQ(run({}).exit_code, 0);
  const std::string checkpoint = folder.file("out/runs/full/checkpoint.safetensors");
  write_file(checkpoint, "damaged");
  const std::vector<std::string> longer{"--set", "train.steps=3", "--resume"};
  const ProgramResult damaged = run(longer);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.errors, HasSubstr("remove '" + checkpoint + "' to begin this run anew"));
  std::filesystem::remove(checkpoint);
  const ProgramResult anew = run(longer);
  EXPECT_EQ(anew.exit_code, 0) << anew.errors;
}

TEST(Messages, APromptThatCannotBeReadPrintsNothingElse) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", R"({"graph": "full", "task": {"corpus": {"train_characters": 3000,
                       "valid_characters": 300, "test_characters": 500}, "length": 32},
                       "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
                       "train": {"steps": 1, "tokens_per_batch": 64}})",
                       "--out", folder.file("out")})
                .exit_code,
            0);
  EXPECT_THAT(error_of({"generate", folder.file("out/runs/full"), "--prompt", "Ash \xff"}, 2), HasSubstr("prompt"));
}

}  // namespace
}  // namespace bough::test
