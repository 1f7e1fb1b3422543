#include "tasks/runner/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/runner/json_schema.h"
#include "tests/support/errors.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json minimal() { return {{"graph", {{"kind", "bpt"}, {"k", 2}}}}; }

std::string error_of(const json& source, const std::vector<std::string>& overrides = {}) {
  try {
    read_experiment(source, {.overrides = overrides});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> names_of(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const PlannedRun& run : experiment.runs) names.push_back(run.name);
  return names;
}

TEST(Experiment, FillsInDefaultsForEverythingButTheGraph) {
  const Experiment experiment = read_experiment(minimal());
  ASSERT_EQ(experiment.runs.size(), 1u);
  const PlannedRun& run = experiment.runs.front();
  EXPECT_EQ(run.name, "bpt-k2");
  EXPECT_EQ(run.config["train"]["steps"], 2000);
  EXPECT_EQ(run.config["model"]["heads"], 4);
  EXPECT_EQ(run.config["task"]["kind"], "char_lm");
  EXPECT_THAT(error_of(json::object()), HasSubstr("graph is missing"));
}

TEST(Experiment, NamesTheNearestKeyForAnUnknownOneAnywhere) {
  EXPECT_THAT(error_of(minimal(), {"train.stepps=5"}), HasSubstr("did you mean \"train.steps\""));
  EXPECT_THAT(error_of(minimal(), {"modle.dim=5"}), HasSubstr("did you mean \"model\""));
  EXPECT_THAT(error_of(minimal(), {"graph.kk=5"}), HasSubstr("did you mean \"k\""));
  EXPECT_THAT(error_of(minimal(), {"task.corpus.kind=turn_takin"}), HasSubstr("did you mean 'turn_taking'"));
  EXPECT_THAT(error_of(minimal(), {"task.kind=charlm"}), HasSubstr("did you mean 'char_lm'"));
  EXPECT_THAT(error_of(minimal(), {"sweep.train.sed=[1]"}), HasSubstr("did you mean \"train.seed\""));
}

TEST(Experiment, RefusesValuesThatDoNotFitTogether) {
  EXPECT_THAT(error_of(minimal(), {"model.heads=3"}), HasSubstr("multiple of heads"));
  EXPECT_THAT(error_of(minimal(), {"train.tokens_per_batch=100"}), HasSubstr("at least one window"));
  EXPECT_THAT(error_of(minimal(), {"train.steps=0"}), HasSubstr("train.steps"));
  EXPECT_THAT(error_of(minimal(), {"sweep.train.seed=[]"}), HasSubstr("at least one value"));
  EXPECT_THAT(error_of(minimal(), {"sweep.train.seed=[1,1]"}), HasSubstr("given twice"));
  EXPECT_THAT(error_of(minimal(), {"train"}), HasSubstr("path=value"));
  EXPECT_THAT(error_of(minimal(), {"name.x=1", "name.y.z=2"}), HasSubstr("name"));
}

TEST(Experiment, ASweepIsTheProductNamedByWhatDiffersSeedsSlowest) {
  json source = minimal();
  source["sweep"] = {{"graph", {{{"kind", "bpt"}, {"k", 1}}, "full"}}, {"train.seed", {1, 2}}, {"model.dim", {64}}};
  const Experiment experiment = read_experiment(source);
  EXPECT_THAT(names_of(experiment), ::testing::ElementsAre("bpt-k1-seed1", "full-seed1", "bpt-k1-seed2", "full-seed2"));
  EXPECT_EQ(experiment.runs[3].config["graph"], json({{"kind", "full"}}));
  EXPECT_EQ(experiment.runs[3].config["train"]["seed"], 2);
  EXPECT_EQ(experiment.runs[3].config["model"]["dim"], 64);
}

TEST(Experiment, AnOverrideReplacesAValueAndEndsItsSweep) {
  json source = minimal();
  source["sweep"] = {{"train.seed", {1, 2}}, {"graph", {"full", "window"}}};
  const Experiment experiment = read_experiment(source, {.overrides = {"train.seed=7", "train.learning_rate=1e-2"}});
  EXPECT_THAT(names_of(experiment), ::testing::ElementsAre("full", "window"));
  EXPECT_EQ(experiment.runs[0].config["train"]["seed"], 7);
  EXPECT_EQ(experiment.runs[0].config["train"]["learning_rate"], 0.01);
  EXPECT_EQ(read_experiment(source, {.overrides = {"graph=logsparse"}}).runs.size(), 2u);
}

TEST(Experiment, AnOverrideAddsNothingButItsOwnPath) {
  json source = {{"train", {{"steps", 3}}}};
  apply_override(source, "train.steps=5");
  EXPECT_EQ(source, json({{"train", {{"steps", 5}}}}));
  source["graph"] = "bpt";
  apply_override(source, "graph.k=2");
  EXPECT_EQ(source["graph"], json({{"kind", "bpt"}, {"k", 2}}));
}

TEST(Experiment, MayNameItsSchemaForEditors) {
  json source = minimal();
  source["$schema"] = "bough-experiment.schema.json";
  EXPECT_EQ(read_experiment(source).runs.front().config, read_experiment(minimal()).runs.front().config);
}

TEST(Experiment, AnOverrideMustBeTextThatJsonCanHold) {
  EXPECT_THAT(error_of(minimal(), {"name=\xff"}), HasSubstr("UTF-8"));
  EXPECT_EQ(read_experiment(minimal(), {.overrides = {"description=größer"}}).description, "größer");
}

TEST(Experiment, TheBuiltInOneIsValidAndNeedsNoFiles) {
  const Experiment experiment = read_experiment(default_experiment());
  EXPECT_GE(experiment.runs.size(), 18u);
  EXPECT_EQ(experiment.runs.front().config["task"]["corpus"]["kind"], "turn_taking");
}

TEST(Experiment, EveryOneThatIsShippedIsValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BOUGH_EXPERIMENTS)) {
    EXPECT_NO_THROW(read_experiment(read_json_file(entry.path()))) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(Experiment, SolvesGraphsForAWantedDegreeAtTheTasksLength) {
  json source = {
      {"task", {{"length", 64}}},
      {"sweep", {{"graph", {"window", {{"kind", "bpt"}, {"alignment", "slot"}}}}, {"graph.degree", {5, 9}}}}};
  const Experiment experiment = read_experiment(source);
  EXPECT_THAT(names_of(experiment), ::testing::ElementsAre("window-degree5", "window-degree9",
                                                           "bpt-alignmentslot-degree5", "bpt-alignmentslot-degree9"));
  EXPECT_EQ(experiment.runs[0].config["graph"], json({{"kind", "window"}, {"width", 4}}));
  ASSERT_TRUE(experiment.runs[0].choice);
  EXPECT_NEAR(experiment.runs[0].choice->degree, 5, 0.2);
  EXPECT_EQ(experiment.runs[3].config["graph"]["alignment"], "slot");
  EXPECT_FALSE(read_experiment(minimal()).runs.front().choice);

  EXPECT_THAT(error_of(minimal(), {R"(graph={"kind":"window","degree":5000})"}), HasSubstr("cannot be reached"));
  source["sweep"] = {{"graph", {"window"}}, {"graph.degree", {5, 5.1}}};
  EXPECT_THAT(error_of(source), HasSubstr("'degree5' and 'degree5.1' would be the same: width 4"));
}

TEST(ExperimentSchema, HasHelpForEveryKeyAndKnowsEveryPattern) {
  const json schema = experiment_schema();
  for (const char* part : {"task", "model", "train"}) {
    for (const auto& [key, value] : schema["properties"][part]["properties"].items()) {
      EXPECT_FALSE(value.value("description", "").empty()) << part << "." << key;
    }
  }
  const std::string text = schema.dump();
  for (const char* word : {"sparse_fixed", "turn_taking", "tokens_per_batch", "draft/2020-12"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(CompletedConfig, FillsInWhatCameLaterAndLeavesAloneWhatIsNotKnown) {
  const json config = read_experiment(default_experiment()).runs.front().config;
  json older = config;
  ASSERT_EQ(older["train"].erase("seed") + older["model"].erase("dropout"), 2u);
  EXPECT_EQ(completed_config(older)["train"]["seed"], 1);
  EXPECT_TRUE(completed_config(older)["model"].contains("dropout"));
  EXPECT_EQ(completed_config(config), config);
  older["train"]["no_longer_known"] = 1;
  EXPECT_EQ(completed_config(older), older);
}

TEST(FirstDifference, NamesThePath) {
  EXPECT_EQ(first_difference({{"a", {{"b", 1}}}}, {{"a", {{"b", 1}}}}), "");
  EXPECT_EQ(first_difference({{"a", {{"b", 1}}}}, {{"a", {{"b", 2}}}}), "a.b");
  EXPECT_EQ(first_difference({{"a", 1}}, {{"a", 1}, {"c", 2}}), "c");
}

}  // namespace
}  // namespace bough::runner
