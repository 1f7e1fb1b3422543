#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Scores of these files are sacreBLEU's.
class ScoreCommand : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder.file("right"), "The cat, it said, sat on the mat.\nTwo dogs ran after 3,5 balls.\n\n");
    write_file(folder.file("one"), "The cat it said sat on a mat.\r\nTwo Dogs ran after 3,5 balls.\n\n");
    write_file(folder.file("other"), "A cat sat.\nDogs run.\nnothing\n");
  }
  ProgramResult score(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "score");
    write_file(folder.file("input"), input);
    return run_bough(arguments, {.input_file = folder.file("input")});
  }
  std::string file(const char* name) const { return folder.file(name); }
  const TemporaryFolder folder;
};

const std::string signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:bough-" BOUGH_PROJECT_VERSION "\n";

TEST_F(ScoreCommand, PrintsBleuAndItsSignature) {
  const ProgramResult result = score({file("right"), file("one")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output,
            "BLEU = 35.09 87.5/57.1/25.0/20.0 (BP = 0.882 ratio = 0.889 hyp_len = 16 ref_len = 18)\n" + signature);
  EXPECT_EQ(score({"--metric", "bleu", file("right"), file("one"), "--tokenize", "13a"}).output, result.output);
  EXPECT_THAT(score({file("right"), file("one"), "--lowercase", "--tokenize", "intl", "--smooth", "floor"}).output,
              HasSubstr("|case:lc|eff:no|tok:intl|smooth:floor[0.10]|"));
  EXPECT_THAT(score({file("right"), file("right")}).output, StartsWith("BLEU = 100.00 100.0/100.0/100.0/100.0 "));
}

TEST_F(ScoreCommand, PrintsChrf) {
  EXPECT_EQ(score({"--metric", "chrf", file("right"), file("one")}).output,
            "chrF2 = 65.88\nnrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:bough-" BOUGH_PROJECT_VERSION "\n");
  EXPECT_THAT(score({"--metric", "chrf++", file("right"), file("one")}).output, StartsWith("chrF2++ = 65.76\n"));
}

TEST_F(ScoreCommand, PrintsJson) {
  const json bleu = json::parse(score({file("right"), file("one"), "--json"}).output);
  EXPECT_NEAR(bleu["score"].get<double>(), 35.09, 0.005);
  EXPECT_EQ(bleu["matches"], json({14, 8, 3, 2}));
  EXPECT_EQ(bleu["totals"], json({16, 14, 12, 10}));
  EXPECT_EQ(bleu["segments"], 3);
  EXPECT_EQ(bleu["hypothesis_length"], 16);
  EXPECT_EQ(bleu["signature"].get<std::string>() + "\n", signature);
  const json chrf = json::parse(score({file("right"), file("one"), "--json", "--metric", "chrf"}).output);
  EXPECT_EQ(chrf["metric"], "chrF2");
  EXPECT_FALSE(chrf.contains("matches"));
}

TEST_F(ScoreCommand, ReadsCompressedFilesAndStdin) {
  const std::string wanted = score({file("right"), file("one")}).output;
  EXPECT_EQ(score({file("right"), "-"}, file_content(file("one"))).output, wanted);
  EXPECT_EQ(score({"-", file("one")}, file_content(file("right"))).output, wanted);
  ASSERT_EQ(std::system(("gzip -k '" + file("one") + "'").c_str()), 0);
  EXPECT_EQ(score({file("right"), file("one.gz")}).output, wanted);
  EXPECT_THAT(score({file("right"), "-"}, file_content(file("one.gz"))).errors, HasSubstr("stdin is compressed"));
  const ProgramResult twice = score({"-", "-"}, "a\n");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.errors, HasSubstr("only one"));
}

TEST_F(ScoreCommand, TakesSeveralReferences) {
  const ProgramResult result = score({file("right"), file("one"), "--extra-reference", file("one")});
  EXPECT_THAT(result.output, AllOf(StartsWith("BLEU = 100.00 "), HasSubstr("\nnrefs:2|")));
  EXPECT_EQ(score({file("right"), file("one"), "--extra-reference", file("nowhere")}).exit_code, 1);
}

TEST_F(ScoreCommand, ComparesTwoSystems) {
  const std::vector<std::string> arguments{file("right"), file("one"), "--against", file("other"), "--samples", "200"};
  const ProgramResult result = score(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("\n" + file("one") + " "), HasSubstr("\n" + file("other") + " "),
                                   HasSubstr("\ndifference "), HasSubstr(", p = 0."),
                                   HasSubstr("\nnrefs:1|bs:200|seed:12345|case:mixed|")));
  EXPECT_EQ(score(arguments).output, result.output);
  std::vector<std::string> as_json = arguments;
  as_json.insert(as_json.end(), {"--json", "--seed", "7", "--threads", "3"});
  const json found = json::parse(score(as_json).output);
  EXPECT_NEAR(found["system"]["score"].get<double>(), 35.09, 0.005);
  EXPECT_EQ(found["score"], found["system"]["score"]);
  EXPECT_EQ(found["baseline"]["file"], file("other"));
  EXPECT_LE(found["difference"]["low"], found["difference"]["high"]);
  EXPECT_THAT(found["signature"].get<std::string>(), HasSubstr("|seed:7|"));
  EXPECT_EQ(json::parse(score({file("right"), file("one"), "--against", file("one"), "--json"}).output)["p_value"], 1);
}

TEST_F(ScoreCommand, NamesBothNumbersOfLinesThatDiffer) {
  write_file(file("short"), "a\nb");
  for (const std::vector<std::string>& arguments : {std::vector{file("right"), file("short")},
                                                    {file("right"), file("one"), "--against", file("short")},
                                                    {file("right"), file("one"), "--extra-reference", file("short")}}) {
    const ProgramResult result = score(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, AllOf(HasSubstr("right has 3 lines"), HasSubstr("short has 2")));
  }
  write_file(file("empty"), "");
  EXPECT_THAT(score({file("empty"), file("empty")}).errors, HasSubstr("empty has no lines"));
  EXPECT_EQ(score({file("nowhere"), file("one")}).exit_code, 1);
}

TEST_F(ScoreCommand, RefusesOptionsThatThereAreNot) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& what) {
    arguments.insert(arguments.begin(), {file("right"), file("one")});
    const ProgramResult result = score(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, HasSubstr(what));
  };
  refused({"--metric", "ter"}, "chrf++, not 'ter'");
  refused({"--tokenize", "moses"}, "no tokenizer 'moses'");
  refused({"--smooth", "much"}, "no smoothing 'much'");
  refused({"--metric", "chrf", "--tokenize", "13a"}, "only BLEU has it");
  refused({"--against", file("other"), "--samples", "0"}, "--samples must be a number from 1");
  EXPECT_EQ(score({file("right")}).exit_code, 2);
}

TEST_F(ScoreCommand, WarnsOfHypothesesThatAreTokenized) {
  std::string tokenized, plain;
  for (int i = 0; i < 100; ++i) {
    tokenized += "It is a cat .\n";
    plain += "It is a cat.\n";
  }
  write_file(file("tokenized"), tokenized);
  write_file(file("plain"), plain);
  EXPECT_THAT(score({file("plain"), file("tokenized")}).errors, HasSubstr("100 of 100 lines"));
  EXPECT_EQ(score({file("tokenized"), file("plain")}).errors, "");
  EXPECT_EQ(score({file("plain"), file("tokenized"), "--tokenize", "none"}).errors, "");
}

}  // namespace
}  // namespace bough::test
