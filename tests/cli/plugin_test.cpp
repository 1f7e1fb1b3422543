#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(PluginOption, AddsPatternsToTheGraphCommand) {
  const std::string specification = R"({"kind":"every_second","length":3})";
  const ProgramResult result = run_bough({"graph", specification, "--plugin", GOOD_PLUGIN, "--edges"});
  EXPECT_EQ(result.output,
            "{\"num_nodes\":3,\"num_tokens\":3,\"root\":null,\"edges\":[[0,0,0],[1,1,0],[0,2,1],[2,2,0]]}\n")
      << result.errors;
  EXPECT_EQ(run_bough({"graph", specification}).exit_code, 2);
}

TEST(PluginOption, AddsPatternsToTheList) {
  for (const json& entry : json::parse(run_bough({"generators", "--json", "--plugin", GOOD_PLUGIN}).output)) {
    EXPECT_EQ(entry["origin"] == "built in", entry["name"] != "every_second");
  }
  EXPECT_THAT(run_bough({"generators", "--plugin", GOOD_PLUGIN}).output,
              HasSubstr("every_second: itself and two before"));
}

TEST(PluginOption, APatternOfAPluginIsComparedLikeAnyOther) {
  const TemporaryFolder folder;
  const json experiment = {
      {"task",
       {{"corpus",
         {{"kind", "turn_taking"}, {"train_characters", 3000}, {"valid_characters", 300}, {"test_characters", 500}}},
        {"length", 32}}},
      {"model", {{"layers", 1}, {"dim", 16}, {"heads", 2}, {"ffn", 16}}},
      {"train", {{"steps", 2}, {"tokens_per_batch", 64}}},
      {"sweep", {{"graph", {{{"kind", "every_second"}}, {{"kind", "window"}, {"width", 1}}}}}}};
  const ProgramResult run =
      run_bough({"run", experiment.dump(), "--plugin", GOOD_PLUGIN, "--out", folder.file("out"), "--jobs", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("At about the same degree:\n"));
  EXPECT_THAT(run.output, testing::ContainsRegex("every_second \\(degree 1.9\\).*window-width1 \\(degree 2.0\\)|"
                                                 "window-width1 \\(degree 2.0\\).*every_second \\(degree 1.9\\)"));
  EXPECT_THAT(run.output, testing::Not(HasSubstr("No two patterns")));
}

TEST(PluginOption, AnswersALibraryThatIsNotThere) {
  const ProgramResult result = run_bough({"graph", R"({"kind":"bpt","length":3})", "--plugin", "no/such.so"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("there is no file 'no/such.so'"));
}

TEST(PluginOption, AnswersFilesThatAreNoLibrariesWithOneExitCode) {
  const TemporaryFolder folder;
  const std::string library = file_content(GOOD_PLUGIN);
  write_file(folder.file("text.so"), "not a library\n");
  write_file(folder.file("empty.so"), "");
  write_file(folder.file("part.so"), library.substr(0, library.size() / 4));
  const auto answer = [&](const std::string& name) {
    const ProgramResult result = run_bough({"generators", "--plugin", folder.file(name)});
    EXPECT_EQ(result.exit_code, 2) << name;
    return result.errors;
  };
  EXPECT_THAT(answer("text.so"), HasSubstr("is no shared library"));
  EXPECT_THAT(answer("empty.so"), HasSubstr("is empty"));
  EXPECT_THAT(answer("part.so"), HasSubstr("was it copied completely?"));
  EXPECT_THAT(answer("."), HasSubstr("is a folder"));
}

TEST(PluginOption, APatternThatIgnoresCausalIsRefusedBeforeItTrains) {
  const ProgramResult graph =
      run_bough({"graph", R"({"kind":"neighbours","length":8,"causal":true})", "--plugin", CARELESS_PLUGIN});
  EXPECT_EQ(graph.exit_code, 1);
  EXPECT_THAT(graph.errors, testing::AllOf(HasSubstr("[neighbours] was asked for a causal graph and built one that is "
                                                     "not; hand the options to AttentionGraphBuilder"),
                                           HasSubstr(CARELESS_PLUGIN)));
  const json experiment = {
      {"task",
       {{"corpus",
         {{"kind", "turn_taking"}, {"train_characters", 3000}, {"valid_characters", 300}, {"test_characters", 500}}},
        {"length", 32}}},
      {"model", {{"layers", 1}, {"dim", 16}, {"heads", 2}, {"ffn", 16}}},
      {"graph", {{"kind", "neighbours"}}},
      {"train", {{"steps", 2}, {"tokens_per_batch", 64}}}};
  const TemporaryFolder folder;
  const ProgramResult run =
      run_bough({"run", experiment.dump(), "--plugin", CARELESS_PLUGIN, "--out", folder.file("out"), "--jobs", "1"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.errors + run.output, HasSubstr("[neighbours] was asked for a causal graph"));
  EXPECT_THAT(run_bough({"graph", R"({"kind":"neighbours","length":8})", "--plugin", CARELESS_PLUGIN}).output,
              HasSubstr("causal        no\n"));
}

TEST(PluginOption, WhatAPatternThrowsNamesItAndItsLibrary) {
  const ProgramResult result =
      run_bough({"graph", R"({"kind":"troubled","length":8,"causal":true})", "--plugin", CARELESS_PLUGIN});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, testing::AllOf(HasSubstr("[troubled] could not build a causal graph of 8 tokens: it threw "
                                                      "something that is no std::exception"),
                                            HasSubstr(CARELESS_PLUGIN)));
}

/// A run of a pattern from a library that can be moved.
class PluginRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(GOOD_PLUGIN, library);
    write_file(folder.file("tiny.json"), R"({
      "name": "tiny",
      "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300,
                          "test_characters": 500}, "length": 32},
      "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16},
      "graph": {"kind": "every_second"},
      "train": {"steps": 3, "tokens_per_batch": 64, "schedule": "constant", "warmup": 1}})");
    const ProgramResult result = run_bough({"run", folder.file("tiny.json"), "--out", out, "--plugin", library});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }
  void move_library() { std::filesystem::rename(library, moved); }
  ProgramResult generate(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"generate", out + "/runs/every_second", "--count", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments);
  }
  ProgramResult resume(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "--out", out, "--resume", "--set", "train.steps=4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments);
  }

  const TemporaryFolder folder;
  const std::string library = folder.file("libmoving.so"), moved = folder.file("elsewhere.so"),
                    out = folder.file("out");
};

TEST_F(PluginRun, ResultsKeepItsNameAndItsPicture) {
  const json run = json::parse(file_content(out + "/results.json"))["runs"][0];
  EXPECT_EQ(run["plugins"], json({std::filesystem::canonical(library).string()}));
  move_library();
  const std::size_t figures = file_content(out + "/report.html").find("<figcaption>every_second");
  ASSERT_NE(figures, std::string::npos);
  const ProgramResult report = run_bough({"report", out});
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.errors, "");
  EXPECT_THAT(file_content(out + "/report.html"), HasSubstr("<figcaption>every_second"));
  std::filesystem::copy(out, folder.file("copy"), std::filesystem::copy_options::recursive);
  ASSERT_EQ(run_bough({"compare", out, folder.file("copy"), "--out", folder.file("both")}).exit_code, 0);
  EXPECT_THAT(file_content(folder.file("both/report.html")), HasSubstr("<figcaption>every_second"));
}

TEST_F(PluginRun, ASavedExperimentFindsThePluginsThatItNames) {
  json experiment = json::parse(file_content(folder.file("tiny.json")));
  experiment["plugins"] = {"libmoving.so"};
  write_file(folder.file("named.json"), experiment.dump());
  const ProgramResult first = run_bough({"run", folder.file("named.json"), "--out", folder.file("named")});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const ProgramResult again = run_bough({"run", folder.file("named/experiment.json"), "--dry-run"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  const ProgramResult same = run_bough({"run", folder.file("named.json"), "--out", folder.file("named"), "--resume"});
  EXPECT_EQ(same.exit_code, 0) << same.errors;
}

TEST_F(PluginRun, ASavedExperimentNamesThePluginsOfTheCommandLine) {
  const json saved = json::parse(file_content(out + "/experiment.json"));
  EXPECT_EQ(saved["plugins"], json({std::filesystem::canonical(library).string()}));
  const ProgramResult again = run_bough({"run", out + "/experiment.json", "--out", folder.file("again")});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(json::parse(file_content(folder.file("again/experiment.json"))), saved);
  const ProgramResult resumed = run_bough({"run", folder.file("tiny.json"), "--out", out, "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(json::parse(file_content(out + "/experiment.json")), saved) << "though the command did not name it again";
}

TEST_F(PluginRun, ASavedExperimentRunsWithTheLibraryThatIsElsewhereNow) {
  move_library();
  const ProgramResult missing = run_bough({"run", out + "/experiment.json", "--dry-run"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, testing::AllOf(HasSubstr("libmoving.so"), HasSubstr("--plugin FILE")));
  const ProgramResult given = run_bough({"run", out + "/experiment.json", "--dry-run", "--plugin", moved});
  EXPECT_EQ(given.exit_code, 0) << given.errors;
}

TEST_F(PluginRun, ReportsOfResultsWithoutPicturesLoadItAgainOrSayHowToGetThem) {
  json results = json::parse(file_content(out + "/results.json"));
  results.erase("pictures");
  write_file(out + "/results.json", results.dump());
  const ProgramResult recorded = run_bough({"report", out});
  EXPECT_EQ(recorded.errors, "");
  EXPECT_THAT(file_content(out + "/report.html"), HasSubstr("<figcaption>every_second"));
  move_library();
  const ProgramResult without = run_bough({"report", out});
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_THAT(without.errors,
              testing::AllOf(HasSubstr("no picture of the pattern 'every_second'"), HasSubstr("--plugin FILE")));
  const ProgramResult with = run_bough({"report", out, "--plugin", moved});
  EXPECT_EQ(with.errors, "");
  EXPECT_THAT(file_content(out + "/report.html"), HasSubstr("<figcaption>every_second"));
}

TEST_F(PluginRun, WatchLoadsItAgainOrSaysHowToGetThePictures) {
  json results = json::parse(file_content(out + "/results.json"));
  results.erase("pictures");
  write_file(out + "/results.json", results.dump());
  const auto errors_of_watch = [&] {
    RunningProgram watch({"watch", out, "--port", "0"});
    while (!watch.has_ended() && watch.output().find("/ shows") == std::string::npos) std::this_thread::yield();
    if (!watch.has_ended()) watch.interrupt();
    return watch.result().errors;
  };
  const std::string recorded = errors_of_watch();
  if (recorded.find("has no web server") != std::string::npos) GTEST_SKIP() << recorded;
  EXPECT_EQ(recorded, "");
  move_library();
  EXPECT_THAT(errors_of_watch(),
              testing::AllOf(HasSubstr("no picture of the pattern 'every_second'"), HasSubstr("--plugin FILE")));
}

TEST_F(PluginRun, GenerateLoadsItAgainOrSaysWhichLibraryIsMissing) {
  EXPECT_EQ(generate().exit_code, 0) << generate().errors;
  move_library();
  const ProgramResult missing = generate();
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors,
              testing::AllOf(HasSubstr("the graph 'every_second' comes from the library"),
                             HasSubstr("libmoving.so', which is not there"), HasSubstr("--plugin FILE")));
  EXPECT_EQ(generate({"--plugin", moved}).exit_code, 0) << generate({"--plugin", moved}).errors;
}

TEST_F(PluginRun, PredictLoadsItAgainOrSaysWhichLibraryIsMissing) {
  write_file(folder.file("texts.tsv"), "neg\ta bad film\npos\tgood film\nneg\tbad\npos\tit was good\n");
  json experiment = json::parse(R"({
    "name": "texts", "graph": "every_second",
    "task": {"kind": "text_classification", "format": "tsv", "degree_length": 4, "min_count": 1},
    "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8}, "train": {"steps": 1, "warmup": 1}})");
  for (const char* split : {"train", "valid", "test"}) experiment["task"][split] = folder.file("texts.tsv");
  const ProgramResult trained =
      run_bough({"run", experiment.dump(), "--out", folder.file("texts"), "--plugin", library});
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  const auto predict = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"predict", folder.file("texts/runs/every_second")});
    return run_bough(arguments, {.input_file = folder.file("texts.tsv")});
  };
  EXPECT_EQ(predict({}).exit_code, 0) << predict({}).errors;
  move_library();
  EXPECT_EQ(predict({}).exit_code, 2);
  EXPECT_THAT(predict({}).errors, HasSubstr("libmoving.so', which is not there"));
  EXPECT_EQ(predict({"--plugin", moved}).exit_code, 0) << predict({"--plugin", moved}).errors;
}

TEST_F(PluginRun, ResumingLoadsItAgainOrSaysWhichLibraryIsMissing) {
  EXPECT_EQ(resume().exit_code, 0) << resume().errors;
  move_library();
  const ProgramResult missing = resume();
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors,
              testing::AllOf(HasSubstr("libmoving.so', which is not there"), HasSubstr("--plugin FILE")));
  EXPECT_EQ(resume({"--plugin", moved}).exit_code, 0) << resume({"--plugin", moved}).errors;
}

TEST_F(PluginRun, AnExperimentThatNamesALibraryIsResumedFromItsFolder) {
  const std::string second = folder.file("second");
  ASSERT_EQ(
      run_bough({"run", folder.file("tiny.json"), "--out", second, "--set", R"(plugins=["libmoving.so"])"}).exit_code,
      0);
  const ProgramResult resumed = run_bough({"run", "--out", second, "--resume", "--set", "train.steps=4"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  const ProgramResult missing =
      run_bough({"run", folder.file("tiny.json"), "--out", folder.file("third"), "--set", R"(plugins=["liblost.so"])"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, testing::AllOf(HasSubstr("no library 'liblost.so'"), HasSubstr("--plugin FILE")));
}

}  // namespace
}  // namespace bough::test
