#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class VocabCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!BOUGH_HAS_SENTENCEPIECE) GTEST_SKIP() << "built without SentencePiece";
    std::string english, german;
    for (int i = 0; i < 40; ++i) {
      english += "the old house stands on the green hill near the river\nshe walks to the market\n";
      german += "das alte Haus steht auf dem grünen Hügel am Fluss\nsie geht zum Markt\n";
    }
    write_file(folder.file("english"), english);
    write_file(folder.file("german"), german);
  }
  static ProgramResult vocab(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "vocab");
    return run_bough(arguments);
  }
  std::string file(const char* name) const { return folder.file(name); }
  const TemporaryFolder folder;
};

TEST_F(VocabCommand, WritesTheSameModelEachTimeAndSaysLittle) {
  for (const char* kind : {"bpe", "unigram"}) {
    const ProgramResult result =
        vocab({file("english"), file("german"), "--kind", kind, "--size", "42", "--out", file("model")});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(result.output,
              file("model") + ": " + kind + " model of 42 pieces; <pad>, <unk>, <s> and </s> are 0 to 3\n");
    const std::string bytes = file_content(file("model"));
    ASSERT_EQ(std::system(("gzip -kf '" + file("german") + "'").c_str()), 0);
    EXPECT_EQ(vocab({"--kind", kind, "--size", "42", "--out", file("again"), "--threads", "1", file("english"),
                     file("german.gz")})
                  .exit_code,
              0);
    EXPECT_EQ(file_content(file("again")), bytes);
  }
}

TEST_F(VocabCommand, NamesTheLargestSizeAndLeavesNoFile) {
  const ProgramResult result = vocab({file("english"), "--size", "9000", "--out", file("model")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  const std::string before = "at most ";
  ASSERT_THAT(result.errors, HasSubstr(before));
  EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1);
  EXPECT_EQ(folder.num_files(), 2) << "the texts alone";
  const std::string largest =
      std::to_string(std::stoi(result.errors.substr(result.errors.find(before) + before.size())));
  EXPECT_EQ(vocab({file("english"), "--size", largest, "--out", file("model")}).exit_code, 0);
}

TEST_F(VocabCommand, TakesTheOptionsOfTraining) {
  const ProgramResult result =
      vocab({file("english"), "--size", "320", "--out", file("model"), "--byte-fallback", "--lowercase", "--symbol",
             "<d>", "--symbol", "</d>", "--character-coverage", "1", "--normalization", "nfkc"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(file_content(file("model")), AllOf(HasSubstr("<d>"), HasSubstr("</d>"), HasSubstr("<0xFF>")));
}

TEST_F(VocabCommand, RefusesWhatItCannotDo) {
  const auto refused = [&](const std::vector<std::string>& arguments, int exit_code, const std::string& what) {
    const ProgramResult result = vocab(arguments);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_THAT(result.errors, HasSubstr(what));
  };
  refused({file("english"), "--size", "40"}, 2, "--out is missing");
  refused({"--out", file("model")}, 2, "files is missing");
  refused({file("english"), "--out", file("model"), "--kind", "word"}, 2, "not 'word'");
  refused({file("english"), "--out", file("model"), "--size", "many"}, 2, "--size expects a number");
  refused({file("english"), "--out", file("nowhere/model")}, 1, "nowhere/model");
  refused({file("nothing"), "--out", file("model")}, 1, "nothing' cannot be read");
  const std::string text = file_content(file("english"));
  refused({file("english"), "--out", file("english"), "--size", "40"}, 2, "is one of the files that are read");
  EXPECT_EQ(file_content(file("english")), text);
}

TEST(VocabCommandWithoutTheLibrary, SaysHowToGetIt) {
  if (BOUGH_HAS_SENTENCEPIECE) GTEST_SKIP() << "this build has SentencePiece";
  const TemporaryFolder folder;
  write_file(folder.file("text"), "a text\n");
  const ProgramResult result = run_bough({"vocab", folder.file("text"), "--out", folder.file("model")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("libsentencepiece-dev"));
}

}  // namespace
}  // namespace bough::test
