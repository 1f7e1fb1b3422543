#include "tasks/runner/extends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/runner/experiment.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json merged(const char* base, const char* change) { return merge_experiment(json::parse(base), json::parse(change)); }

std::string error_of(const json& source, const ExtendsLookup& lookup) {
  try {
    with_extended(source, lookup);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MergeExperiment, MergesObjectsByKeyAndReplacesEverythingElse) {
  EXPECT_EQ(merged(R"({"name": "a", "train": {"steps": 5, "seed": 1}, "plugins": ["x", "y"]})",
                   R"({"train": {"steps": 7}, "model": {"dim": 8}, "plugins": ["z"]})"),
            json::parse(R"({"name": "a", "train": {"steps": 7, "seed": 1}, "model": {"dim": 8}, "plugins": ["z"]})"));
}

TEST(MergeExperiment, KeepsOrReplacesAllCitedFiguresTogether) {
  const char* base = R"({"references": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]})";
  EXPECT_EQ(merged(base, R"({"name": "x"})")["references"].size(), 2u);
  EXPECT_EQ(merged(base, R"({"references": [{"name": "c", "value": 3}]})")["references"],
            json::parse(R"([{"name": "c", "value": 3}])"));
  EXPECT_EQ(merged(base, R"({"references": null})"), json::object());
}

TEST(MergeExperiment, NullTakesAKeyAway) {
  EXPECT_EQ(merged(R"({"description": "d", "train": {"steps": 5, "seed": 1}})",
                   R"({"description": null, "train": {"steps": null, "ema": null}, "model": {"dim": null}})"),
            json::parse(R"({"train": {"seed": 1}, "model": {}})"));
}

TEST(MergeExperiment, AnObjectOfAnotherKindReplacesTheWholeObject) {
  EXPECT_EQ(merged(R"({"graph": {"kind": "bpt", "k": 4}})", R"({"graph": {"kind": "window", "width": 8}})")["graph"],
            json::parse(R"({"kind": "window", "width": 8})"));
  EXPECT_EQ(merged(R"({"graph": {"kind": "bpt", "k": 4, "clip_levels": 2}})", R"({"graph": {"kind": "bpt", "k": 8}})"),
            json::parse(R"({"graph": {"kind": "bpt", "k": 8, "clip_levels": 2}})"))
      << "of the same kind";
  EXPECT_EQ(merged(R"({"graph": {"kind": "bpt", "k": 4}})", R"({"graph": {"k": 8}})")["graph"]["kind"], "bpt");
  EXPECT_EQ(merged(R"({"graph": {"kind": "bpt", "k": 4}})", R"({"graph": "bpt"})")["graph"], "bpt") << "a bare name";
  EXPECT_EQ(merged(R"({"graph": "bpt"})", R"({"graph": {"k": 8}})")["graph"], json({{"kind", "bpt"}, {"k", 8}}));
  EXPECT_EQ(merged(R"({"task": {"length": 64, "corpus": {"kind": "text", "path": "a"}}})",
                   R"({"task": {"corpus": {"kind": "turn_taking"}}})")["task"],
            json::parse(R"({"length": 64, "corpus": {"kind": "turn_taking"}})"));
  EXPECT_EQ(merged(R"({"task": {"length": 64}})", R"({"task": {"kind": "char_lm"}})")["task"],
            json({{"kind", "char_lm"}, {"length", 64}}))
      << "the base does not say of which kind it is, which is this one";
  EXPECT_EQ(merged(R"({"task": {"length": 64}})", R"({"task": {"kind": "nli", "train": "a"}})")["task"],
            json({{"kind", "nli"}, {"train", "a"}}))
      << "the base means another kind without naming it";
  EXPECT_EQ(merged(R"({"model": {"heads": 2}})", R"({"model": {"kind": "recurrent", "dim": 8}})")["model"],
            json({{"kind", "recurrent"}, {"dim", 8}}));
  EXPECT_EQ(merged(R"({"model": {"heads": 2}})", R"({"model": {"kind": "graph_transformer"}})")["model"]["heads"], 2);
}

TEST(MergeExperiment, ASweepIsReplacedAsAWholeAndEndsWhereAValueIsSet) {
  const char* base =
      R"({"sweep": {"train.seed": [1, 2], "model.dim": [8, 16], "zip": {"task.length": [4, 8], "train.steps": [1, 2]}}})";
  EXPECT_EQ(merged(base, R"({"sweep": {"train.ema": [0.5]}})")["sweep"], json::parse(R"({"train.ema": [0.5]})"));
  EXPECT_FALSE(merged(base, R"({"sweep": null})").contains("sweep"));
  EXPECT_EQ(merged(base, R"({"train": {"seed": 7, "steps": 3}})")["sweep"],
            json::parse(R"({"model.dim": [8, 16], "zip": {"task.length": [4, 8]}})"));
  EXPECT_FALSE(merged(R"({"sweep": {"train.seed": [1, 2]}})", R"({"train": {"seed": 7}})").contains("sweep"));
}

TEST(Extends, FollowsAChainRelativeToEachFileThenTheDataFolders) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("bases"));
  std::filesystem::create_directories(folder.file("data"));
  test::write_file(folder.file("bases/middle.json"), R"({"extends": "root.json", "train": {"steps": 2}, "name": "m"})");
  test::write_file(folder.file("bases/root.json"), R"({"extends": "far.json", "train": {"steps": 1, "seed": 1}})");
  test::write_file(folder.file("data/far.json"), R"({"graph": "bpt", "name": "far", "train": {"seed": 0}})");
  const json source = {{"extends", "bases/middle.json"}, {"train", {{"ema", 0.5}}}};
  const ExtendedExperiment whole =
      with_extended(source, {.file = folder.file("mine.json"), .data_folders = {folder.file("data")}});
  EXPECT_EQ(whole.source, json::parse(R"({"graph": {"kind": "bpt"}, "name": "m",
                                          "train": {"steps": 2, "seed": 1, "ema": 0.5}})"));
  EXPECT_THAT(whole.files, ElementsAre(folder.file("bases/middle.json"), folder.file("bases/root.json"),
                                       folder.file("data/far.json")));
  EXPECT_THAT(whole.folders, ElementsAre(folder.file("bases"), folder.file("data")));
  const json plain = {{"graph", "bpt"}};
  EXPECT_EQ(with_extended(plain, {}).source, plain);
}

TEST(Extends, ACycleIsAnErrorThatNamesTheChain) {
  const test::TemporaryFolder folder;
  test::write_file(folder.file("a.json"), R"({"extends": "b.json"})");
  test::write_file(folder.file("b.json"), R"({"extends": "./a.json"})");
  const std::string a = folder.file("a.json"), b = folder.file("b.json");
  EXPECT_THAT(error_of({{"extends", "b.json"}}, {.file = a}),
              AllOf(HasSubstr("[extends] " + a + " extends " + b + " extends "), HasSubstr("must end")));
  EXPECT_THAT(error_of({{"extends", a}}, {}), HasSubstr("[extends] the experiment extends " + a + " extends " + b));
}

TEST(Extends, ErrorsNameTheFile) {
  const test::TemporaryFolder folder;
  test::write_file(folder.file("broken.json"), "{\"train\": ");
  test::write_file(folder.file("list.json"), "[1]");
  test::write_file(folder.file("typo.json"), R"({"graph": "bpt", "train": {"stepps": 5}})");
  const ExtendsLookup lookup{.file = folder.file("mine.json"), .data_folders = {folder.file("data")}};
  EXPECT_THAT(error_of({{"extends", "broken.json"}}, lookup), HasSubstr(folder.file("broken.json")));
  EXPECT_THAT(error_of({{"extends", "list.json"}}, lookup), HasSubstr(folder.file("list.json")));
  EXPECT_THAT(error_of({{"extends", 3}}, lookup), AllOf(HasSubstr("not 3"), HasSubstr("mine.json")));
  EXPECT_THAT(error_of({{"extends", "none.json"}}, lookup),
              AllOf(HasSubstr(folder.file("none.json")), HasSubstr(folder.file("data/none.json")),
                    HasSubstr("'" + folder.file("mine.json") + "' extends")));
  EXPECT_THAT(error_of({{"extends", "none.json"}}, {}), HasSubstr("in no file looks in the current folder"));
  const auto reading = [](const json& source, const ExperimentOptions& options) {
    return test::error_message<ConfigError>([&] { read_experiment(source, options); });
  };
  EXPECT_THAT(
      reading({{"extends", "typo.json"}}, {.file = folder.file("mine.json")}),
      AllOf(HasSubstr("did you mean \"train.steps\""), HasSubstr("mine.json' extends " + folder.file("typo.json"))));
  EXPECT_THAT(reading({{"graph", "bpt"}}, {.overrides = {"extends=typo.json"}}), HasSubstr("in its own file"));
}

TEST(Extends, ResultsHoldTheMergedExperimentAndResumeWithoutTheBase) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("bases"));
  test::write_file(folder.file("bases/text.txt"), std::string(2000, 'a') + std::string(2000, 'b'));
  test::write_file(folder.file("bases/base.json"), R"({
    "name": "small", "graph": "bpt", "task": {"corpus": {"kind": "text", "path": "text.txt"}, "length": 16},
    "model": {"layers": 1, "dim": 8, "heads": 1, "ffn": 8}, "train": {"steps": 2, "tokens_per_batch": 32}})");
  const json source = {{"extends", folder.file("bases/base.json")},
                       {"train", {{"schedule", "constant"}, {"warmup", 1}}}};
  const ExperimentResults results = bough::run_experiment(source, {.folder = folder.file("out")});
  ASSERT_EQ(results.failed, 0);
  const json saved = json::parse(test::file_content(folder.file("out/experiment.json")));
  EXPECT_FALSE(saved.contains("extends"));
  EXPECT_EQ(saved["train"], json({{"steps", 2}, {"tokens_per_batch", 32}, {"schedule", "constant"}, {"warmup", 1}}));
  EXPECT_EQ(results.document->at("experiment"), saved);
  std::filesystem::remove(folder.file("bases/base.json"));
  const ExperimentResults longer = bough::run_experiment(saved, {.folder = folder.file("out"),
                                                                 .data_folders = {folder.file("bases")},
                                                                 .overrides = {"train.steps=4"},
                                                                 .resume = true});
  EXPECT_EQ(longer.runs.front().steps, 4);
}

}  // namespace
}  // namespace bough::runner
