#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result.push_back(line);
  return result;
}

/// A few steps of training: what is tested here does not depend on what a model has learned.
class TranslateCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!BOUGH_HAS_SENTENCEPIECE) GTEST_SKIP() << "no SentencePiece here";
    write_file(folder.file("text.a"), "<d>\none two three\ntwo\n<d>\nthree one\ntwo two one\n");
    write_file(folder.file("text.b"), "<d>\neins zwei drei\nzwei\n<d>\ndrei eins\nzwei zwei eins\n");
  }
  /// The folder of the run.
  std::string train(std::int64_t context = 0) {
    json experiment = json::parse(R"({
      "name": "tiny",
      "task": {"kind": "translation", "documents": "marks", "vocabulary": {"size": 30}, "max_length": 8},
      "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
      "graph": {"kind": "bpt", "k": 1},
      "train": {"steps": 2, "tokens_per_batch": 40, "warmup": 1}})");
    experiment["task"]["context"] = context;
    for (const char* split : {"train", "valid", "test"}) {
      experiment["task"][split] = {{"source", folder.file("text.a")}, {"target", folder.file("text.b")}};
    }
    const ProgramResult result = run_bough({"run", experiment.dump(), "--out", folder.file("out"), "--jobs", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return folder.file("out/runs/bpt-k1");
  }
  ProgramResult translate(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "translate");
    write_file(folder.file("input"), input);
    return run_bough(arguments, {.input_file = folder.file("input")});
  }
  const TemporaryFolder folder;
};

TEST_F(TranslateCommand, PrintsALineForEachLineOfAFileOrOfStdin) {
  const std::string run = train();
  const std::string text = "one two\r\n\n<d>\nthree two one two three two one two three\n\xFF \xC3\ntwo";
  const ProgramResult result = translate({run}, text);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("1 of 4 sentences were cut: the model reads up to 8 tokens\n"));
  const std::vector<std::string> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[1], "") << "what stands between documents stays";
  EXPECT_EQ(lines[2], "<d>");

  write_file(folder.file("new.txt"), text);
  EXPECT_EQ(translate({run, folder.file("new.txt"), "--threads", "1"}).output, result.output);
  ASSERT_EQ(std::system(("gzip '" + folder.file("new.txt") + "'").c_str()), 0);
  EXPECT_EQ(translate({run, folder.file("new.txt.gz")}).output, result.output);
  EXPECT_EQ(translate({run + "/best.safetensors", "-"}, text).output, result.output);
  EXPECT_EQ(translate({run, "--last", "--beam", "1", "--length-penalty", "1"}, text).exit_code, 0);
  EXPECT_EQ(translate({run}, "").output, "");
}

TEST_F(TranslateCommand, RanksTheBestTranslations) {
  const std::string run = train();
  const ProgramResult result = translate({run, "--beam", "4", "--nbest", "3"}, "one two\n\nthree\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::vector<std::string> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 6u);
  double before = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::istringstream columns(lines[i]);
    int number = 0;
    double score = 0;
    columns >> number >> score;
    EXPECT_EQ(number, i < 3 ? 1 : 3);
    EXPECT_LE(score, i % 3 == 0 ? 0 : before);
    before = score;
  }
  EXPECT_EQ(translate({run, "--beam", "2", "--nbest", "3"}, "one\n").exit_code, 2);
}

TEST_F(TranslateCommand, ReadsADocumentSentenceBySentence) {
  const std::string run = train(6);
  const std::string document = "one two\nthree\ntwo one\n";
  const ProgramResult together = translate({run, "--nbest", "2"}, document + "\n" + document);
  ASSERT_EQ(together.exit_code, 0) << together.errors;
  const std::vector<std::string> lines = lines_of(together.output);
  ASSERT_EQ(lines.size(), 12u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(lines[i].substr(lines[i].find('\t')), lines[i + 6].substr(lines[i + 6].find('\t')))
        << "a document after another one is translated like the first";
  }
  const std::string alone = translate({run, "--nbest", "2", "--context", "0"}, document).output;
  EXPECT_EQ(lines_of(alone)[0], lines[0]) << "the first sentence has no context";
  EXPECT_NE(lines_of(alone)[4], lines[4]);
  EXPECT_THAT(translate({run, "--context", "7"}).errors, HasSubstr("from 0 to 6"));
}

/// A program that writes a sentence and waits for its translation before it writes the next one.
TEST_F(TranslateCommand, AnswersASentenceBeforeTheNextOneComes) {
  const std::string run = train(6), pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  RunningProgram program({"translate", run}, {.input_file = pipe});
  for (std::size_t sentence = 1; sentence <= 3; ++sentence) {
    ASSERT_EQ(::write(writer, "one two\n", 8), 8);
    while (lines_of(program.output()).size() < sentence && !program.has_ended()) std::this_thread::sleep_for(5ms);
  }
  ::close(writer);
  const ProgramResult result = program.result();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(lines_of(result.output).size(), 3u);
}

TEST_F(TranslateCommand, SaysWhatIsWrong) {
  const std::string run = train();
  const ProgramResult list = translate({folder.file("out")});
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  EXPECT_THAT(list.output, AllOf(HasSubstr("bpt-k1  bleu "), EndsWith("\nbough translate " + run + "\n")));
  EXPECT_EQ(translate({}).exit_code, 2);
  EXPECT_EQ(translate({run, "--beam", "0"}).exit_code, 2);
  EXPECT_EQ(translate({run, "--device", "gpu"}).exit_code, 2);
  EXPECT_THAT(translate({run, folder.file("nowhere.txt")}).errors, HasSubstr("nowhere.txt"));
  EXPECT_THAT(translate({run}, file_content(run + "/best.safetensors")).exit_code, testing::Lt(3));
  EXPECT_THAT(run_bough({"predict", run}).errors, HasSubstr("translation"));

  write_file(folder.file("broken.safetensors"), file_content(run + "/best.safetensors").substr(0, 5000));
  EXPECT_EQ(translate({folder.file("broken.safetensors")}, "one\n").exit_code, 1);
  EXPECT_THAT(translate({"--help"}).output, AllOf(HasSubstr("--beam"), HasSubstr("--nbest"), HasSubstr("--context")));
}

}  // namespace
}  // namespace bough::test
