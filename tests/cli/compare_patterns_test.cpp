#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Options for a model that trains in a moment.
std::vector<std::string> small(std::vector<std::string> arguments) {
  for (const char* text : {"task.corpus.train_characters=3000", "task.corpus.valid_characters=300",
                           "task.corpus.test_characters=500", "model.dim=12", "train.tokens_per_batch=64"}) {
    arguments.insert(arguments.end(), {"--set", text});
  }
  arguments.insert(arguments.begin(), "compare-patterns");
  arguments.insert(arguments.end(), {"--length", "64"});
  return arguments;
}

TEST(ComparePatterns, WritesAnExperimentRunsItAndMakesThePage) {
  const TemporaryFolder folder;
  const ProgramResult result = run_bough(small({"--degree", "5,10", "--patterns", "window,bpt,full", "--steps", "3",
                                                "--seeds", "1", "--out", folder.file("out"), "--no-open"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, AllOf(HasSubstr("window: width 4 gives degree 4.844 (wanted: 5)"),
                                   HasSubstr("left out: [bpt] degree 5 cannot be reached for 64 tokens, causal")));
  EXPECT_THAT(result.output, HasSubstr(folder.file("out/report.html")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("out/report.html")));

  const std::string text = file_content(folder.file("out/experiment.json"));
  EXPECT_THAT(text, HasSubstr("    \"train.seed\": [1]\n"));  // the layout for people is kept
  EXPECT_THAT(text, HasSubstr("{\"kind\": \"window\", \"degree\": 5}"));
  const json experiment = json::parse(text);
  EXPECT_EQ(experiment["sweep"]["graph"],
            json::parse(R"([{"kind": "window", "degree": 5}, {"kind": "window", "degree": 10},
                                                          {"kind": "bpt", "degree": 10}, {"kind": "full"}])"));
  EXPECT_EQ(experiment["focus"], "window");
  EXPECT_EQ(experiment["train"]["steps"], 3);
  EXPECT_EQ(json::parse(file_content(folder.file("out/results.json")))["runs"].size(), 4u);

  // What it wrote is an experiment like any other.
  const ProgramResult again = run_bough({"run", folder.file("out/experiment.json"), "--dry-run"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
}

/// Sentences of common words, so that there are letters, words and lines to learn.
std::string natural_text(std::size_t characters) {
  const std::vector<std::string> nouns = {"river", "garden", "morning", "letter", "window", "captain"},
                                 verbs = {"follows", "remembers", "crosses", "finds", "leaves"},
                                 others = {"the old", "a quiet", "every", "the last", "another"};
  std::string text;
  for (std::uint32_t state = 1; text.size() < characters;) {
    const auto next = [&state](const std::vector<std::string>& words) {
      state = state * 1664525 + 1013904223;
      return words[(state >> 16) % words.size()];
    };
    for (int clause = 0; clause < 2; ++clause) {
      text += next(others) + " " + next(nouns) + " " + next(verbs) + " " + next(others) + " " + next(nouns);
      text += clause == 0 ? ", and " : ".\n";
    }
  }
  return text.substr(0, characters);
}

TEST(ComparePatterns, LearnsFromATextOfOnesOwn) {
  const TemporaryFolder folder;
  write_file(folder.file("text.txt"), natural_text(50'000));
  const ProgramResult result = run_bough({"compare-patterns",
                                          "--data",
                                          folder.file("text.txt"),
                                          "--degree",
                                          "10",
                                          "--patterns",
                                          "window,bpt",
                                          "--length",
                                          "64",
                                          "--steps",
                                          "30",
                                          "--seeds",
                                          "1",
                                          "--set",
                                          "model.dim=12",
                                          "--set",
                                          "model.layers=1",
                                          "--set",
                                          "train.warmup=2",
                                          "--set",
                                          "train.tokens_per_batch=256",
                                          "--set",
                                          "task.corpus.test_characters=2000",
                                          "--set",
                                          "task.corpus.valid_characters=2000",
                                          "--out",
                                          folder.file("out"),
                                          "--no-open"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(file_content(folder.file("out/report.html")), AllOf(HasSubstr("window-width"), HasSubstr("on text.txt")));
  EXPECT_THAT(result.errors, ::testing::ContainsRegex("test bpc [0-9.]+  perplexity [0-9.]+  degree "));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("degree +test bpc +perplexity +"));
  const json results = json::parse(file_content(folder.file("out/results.json")));
  ASSERT_EQ(results["runs"].size(), 2u);
  for (const json& run : results["runs"]) {
    EXPECT_EQ(run["inputs"]["data_files"].size(), 1u) << run["inputs"];
    // Some 25 different characters: log2 of that is what guessing costs.
    EXPECT_LT(run["metrics"]["bpc"].get<double>(), 4.5);
    EXPECT_GT(run["metrics"]["bpc"].get<double>(), 1);
  }
}

TEST(ComparePatterns, TakesTheTaskThatIsAskedFor) {
  const TemporaryFolder folder;
  write_file(folder.file("texts.tsv"), "neg\ta bad film\npos\tgood film\nneg\tbad\npos\tit was good\n");
  const std::string file = folder.file("texts.tsv");
  const json task = {{"kind", "text_classification"},
                     {"format", "tsv"},
                     {"degree_length", 64},
                     {"min_count", 1},
                     {"train", file},
                     {"valid", file},
                     {"test", file}};
  const ProgramResult result =
      run_bough({"compare-patterns", "--set", "task=" + task.dump(), "--set", R"(model={"layers":1,"dim":8,"heads":2})",
                 "--degree", "12", "--patterns", "window", "--seeds", "1", "--out", folder.file("out"), "--dry-run"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  // Texts are read as a whole: no token has fewer neighbours because those after it are hidden.
  EXPECT_THAT(result.output, HasSubstr("window: width 6 gives degree"));
  EXPECT_THAT(run_bough({"compare-patterns", "--set", "task.kind=char_ml", "--dry-run"}).errors,
              HasSubstr("did you mean 'char_lm'?"));
}

TEST(ComparePatterns, ADryRunPrintsThePlanAndWritesNothing) {
  const TemporaryFolder folder;
  write_file(folder.file("text.txt"), std::string(20'000, 'x'));
  const ProgramResult result =
      run_bough({"compare-patterns", "--data", folder.file("text.txt"), "--out", folder.file("out"), "--dry-run"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("compare-patterns: 27 runs"), HasSubstr("sparse_fixed-c3-stride16-seed2"),
                                   HasSubstr("sparse_fixed: stride 16, c 3 gives degree 31 (wanted: 31)")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST(ComparePatterns, TakesParametersOfPatternsAndLeavesOutWhatIsTheSame) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_bough(small({"--degree", "20,20.1,30", "--patterns", "sparse_fixed:stride=32,bpt", "--out",
                       folder.file("out"), "--steps", "1", "--seeds", "1", "--no-open"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const json graphs = json::parse(file_content(folder.file("out/experiment.json")))["sweep"]["graph"];
  EXPECT_EQ(graphs[0], json({{"kind", "sparse_fixed"}, {"stride", 32}, {"degree", 20}}));
  EXPECT_THAT(result.errors, HasSubstr("left out: bpt at degree 20.1, for which it is the same graph as at degree 20"));
}

TEST(ComparePatterns, KeepsListsOfAPatternTogether) {
  const ProgramResult result =
      run_bough(small({"--degree", "20", "--patterns", R"(union:of=["bpt","logsparse"],full)", "--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("union-bpt_logsparse-seed1"));
}

TEST(ComparePatterns, GivesADegreeToThePatternWithinAnother) {
  const ProgramResult result =
      run_bough(small({"--degree", "14,20", "--patterns", "causal:of=window,bpt", "--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("causal: of.width [0-9]+ gives degree 14.* .wanted: 14."));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("causal: of.width [0-9]+ gives degree .* .wanted: 20."));
}

TEST(ComparePatterns, LeavesTheFilesOfAnotherExperimentAlone) {
  const TemporaryFolder folder;
  const auto compare = [&](const char* patterns, std::vector<std::string> more) {
    more.insert(more.end(), {"--degree", "10", "--patterns", patterns, "--steps", "2", "--seeds", "1", "--out",
                             folder.file("out"), "--no-open"});
    return run_bough(small(more));
  };
  ASSERT_EQ(compare("window", {}).exit_code, 0);
  const std::string experiment = file_content(folder.file("out/experiment.json"));
  const std::string results = file_content(folder.file("out/results.json"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--dry-run"}, {"--resume"}}) {
    const ProgramResult other = compare("bpt", more);
    EXPECT_EQ(other.exit_code, 2) << other.errors;
    EXPECT_EQ(file_content(folder.file("out/experiment.json")), experiment);
    EXPECT_EQ(file_content(folder.file("out/results.json")), results);
  }
  const ProgramResult again = compare("window", {"--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("(done before)"));
  EXPECT_EQ(file_content(folder.file("out/experiment.json")), experiment);
}

TEST(ComparePatterns, AnswersMistakesWithOneSentence) {
  const auto error_of = [](std::vector<std::string> arguments, int exit_code) {
    arguments.insert(arguments.begin(), "compare-patterns");
    const ProgramResult result = run_bough(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    return result.errors;
  };
  EXPECT_THAT(error_of({"--patterns", "btp"}, 2), HasSubstr("did you mean \"bpt\"?"));
  EXPECT_THAT(error_of({"--degree", "0"}, 2), HasSubstr("0"));
  EXPECT_THAT(error_of({"--data", "/nowhere/text.txt"}, 1), HasSubstr("there is no file '/nowhere/text.txt'"));
  EXPECT_THAT(error_of({"--degree", "1000", "--patterns", "window"}, 2), HasSubstr("none of the patterns"));
  EXPECT_THAT(error_of({"--patterns", "window:width"}, 2), HasSubstr("parameters like k=4"));
  EXPECT_THAT(error_of({"--patterns", "bpt,window:widht=3"}, 2), HasSubstr("did you mean"));
  EXPECT_THAT(error_of({"--patterns", "bpt,sparse_fixed:stride=many"}, 2), HasSubstr("stride"));
}

}  // namespace
}  // namespace bough::test
