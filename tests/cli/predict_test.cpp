#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
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
using ::testing::Not;
using namespace std::chrono_literals;

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) result.push_back(json::parse(line));
  return result;
}

/// A few steps of training: what is tested here does not depend on what a model has learned.
class PredictCommand : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder.file("texts.tsv"),
               "neg\ta bad film\npos\tgood film\nneg\tbad\npos\tit was good\nneg\tbad it was\n");
    write_file(folder.file("pairs.tsv"),
               "neutral\ta dog\ta cat\nentailment\ta dog\ta dog\ncontradiction\ta dog\tno dog\n");
  }
  /// The folder of the run.
  std::string train(bool pairs = false, const json& changes = json::object()) {
    json experiment = json::parse(R"({
      "name": "tiny",
      "task": {"kind": "text_classification", "format": "tsv", "degree_length": 4, "min_count": 1, "valid_fraction": 0.4},
      "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
      "graph": {"kind": "bpt", "k": 1},
      "train": {"steps": 2, "texts_per_batch": 2, "warmup": 1}})");
    if (pairs) experiment["task"].update({{"kind", "nli"}, {"format", "snli_tsv"}});
    experiment["task"]["train"] = experiment["task"]["test"] = folder.file(pairs ? "pairs.tsv" : "texts.tsv");
    experiment["task"]["valid"] = experiment["task"]["test"];
    experiment.merge_patch(changes);
    const ProgramResult result = run_bough({"run", experiment.dump(), "--out", folder.file("out"), "--jobs", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return folder.file(experiment["graph"] == "chain" ? "out/runs/chain" : "out/runs/bpt-k1");
  }
  ProgramResult predict(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), "predict");
    write_file(folder.file("input"), input);
    return run_bough(arguments, {.input_file = folder.file("input")});
  }
  const TemporaryFolder folder;
};

TEST_F(PredictCommand, PrintsAJsonLineForEachTextOfAFileOrOfStdin) {
  const std::string run = train();
  const std::string texts = "a good film\r\nbad\nIt was \"bad\" !";
  const ProgramResult result = predict({run}, texts);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("1 of 7 words (14.3%) are unknown to the model\n"));
  const std::vector<json> lines = json_lines(result.output);
  ASSERT_EQ(lines.size(), 3u);
  for (const json& line : lines) {
    ASSERT_EQ(line["scores"].size(), 2u);
    const double negative = line["scores"]["neg"], positive = line["scores"]["pos"];
    EXPECT_NEAR(negative + positive, 1, 1e-5);
    EXPECT_EQ(line["label"], negative >= positive ? "neg" : "pos");
  }
  EXPECT_FALSE(lines[1].contains("left_out"));
  EXPECT_EQ(lines[2]["left_out"], 3);
  EXPECT_THAT(result.errors, HasSubstr("1 of 3 texts were cut: the model reads up to 3 words\n"));

  write_file(folder.file("new.txt"), texts);
  EXPECT_EQ(predict({run, folder.file("new.txt"), "--threads", "1"}).output, result.output);
  ASSERT_EQ(std::system(("gzip '" + folder.file("new.txt") + "'").c_str()), 0);
  EXPECT_EQ(predict({run, folder.file("new.txt.gz")}).output, result.output);
  EXPECT_EQ(predict({run + "/best.safetensors", "-"}, texts).output, result.output);
  EXPECT_EQ(predict({run, "--last"}, texts).exit_code, 0);
  EXPECT_EQ(predict({run}, "").output, "");
  EXPECT_THAT(predict({run}, file_content(folder.file("new.txt.gz"))).errors, HasSubstr("stdin is compressed"));
}

TEST_F(PredictCommand, ReadsPairsInTwoColumns) {
  const std::string run = train(true);
  const ProgramResult result = predict({run}, "a dog\ta cat\na cat\tno dog\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(json_lines(result.output).size(), 2u);
  EXPECT_EQ(json_lines(result.output)[0]["scores"].size(), 3u);
  for (const char* bad : {"a dog a cat", "a\tb\tc", "\ta cat", "a dog\t "}) {
    const ProgramResult refused = predict({run}, std::string("a dog\ta cat\n") + bad + "\na dog\ta cat\n");
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(json_lines(refused.output).size(), 1u) << "what stands before it is not lost";
    EXPECT_THAT(refused.errors, HasSubstr("stdin, line 2 must be two sentences with a tab between them"));
  }
}

TEST_F(PredictCommand, ReadsAHypothesisALineIfTheModelReadsNothingElse) {
  const std::string run = train(true, {{"task", {{"reads", "hypothesis"}}}});
  const ProgramResult result = predict({run, "--html", folder.file("page.html")}, "a cat\nno dog\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  ASSERT_EQ(json_lines(result.output).size(), 2u);
  EXPECT_EQ(json_lines(result.output)[0]["scores"].size(), 3u);
  EXPECT_THAT(file_content(folder.file("page.html")), HasSubstr(R"("pairs":false)"));
  const ProgramResult refused = predict({run}, "a cat\na dog\tno dog\n");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(json_lines(refused.output).size(), 1u);
  EXPECT_THAT(refused.errors, HasSubstr("line 2 has a tab, and the model reads one sentence a line, the hypothesis"));
  EXPECT_THAT(predict({run}, "\n").errors, HasSubstr("a line is a hypothesis"));
}

TEST_F(PredictCommand, JudgesWithRecurrentLayersButHasNoPageToShow) {
  const json recurrent = {
      {"graph", "chain"},
      {"model", {{"kind", "recurrent"}, {"bidirectional", true}, {"heads", nullptr}, {"ffn", nullptr}}}};
  const std::string run = train(false, recurrent);
  const ProgramResult result = predict({run}, "a good film\nbad\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::vector<json> lines = json_lines(result.output);
  ASSERT_EQ(lines.size(), 2u);
  for (const json& line : lines) {
    EXPECT_NEAR(line["scores"]["neg"].get<double>() + line["scores"]["pos"].get<double>(), 1, 1e-5);
  }
  EXPECT_EQ(predict({run, "--threads", "1"}, "a good film\nbad\n").output, result.output);
  const ProgramResult page = predict({run, "--html", folder.file("page.html")}, "a good film\n");
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_THAT(page.errors, HasSubstr("recurrent layers, which attend to nothing"));
}

TEST_F(PredictCommand, ReadsTreesIfTheModelRunsAlongThem) {
  const std::string file = folder.file("trees.txt");
  write_file(file, "(3 (2 a) (4 good))\n(1 (1 bad) (2 film))\n(1 (2 a) (1 bad))\n");
  const json model = {{"kind", "recurrent"}, {"along", "binary_tree"}, {"heads", nullptr}, {"ffn", nullptr}};
  const json task = {{"format", "sst2"}, {"train", file}, {"valid", file}, {"test", file}};
  const std::string run = train(false, {{"task", task}, {"model", model}, {"graph", "chain"}});
  const ProgramResult result = predict({run}, "(3 (2 a) (4 good))\n(S (DT a) (JJ good))\n(1 bad)\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::vector<json> lines = json_lines(result.output);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], lines[1]);
  const ProgramResult refused = predict({run}, "(1 bad)\na good film\n");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(json_lines(refused.output).size(), 1u);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("line 2 is no phrase tree"), HasSubstr("must begin with '('")));
  EXPECT_THAT(predict({run}, "\n").errors, HasSubstr("a line is a phrase tree in brackets"));
}

TEST_F(PredictCommand, AnEmptyLineIsAnErrorThatNamesIt) {
  const std::string run = train();
  write_file(folder.file("gap.txt"), "good\n \nbad\n");
  const ProgramResult result = predict({run, folder.file("gap.txt"), "--html", folder.file("page.html")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(json_lines(result.output).size(), 1u);
  EXPECT_THAT(result.errors, HasSubstr("gap.txt, line 2 is empty"));
  EXPECT_THAT(file_content(folder.file("page.html")), HasSubstr("\"good\""));
}

/// A program that writes a text and waits for the answer before the next one gets it.
TEST_F(PredictCommand, AnswersATextBeforeTheNextOneComes) {
  const std::string run = train(), pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  RunningProgram program({"predict", run}, {.input_file = pipe});
  for (std::size_t text = 1; text <= 3; ++text) {
    ASSERT_EQ(::write(writer, "good film\nba", 12), 12) << "the second line is not whole yet";
    while (json_lines(program.output()).size() < 2 * text - 1 && !program.has_ended()) std::this_thread::sleep_for(5ms);
    ASSERT_EQ(::write(writer, "d\n", 2), 2);
    while (json_lines(program.output()).size() < 2 * text && !program.has_ended()) std::this_thread::sleep_for(5ms);
  }
  ::close(writer);
  const ProgramResult result = program.result();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(json_lines(result.output).size(), 6u);
}

TEST_F(PredictCommand, SaysWhichModelsThereAre) {
  const std::string run = train();
  const ProgramResult list = predict({folder.file("out")});
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  EXPECT_THAT(list.output, AllOf(HasSubstr("bpt-k1  accuracy "), EndsWith("\nbough predict " + run + "\n")));
  write_file(folder.file("new.txt"), "good\n");
  const ProgramResult several = predict({folder.file("out"), folder.file("new.txt")});
  EXPECT_EQ(several.exit_code, 2) << "the text was not judged";
  EXPECT_EQ(several.output, "");
  EXPECT_THAT(several.errors, AllOf(HasSubstr("bpt-k1  accuracy "), EndsWith("name one of its runs\n")));
  const ProgramResult missing = predict({folder.file("out/runs/other")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("there are bpt-k1"));
  EXPECT_EQ(predict({}).exit_code, 2);
  EXPECT_EQ(predict({run, "--device", "gpu"}).exit_code, 2);
  EXPECT_EQ(predict({run, "--device", "cuda:99"}, "good\n").exit_code, 1);
  EXPECT_THAT(predict({run, folder.file("nowhere.txt")}).errors, HasSubstr("nowhere.txt"));
  EXPECT_EQ(predict({run, "--html", folder.file("nowhere/page.html")}, "good\n").exit_code, 1);
  const ProgramResult continued = run_bough({"generate", run});
  EXPECT_EQ(continued.exit_code, 1);
  EXPECT_THAT(continued.errors, HasSubstr("of the task text_classification, which continues no text; bough predict"));
  EXPECT_THAT(predict({"--help"}).output, AllOf(HasSubstr("--html"), HasSubstr("--last"), HasSubstr("nli")));
}

TEST_F(PredictCommand, NeverReplacesWhatItReads) {
  const std::string run = train(), texts = folder.file("new.txt"), link = folder.file("link.html");
  write_file(texts, "good film\n");
  std::filesystem::create_symlink(texts, link);
  for (const std::string& page : {texts, link, run + "/best.safetensors"}) {
    const ProgramResult result = predict({run, texts, "--html", page});
    EXPECT_EQ(result.exit_code, 2) << page;
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr("[--html] '" + page + "' is one of the files that are read"));
  }
  EXPECT_EQ(file_content(texts), "good film\n");
  EXPECT_EQ(predict({run, texts}).exit_code, 0);
}

TEST_F(PredictCommand, WritesAPageThatHostileTextCannotLeave) {
  const std::string run = train(), path = folder.file("page.html");
  const ProgramResult result =
      predict({run, "--html", path}, "<script>alert(1)</script>\ngood film </script><img src=x>\n");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(json_lines(result.output).size(), 2u);
  const std::string page = file_content(path);
  EXPECT_THAT(page, AllOf(HasSubstr("What bpt-k1 looks at"), HasSubstr("prefers-color-scheme: dark"),
                          HasSubstr(R"(["good",true])"), HasSubstr(R"(["\u003c",false])")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<img")), Not(HasSubstr("http"))));
}

TEST_F(PredictCommand, ThePageShowsWordsAndSpansInABrowser) {
  if (std::string(BOUGH_CHROMIUM).empty()) GTEST_SKIP() << "no Chromium here; tools/setup --tests installs it";
  const std::string run = train(true), path = folder.file("page.html");
  ASSERT_EQ(predict({run, "--html", path}, "a <b>\tno dog\n").exit_code, 0);
  const std::string command = "timeout 120 " BOUGH_CHROMIUM
                              " --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --user-data-dir=" +
                              folder.file("profile") + " --dump-dom file://" + path + " 2>/dev/null";
  std::string dom;
  const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) dom.append(buffer, got);
  EXPECT_THAT(dom, AllOf(HasSubstr("layer 1, the other sentence"), HasSubstr("Second sentence"),
                         HasSubstr("class=\"node word unknown\""), HasSubstr(">dog</div>"), HasSubstr("span root"),
                         HasSubstr("--share: 1.000"), HasSubstr("&lt;</div>")));
}

}  // namespace
}  // namespace bough::test
