#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What a newcomer may type, and what the one line of the answer has in it.
struct Mistake {
  std::vector<std::string> arguments;
  int exit_code;
  std::string answer;
};

/// An experiment that is right but for what is set at these places.
std::string experiment(const std::vector<std::pair<std::string, json>>& changes) {
  json text = {{"task", {{"corpus", {{"train_characters", 3000}}}, {"length", 32}}},
               {"model", {{"layers", 1}, {"dim", 8}, {"heads", 2}}},
               {"graph", "full"},
               {"train", {{"steps", 1}, {"tokens_per_batch", 64}}}};
  for (const auto& [place, value] : changes) text[json::json_pointer(place)] = value;
  return text.dump();
}

/// The files that mistakes are made with.
class Mistakes : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder.file("text.txt"), std::string(20'000, 'a'));
    write_file(folder.file("empty.txt"), "");
    write_file(folder.file("cut.json"), R"({"graph": "bpt")");
    write_file(folder.file("list.json"), "[1, 2]");
    write_file(folder.file("edges.txt"), "0 1\n1 two\n");
    write_file(folder.file("negative.txt"), "0 -1\n");
    write_file(folder.file("damaged.npz"), std::string("PK\3\4", 4) + std::string(40, 'x'));
    write_file(folder.file("bytes.npz"), "\x8f\x01\xfe\x33\x90 7\n\xc0");
    write_file(folder.file("spec.json"), R"({"kind": "bpt", "length": 8})");
    write_file(folder.file("damaged.safetensors"), "damaged");
    write_file(folder.file("script.so"), "#!/bin/sh\n");
    std::filesystem::create_directory(folder.file("folder"));
    std::filesystem::create_directory(folder.file("results_of_none"));
    std::filesystem::create_directory(folder.file("broken"));
    write_file(folder.file("broken/results.json"), R"({"name": 3)");
    write_file(folder.file("broken/experiment.json"), "{}");
  }

  void expect_answers(const std::vector<Mistake>& mistakes) {
    for (const Mistake& mistake : mistakes) {
      std::string command = "bough";
      for (const std::string& argument : mistake.arguments) command += " " + argument;
      const ProgramResult result = run_bough(mistake.arguments, {.working_folder = folder.file("")});
      EXPECT_EQ(result.exit_code, mistake.exit_code) << command << "\n" << result.errors;
      EXPECT_EQ(result.output, "") << command;
      EXPECT_THAT(result.errors, StartsWith("bough: ")) << command;
      EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << command << "\n" << result.errors;
      EXPECT_LT(result.errors.size(), 800u) << command;
      EXPECT_THAT(result.errors, HasSubstr(mistake.answer)) << command;
      EXPECT_THAT(result.errors, Not(HasSubstr("exception"))) << command;
    }
  }

  TemporaryFolder folder;
};

TEST_F(Mistakes, InJson) {
  expect_answers({
      {{"run", R"({"graph": "bpt")"}, 2, "line 1, column 16: not valid JSON, unexpected end of input"},
      {{"run", R"({"graph": bpt})"}, 2, "not valid JSON"},
      {{"run", R"({"graph": "bpt",})"}, 2, "expected string literal"},
      {{"run", R"({"graph": "bpt", "graph": "full"})"}, 2, "the key 'graph' is given twice"},
      {{"run", "[1]"}, 2, "must be a JSON object, not a list of 1 values"},
      {{"run", "cut.json"}, 2, "[cut.json] line 1, column 16"},
      {{"run", "list.json"}, 2, "must be a JSON object"},
      {{"run", "text.txt"}, 2, "[text.txt] line 1, column 1: not valid JSON"},
      {{"run", "empty.txt"}, 2, "[empty.txt] line 1, column 1: not valid JSON, there is nothing in it"},
      {{"run", "nope.json"}, 1, "cannot be opened for reading: No such file or directory"},
      {{"run", "folder"}, 1, "is a directory, not a JSON file"},
      {{"run", "broken"}, 1, "is a folder of results; the experiment that it is of is 'broken/experiment.json'"},
  });
}

TEST_F(Mistakes, InKeysOfExperiments) {
  const auto run = [](const std::string& place, const json& value) {
    return std::vector<std::string>{"run", experiment({{place, value}}), "--dry-run"};
  };
  expect_answers({
      {run("/trein/steps", 1), 2, R"(unknown key "trein", did you mean "train"?)"},
      {run("/train/step", 1), 2, R"(did you mean "train.steps"?)"},
      {run("/train/lr", 0.1), 2, R"(unknown key "train.lr", did you mean "train.learning_rate"?)"},
      {run("/model/num_heads", 2), 2, R"(did you mean "model.heads"?)"},
      {run("/train/steps", "10"), 2, R"(train.steps must be a whole number of at least 1, not "10")"},
      {run("/train/steps", 1.5), 2, "not 1.5"},
      {run("/train/learning_rate", -1), 2, "train.learning_rate must be a number of at least 0, not -1"},
      {run("/train/schedule", "cosin"), 2, R"(did you mean "cosine"?)"},
      {run("/train/momentum", 0.5), 2, "momentum = 0.5 is for sgd, not for adamw, which has beta1 and beta2"},
      {{"run", experiment({{"/train/optimizer", "sgd"}, {"/train/beta2", 0.5}}), "--dry-run"},
       2,
       "beta2 = 0.5 are for adam"},
      {run("/train/epochs", 2), 2, "steps = 1 and epochs = 2 are both given; leave one out"},
      {run("/model/dim", 9), 2, "dim must be a multiple of heads, 9 is not one of 2"},
      {run("/model", "big"), 2, R"(model must be an object, not "big")"},
      {run("/task/kind", "charlm"), 2, "did you mean 'char_lm'?"},
      {run("/task/corpus", {{"kind", "text"}}), 2, "path is missing"},
      {run("/task/corpus", {{"kind", "text"}, {"path", "nope.txt"}}), 1, "there is no file 'nope.txt'"},
      {run("/task/corpus", {{"kind", "text"}, {"path", "empty.txt"}}), 1, "the training text has 0 characters"},
      {run("/sweep", {{"graph", json::array()}}), 2, "must be a list of at least one value"},
      {run("/sweep", {{"seed", {1, 2}}}), 2, R"(did you mean "train.seed"?)"},
      {run("/sweep", {{"train.seed", {1, 1}}}), 2, "1 is given twice"},
      {run("/focus", "nope"), 2, "no run is about 'nope'"},
      {run("/plugins", {"x.so"}), 2, "there is no library 'x.so'"},
      {{"run", experiment({}), "--set", "train.steps", "--dry-run"}, 2, "expects path=value, e.g. train.steps=50"},
      {{"run", experiment({}), "--set", R"(graph={"kind": "bpt")", "--dry-run"},
       2,
       "[--set graph] line 1, column 15: not"},
      {{"run", experiment({}), "--set", "train.stesp=3", "--dry-run"}, 2, R"(did you mean "train.steps"?)"},
  });
}

TEST_F(Mistakes, InGraphs) {
  const auto file = [](const char* name) {
    return std::vector<std::string>{"graph", json({{"kind", "file"}, {"path", name}}).dump()};
  };
  expect_answers({
      {{"graph"}, 2, "specification is missing: The name of a pattern"},
      {{"graph", "btp", "--length", "8"}, 2, R"(there is no generator "btp", did you mean "bpt"?)"},
      {{"graph", "BPT", "--length", "8"}, 2, R"(there is no generator "BPT", did you mean "bpt"?)"},
      {{"graph", "bpt"}, 2, "length is missing"},
      {{"graph", "bpt", "12"}, 2, "expects parameters like k=4, not '12'; --length 12 says how many tokens there are"},
      {{"graph", "bpt", "--length", "8", "K=3"}, 2, R"(unknown key "K", did you mean "k"?)"},
      {{"graph", "bpt", "--length", "8", "--k", "3"}, 2, "parameters of a pattern have no dashes: k=4"},
      {{"graph", "bpt", "--length", "8", "k=many"}, 2, R"(k must be a whole number from 1 to 65536, not "many")"},
      {{"graph", "bpt", "--length", "8", "degree=1000"}, 2, "degree 1000 cannot be reached for 8 tokens"},
      {{"graph", "star", "--length", "8", "degree=3"}, 2, "no parameter of it stands for a \"degree\""},
      {{"graph", "star", "--length", "8", "--causal"}, 2, "[star] has no causal form"},
      {{"graph", R"({"k": 4, "length": 8})"}, 2, "a graph needs a \"kind\""},
      {{"graph", R"({"kind": "bpt", "length": 8, "causal": "yes"})"}, 2, "causal must be true or false"},
      {{"graph", R"({"kind": "union", "of": ["bpt", "star"], "length": 8})"}, 1, "'star' cannot be a member"},
      {{"graph", "full", "--length", "1000000"}, 1, "shorten the sequence or let tokens attend to less"},
      {{"graph", "star", "--length", "8", "--npz", "star.npz"}, 2, "--npz cannot save this"},
      {{"graph", "bpt", "--length", "8", "--npz", "a.txt"}, 2, "a file name that ends in .npz"},
      {{"graph", "bpt", "--length", "8", "--svg", "nowhere/a.svg"}, 1, "could not be created"},
      {{"graph", "bpt", "--length", "8", "--token", "8", "--svg", "a.svg"}, 2, "--token must be from 0 to 7, not 8"},
      {{"graph", "bpt", "--length", "8", "--token", "x", "--svg", "a.svg"}, 2, "--token expects a number from 0 to "},
      {{"graph", "remap", "--length", "8", "of=bpt", R"(names={"lft":"before"})"},
       2,
       "[remap] the pattern has no relation 'lft', did you mean 'left'?; there are"},
      {{"graph", "edges.txt"}, 2, R"(if it is a file of edges, say {"kind": "file", "path": "edges.txt"})"},
      {file("edges.txt"), 1, "'edges.txt' line 2: 'two' is no id"},
      {file("negative.txt"), 1, "'-1' is no id"},
      {file("damaged.npz"), 1, "damaged.npz"},
      {file("empty.txt"), 1, "holds no edges"},
      {file("folder"), 1, "is not a regular file"},
      {file("bytes.npz"), 1, "'bytes.npz' is not a NumPy .npz archive"},
      {{"graph", "causal", "--length", "8", R"(of={"kind": )"}, 2, "[graph: of] line 1, column 10: not valid JSON"},
      {file("nope.npz"), 1, "'nope.npz' cannot be read: No such file or directory"},
  });
}

TEST_F(Mistakes, InPlugInsAndDevices) {
  expect_answers({
      {{"graph", "bpt", "--length", "8", "--plugin", "nope.so"}, 2, "there is no file 'nope.so' here"},
      {{"graph", "bpt", "--length", "8", "--plugin", "script.so"}, 2, "[plug-in script.so] is no shared library"},
      {{"generators", "--plugin", "folder"}, 2, "'folder' is a folder, not a shared library"},
      {{"run", experiment({}), "--device", "gpu"}, 2, "[device] must be cpu, cuda or cuda:N, not 'gpu'"},
      {{"run", experiment({}), "--tf32"}, 2, "--tf32 is for --device cuda"},
  });
}

TEST_F(Mistakes, InFoldersAndCheckpoints) {
  expect_answers({
      {{"run", experiment({}), "--out", "text.txt"}, 2, "[--out] 'text.txt' is a file; results go into a folder"},
      {{"run", experiment({}), "--data", "nowhere"}, 2, "'nowhere' is not there"},
      {{"run", experiment({}), "--resume"}, 2, "there are no results of the experiment"},
      {{"run", experiment({}), "--resume", "--out", "folder"}, 2, "there is nothing to go on with in 'folder'"},
      {{"report", "nope"}, 1, "'nope' is not there; name a folder that bough run has written"},
      {{"report", "results_of_none"}, 1, "holds no results.json"},
      {{"report", "text.txt"}, 1, "'text.txt' is a file, not a folder"},
      {{"report", "broken"}, 1, "should hold the results that bough run writes, and does not"},
      {{"compare", "nope"}, 1, "'nope' is not there"},
      {{"generate", "nope"}, 1, "'nope' is not there; name one experiment or run"},
      {{"generate", "folder"}, 1, "'folder' holds no checkpoint"},
      {{"generate", "damaged.safetensors"}, 1, "is damaged or not a safetensors file"},
      {{"predict", "nope", "text.txt"}, 1, "'nope' is not there; name one experiment or run"},
      {{"predict", "damaged.safetensors", "text.txt"}, 1, "is damaged or not a safetensors file"},
      {{"compare-patterns", "--out", "text.txt", "--steps", "1"}, 2, "'text.txt' is a file; results go into a folder"},
      {{"compare-patterns", "--data", "folder"}, 1, "'folder' is a folder, not a file"},
      {{"compare-patterns", "--data", "nope.txt"}, 1, "there is no file 'nope.txt'"},
  });
}

TEST_F(Mistakes, InPatternsThatCannotBeCompared) {
  for (const auto& [pattern, reason] : {std::pair("star", "[star] has no causal form"),
                                        std::pair("cross", "[char_lm] the pattern reads another text")}) {
    expect_answers({{{"compare-patterns", "--patterns", std::string("full,") + pattern, "--length", "32", "--steps",
                      "1", "--seeds", "1", "--out", "compared"},
                     2,
                     std::string("cannot run: ") + reason}});
    EXPECT_FALSE(std::filesystem::exists(folder.file("compared")));
  }
}

TEST_F(Mistakes, InNamesOfOutputs) {
  const std::vector<std::string> graph{"graph", "bpt", "--length", "8"};
  const auto writes = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = graph;
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  write_file(folder.file("edges.npz"), "edges");
  const std::string of_file = json({{"kind", "file"}, {"path", "edges.npz"}}).dump();
  expect_answers({
      {writes({"--svg", "a.svg", "--html", "a.svg"}), 2, "[--html] 'a.svg' is what --svg writes too"},
      {writes({"--svg", "a.npz", "--npz", "./folder/../a.npz"}), 2, "is what --svg writes too"},
      {{"graph", "spec.json", "--svg", "spec.json"}, 2, "[--svg] 'spec.json' is one of the files that are read"},
      {{"graph", of_file, "--npz", "edges.npz"}, 2, "[--npz] 'edges.npz' is one of the files that are read"},
  });
  EXPECT_FALSE(std::filesystem::exists(folder.file("a.svg")));
  EXPECT_EQ(file_content(folder.file("spec.json")), R"({"kind": "bpt", "length": 8})");
}

/// A folder of results as bough run leaves it, and what damage by hand does to it.
TEST_F(Mistakes, InResultsThatWereChangedByHand) {
  std::vector<std::string> train{"run", experiment({{"/name", "mine"}}), "--out", folder.file("mine"), "--jobs", "1"};
  const ProgramResult trained = run_bough(train);
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
  const std::string path = folder.file("mine/results.json");
  const json whole = json::parse(file_content(path));
  const auto expect_refusal = [&](const json& damaged, const std::string& answer) {
    write_file(path, damaged.dump());
    expect_answers({{{"report", "mine"}, 1, answer},
                    {{"compare", "mine", "--out", "both"}, 1, answer},
                    {{"run", "--resume", "--out", "mine"}, 1, answer}});
    EXPECT_EQ(json::parse(file_content(path)), damaged);
  };
  const std::string metric = whole["metric"]["name"], at = "/runs/0/metrics/" + metric;
  for (const json& value : {json("high"), json(), json::object()}) {
    json damaged = whole;
    damaged[json::json_pointer(at)] = value;
    expect_refusal(damaged, "the run 'full' is done, and its metrics." + metric + " is no number but");
  }
  json twice = whole;
  twice["runs"].push_back(whole["runs"][0]);
  expect_refusal(twice, "the run 'full' is there twice");
  json negative = whole;
  negative["runs"][0]["attention_degree"] = -3;
  expect_refusal(negative, "the run 'full' is not as it was written: attention_degree must be at least 0, not -3");
  json text = whole;
  text["runs"][0]["train_seconds"] = "long";
  expect_refusal(text, R"(the run 'full' is not as it was written: train_seconds cannot be "long")");
  expect_refusal(json::object(), "mine/results.json' should hold the results that bough run writes, and does not: ");

  write_file(path, whole.dump());
  std::filesystem::remove(folder.file("mine/experiment.json"));
  expect_answers({{{"run", "--resume", "--out", "mine"}, 2, "so the experiment must be named: bough run EXPERIMENT"},
                  {{"compare", "mine", "--out", "text.txt"}, 2, "'text.txt' is a file; results go into a folder"},
                  {{"compare", "mine", "--out", "text.txt/x"}, 1, "'text.txt/x' cannot be made: Not a directory"},
                  {{"compare", "mine", "--out", "/proc/x"}, 1, "the folder '/proc/x' cannot be made"}});
}

TEST_F(Mistakes, InArguments) {
  expect_answers({
      {{"train"}, 2, "there is no command 'train'; see bough --help"},
      {{"rum"}, 2, "did you mean 'run'?"},
      {{"run", "--dryrun"}, 2, "there is no option '--dryrun', did you mean '--dry-run'?"},
      {{"run", "a.json", "b.json"}, 2, "'b.json' was not expected"},
      {{"run", "--out"}, 2, "--out needs a value: --out DIR; see bough run --help"},
      {{"run", "--jobs", "0"}, 2, "--jobs must be a number from 1 to 1024, not 0; see bough run --help"},
      {{"run", "--jobs", "many"}, 2, "--jobs expects a number from 1 to 1024, not 'many'"},
      {{"graph", "bpt", "--length", "1e3"}, 2, "--length expects a number, not '1e3'"},
      {{"graph", "bpt", "--length", "8", "--length", "9"}, 2, "--length is given more than once"},
      {{"graph", "bpt", "--length", "8", "--edges", "--stats"}, 2, "--edges excludes --stats"},
      {{"generate", "nope", "--count", "0"}, 2, "--count must be a number from 1 to "},
      {{"generate", "nope", "--seed", "-1"}, 2, "--seed must be a number from 0 to 9223372036854775807, not -1"},
      {{"score", "text.txt", "text.txt", "--samples", "5"}, 2, "--samples requires --against"},
      {{"compare-patterns", "--degree", "abc"}, 2, "--degree expects a number from 0.001 to 1000000000, not 'abc'"},
      {{"compare-patterns", "--degree", "-1"}, 2, "--degree must be a number from 0.001 to 1000000000, not -1"},
      {{"compare-patterns", "--patterns", "window:"}, 2, "expects parameters like k=4, not ''"},
      {{"completion", "tcsh"}, 2, "there are scripts for bash, zsh and fish, not for 'tcsh'"},
      {{"version", "--threads", "none"}, 2, "--threads expects a number, not 'none'"},
  });
}

}  // namespace
}  // namespace bough::test
