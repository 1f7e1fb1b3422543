#include "tasks/runner/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/registry.h"
#include "tasks/runner/json_schema.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(error_of({{"grap", "bpt"}}), HasSubstr("did you mean \"graph\""));
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

TEST(Experiment, EveryRunHasANameOfItsOwnThatIsAFolder) {
  const json tree = {{"kind", "bpt"}, {"k", 4}}, band = {{"kind", "window"}, {"width", 8}};
  const auto name_with = [](const json& graph) { return read_experiment({{"graph", graph}}).runs.front().name; };
  EXPECT_EQ(name_with({{"kind", "causal"}, {"of", tree}}), "causal-bpt-k4");
  EXPECT_EQ(name_with({{"kind", "union"}, {"of", {tree, band}}}), "union-bpt-k4_window-width8");
  EXPECT_EQ(name_with({{"kind", "union"}, {"of", {tree, "star"}}}), "union-bpt-k4_star");

  json source = minimal();
  source["sweep"] = {{"graph", {{{"kind", "causal"}, {"of", tree}}, {{"kind", "causal"}, {"of", band}}}}};
  EXPECT_THAT(names_of(read_experiment(source)), ::testing::ElementsAre("causal-bpt-k4", "causal-window-width8"));

  // Names that are equal where they end.
  json members = json::array();
  for (int k = 1; k < 20; ++k) members.push_back({{"kind", "bpt"}, {"k", k}});
  json longer = members;
  longer.push_back(band);
  source["sweep"]["graph"] = {{{"kind", "union"}, {"of", members}}, {{"kind", "union"}, {"of", longer}}};
  const std::vector<std::string> cut = names_of(read_experiment(source));
  EXPECT_EQ(cut[1], cut[0] + "-2");
  source["sweep"]["graph"] = {"bpt", {{"kind", "bpt"}}};
  EXPECT_THAT(error_of(source), HasSubstr("two runs would be the same, 'bpt'"));
}

TEST(Experiment, ItsNameStaysInsideTheFolderOfResults) {
  EXPECT_EQ(experiment_name(minimal(), {"name=.."}), "_.");
  EXPECT_EQ(experiment_name(minimal(), {"name=."}), "_");
  EXPECT_EQ(experiment_name(minimal(), {"name=../up"}), "_._up");
  EXPECT_EQ(experiment_name(minimal(), {"name="}), "experiment");
  EXPECT_EQ(experiment_name(minimal(), {"name=a b"}), "a_b");
  EXPECT_LE(experiment_name(minimal(), {"name=" + std::string(1000, 'x')}).size(), 200u);
}

TEST(Experiment, AnErrorInASweepNamesItsPlace) {
  const auto error_with = [](const json& sweep) {
    json source = minimal();
    source["sweep"] = sweep;
    return error_of(source);
  };
  using ::testing::StartsWith;
  EXPECT_THAT(error_with({{"graph", {"full", {{"kind", "bpt"}, {"kk", 2}}}}, {"train.seed", {1, 2}}}),
              ::testing::AllOf(StartsWith("[sweep.graph[1]] bpt: "), HasSubstr("did you mean \"k\"")));
  EXPECT_THAT(error_with({{"graph", {{{"kind", "bpt"}, {"kk", 2}}}}}), StartsWith("[sweep.graph[0]] "))
      << "the only value";
  EXPECT_THAT(error_with({{"train.steps", {5, 0}}}), StartsWith("[sweep.train.steps[1]] "));
  EXPECT_THAT(error_with({{"train.sed", {1, 2}}}), StartsWith("[sweep.train.sed] ")) << "the path itself";
  EXPECT_THAT(error_with({{"model.dim", {64, 100}}, {"model.heads", {4, 8}}}),
              StartsWith("[sweep.model.dim[1] with sweep.model.heads[1]] "))
      << "each is fine with another";
  EXPECT_THAT(error_with({{"train.seed", json::array()}}), StartsWith("[sweep.train.seed] "));
  EXPECT_THAT(error_with({{"train.seed", {1, 2, 1}}}),
              ::testing::AllOf(StartsWith("[sweep.train.seed[2]] "), HasSubstr("sweep.train.seed[0]")));
  json source = minimal();
  source["sweep"] = {{"train.seed", {1, 2}}};
  source["model"]["heads"] = 3;
  EXPECT_THAT(error_of(source), StartsWith("[model] ")) << "the sweep has nothing to do with it";
}

TEST(Experiment, AZipWalksThroughItsListsTogether) {
  json source = minimal();
  source["sweep"] = {{"zip", {{"task.length", {64, 128}}, {"train.learning_rate", {4e-4, 5e-4}}}},
                     {"train.seed", {1, 2}}};
  const Experiment experiment = read_experiment(source);
  EXPECT_THAT(names_of(experiment),
              ::testing::ElementsAre("length64-seed1", "length128-seed1", "length64-seed2", "length128-seed2"))
      << "the length tells the rows apart";
  EXPECT_EQ(experiment.runs[1].config["task"]["length"], 128);
  EXPECT_EQ(experiment.runs[1].config["train"]["learning_rate"], 5e-4);
  EXPECT_EQ(experiment.runs[1].settings,
            json({{"task.length", 128}, {"train.learning_rate", 5e-4}, {"train.seed", 1}}));
  EXPECT_THAT(experiment.runs[1].following, ::testing::ElementsAre("train.learning_rate"));

  // Several zips are combined, and a row is named by as many of its values as it takes.
  source["sweep"] = {{"zip",
                      {{{"model.dim", {16, 16, 32}}, {"model.heads", {2, 4, 4}}},
                       {{"graph", {"full", "star"}}, {"train.seed", {1, 2}}}}}};
  EXPECT_THAT(names_of(read_experiment(source)),
              ::testing::ElementsAre("full-dim16-heads2", "full-dim16-heads4", "full-dim32-heads4", "star-dim16-heads2",
                                     "star-dim16-heads4", "star-dim32-heads4"));
}

TEST(Experiment, AnErrorInAZipNamesItsPlace) {
  const auto error_with = [](const json& zip, const json& more = json::object()) {
    json source = minimal();
    source["sweep"] = more;
    source["sweep"]["zip"] = zip;
    return error_of(source);
  };
  using ::testing::AllOf;
  using ::testing::StartsWith;
  EXPECT_THAT(error_with({{"task.length", {64, 1}}, {"train.seed", {1, 2}}}),
              StartsWith("[sweep.zip.task.length[1]] "));
  EXPECT_THAT(error_with(json::array({{{"task.length", {64, 1}}, {"train.seed", {1, 2}}}})),
              StartsWith("[sweep.zip[0].task.length[1]] "));
  EXPECT_THAT(error_with({{"model.dim", {64, 100}}, {"model.heads", {4, 8}}}),
              StartsWith("[sweep.zip.model.dim[1] with sweep.zip.model.heads[1]] "));
  EXPECT_THAT(error_with({{"train.sed", {1, 2}}, {"model.dim", {64, 128}}}), StartsWith("[sweep.zip.train.sed] "));
  EXPECT_THAT(error_with({{"task.length", {64, 128}}, {"train.seed", {1, 2, 3}}}),
              AllOf(StartsWith("[sweep.zip] "), HasSubstr("task.length has 2 values, train.seed has 3")));
  EXPECT_THAT(error_with({{"task.length", {64, 128, 64}}, {"train.seed", {1, 2, 1}}}),
              AllOf(StartsWith("[sweep.zip.task.length[2]] "), HasSubstr("given twice, as number 0")));
  EXPECT_THAT(error_with({{"train.seed", {1, 2}}}, {{"train.seed", {3}}}),
              AllOf(StartsWith("[sweep."), HasSubstr("swept twice")));
  EXPECT_THAT(error_with({{"train.seed", json::array()}}), StartsWith("[sweep.zip.train.seed] must be a list"));
  EXPECT_THAT(error_with(json::object()), StartsWith("[sweep.zip] must be an object"));
  EXPECT_THAT(error_with(7), StartsWith("[sweep.zip] must be an object"));
  EXPECT_THAT(error_with(json::array({7})), StartsWith("[sweep.zip[0]] must be an object"));
}

TEST(Experiment, AnOverrideTakesItsListOutOfAZip) {
  json source = minimal();
  source["sweep"] = {{"zip", {{"task.length", {64, 128}}, {"train.learning_rate", {4e-4, 5e-4}}}}};
  const Experiment experiment = read_experiment(source, {.overrides = {"train.learning_rate=1e-3"}});
  EXPECT_THAT(names_of(experiment), ::testing::ElementsAre("length64", "length128"));
  EXPECT_EQ(experiment.runs[1].config["train"]["learning_rate"], 1e-3);
  EXPECT_EQ(read_experiment(source, {.overrides = {"train.learning_rate=1e-3", "task.length=32"}}).runs.size(), 1u);
  EXPECT_THAT(names_of(read_experiment(source, {.overrides = {"sweep.zip.train.seed=[8,9]"}})),
              ::testing::ElementsAre("length64", "length128"));
  EXPECT_THAT(error_of(source, {"sweep.zip.train.seed=[8]"}), HasSubstr("train.seed has 1"));
  source["sweep"]["zip"] = json::array({source["sweep"]["zip"]});
  EXPECT_EQ(read_experiment(source, {.overrides = {"train.learning_rate=1e-3", "task.length=32"}}).runs.size(), 1u);
}

TEST(Experiment, AComparisonWithoutAGraphOfItsOwnNeverGetsAnEmptyOne) {
  json comparison = {{"sweep", {{"graph", {"full", {{"kind", "bpt"}, {"k", 2}}}}, {"train.seed", {1, 2}}}}};
  const Experiment experiment = read_experiment(comparison);
  EXPECT_EQ(experiment.source, comparison) << "saved, it must not hold \"graph\": null";
  ASSERT_EQ(experiment.runs.size(), 4u);
  for (const PlannedRun& run : experiment.runs) EXPECT_TRUE(run.config["graph"].is_object()) << run.name;

  comparison["sweep"].erase("graph");
  EXPECT_THAT(error_of(comparison), AllOf(HasSubstr("graph is missing"), Not(HasSubstr("null"))));
  comparison["sweep"]["graph.k"] = {1, 2};
  EXPECT_THAT(error_of(comparison), Not(HasSubstr("null")));
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

TEST(Experiment, TheBuiltInOneHasAsManySeedsAsAReportNeedsToTellAnything) {
  std::map<std::string, std::set<json>> seeds;
  for (const auto& run : read_experiment(default_experiment()).runs) {
    seeds[run.config["graph"].dump()].insert(run.config["train"]["seed"]);
  }
  for (const auto& [graph, all] : seeds) EXPECT_GE(all.size(), 3u) << graph;
}

TEST(Experiment, EveryOneThatIsShippedIsValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BOUGH_EXPERIMENTS)) {
    EXPECT_NO_THROW(read_experiment(read_json_file(entry.path()), {.file = entry.path()})) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(Experiment, SolvesGraphsForAWantedDegreeAtTheTasksLength) {
  json source = {
      {"task", {{"length", 64}}},
      {"sweep", {{"graph", {"window", {{"kind", "bpt"}, {"alignment", "slot"}}}}, {"graph.degree", {5, 9}}}}};
  const Experiment experiment = read_experiment(source);
  EXPECT_THAT(names_of(experiment),
              ::testing::ElementsAre("window-width4", "window-width9", "bpt-alignmentslot-k1", "bpt-alignmentslot-k2"));
  EXPECT_EQ(experiment.runs[0].config["graph"], json({{"kind", "window"}, {"width", 4}}));
  ASSERT_TRUE(experiment.runs[0].choice);
  EXPECT_NEAR(experiment.runs[0].choice->degree, 5, 0.2);
  EXPECT_EQ(experiment.runs[3].config["graph"]["alignment"], "slot");
  EXPECT_FALSE(read_experiment(minimal()).runs.front().choice);

  EXPECT_THAT(error_of(minimal(), {R"(graph={"kind":"window","degree":5000})"}), HasSubstr("cannot be reached"));
  source["sweep"] = {{"graph", {"window"}}, {"graph.degree", {5, 5.1}}};
  EXPECT_THAT(error_of(source),
              HasSubstr("two runs would be the same, 'window-width4': width 4 gives degree 4.844 (wanted: 5.1)"));
}

TEST(Experiment, ASweptDegreeIsTheAttentionDegreeOfEveryPattern) {
  const json source = {{"task", {{"length", 64}}}, {"sweep", {{"graph", {"expander"}}, {"graph.degree", {8, 9}}}}};
  const Experiment experiment = read_experiment(source);
  ASSERT_TRUE(experiment.runs[0].choice);
  EXPECT_NEAR(experiment.runs[0].choice->degree, 8, 0.3);
  EXPECT_EQ(experiment.runs[0].config["graph"]["degree"], 14) << "causal, a token sees half of its 14 neighbours";
  const json own = {{"graph", {{"kind", "expander"}, {"degree", 8}}}};
  EXPECT_EQ(read_experiment(own).runs[0].config["graph"]["degree"], 8) << "a parameter of its own otherwise";
}

TEST(Experiment, SaysWhichPatternWithinTheGraphIsWrong) {
  EXPECT_THAT(error_of({{"graph", {{"kind", "union"}, {"of", {"bpt", {{"kind", "window"}, {"widht", 3}}}}}}}),
              HasSubstr("[graph.of[1]] window: unknown key \"widht\""));
}

TEST(Experiment, LooksForGraphsInFilesLikeForData) {
  const test::TemporaryFolder folder;
  test::write_file(folder.file("self.txt"), "0 0\n1 1\n2 2\n3 3\n");
  const json file = {{"kind", "file"}, {"path", "self.txt"}};
  const json source = {{"task", {{"length", 4}}}, {"graph", {{"kind", "union"}, {"of", {file}}}}};
  const Experiment experiment = read_experiment(source, {.data_folders = {"no-such-folder", folder.file("")}});
  EXPECT_EQ(experiment.runs[0].config["graph"]["of"][0]["path"], folder.file("self.txt"));
}

TEST(ExperimentSchema, HasHelpForEveryKeyAndKnowsEveryPattern) {
  for (const tasks::Task* task : tasks::all_tasks()) {
    const json schema = experiment_schema({task});
    for (const char* part : {"task", "model", "train"}) {
      const json& keys = schema["else"]["properties"][part]["properties"];
      ASSERT_FALSE(keys.empty()) << part;
      for (const auto& [key, value] : keys.items()) {
        EXPECT_FALSE(value.value("description", "").empty()) << task->name() << ": " << part << "." << key;
      }
    }
  }
  const std::string text = experiment_schema().dump();
  for (const char* word : {"sparse_fixed", "turn_taking", "tokens_per_batch", "draft/2020-12"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

/// The first task under another name, with a key of its own.
class OtherTask : public tasks::Task {
 public:
  std::string name() const override { return "other"; }
  std::string summary() const override { return "something else"; }
  tasks::Metric metric() const override { return first_.metric(); }
  std::vector<Parameter> task_parameters() const override { return {boolean_parameter("own", "a key of its own")}; }
  std::vector<Parameter> model_parameters() const override { return first_.model_parameters(); }
  BuildOptions graph_options(const Settings& task) const override { return first_.graph_options(task); }
  void check(const tasks::RunSettings&) const override {}
  std::vector<tasks::Bound> bounds(const tasks::RunSettings&) const override { return {}; }
  std::unique_ptr<tasks::TrainingRun> start(const tasks::RunSettings&) const override { return nullptr; }

 private:
  const tasks::Task& first_ = *tasks::all_tasks().front();
};

TEST(ExperimentSchema, OfSeveralTasksSaysWhichKeysFollowFromTheKind) {
  const OtherTask other;
  const tasks::Task& first = *tasks::all_tasks().front();
  const json schema = experiment_schema({&first, &other});
  EXPECT_EQ(schema["properties"]["task"]["properties"]["kind"]["enum"], json({first.name(), "other"}));
  ASSERT_EQ(schema["allOf"].size(), 2u);
  const auto applies = [&schema](std::size_t i, const json& experiment) {
    const json& condition = schema["allOf"][i]["if"];
    const json named = experiment.value("task", json::object()).value("kind", json());
    return named.is_null() ? !condition.contains("required")
                           : named == condition["properties"]["task"]["properties"]["kind"]["const"];
  };
  for (const json& experiment : {json::object(), json{{"task", {{"kind", first.name()}}}}}) {
    EXPECT_TRUE(applies(0, experiment));
    EXPECT_FALSE(applies(1, experiment));
  }
  EXPECT_FALSE(applies(0, {{"task", {{"kind", "other"}}}}));
  EXPECT_TRUE(applies(1, {{"task", {{"kind", "other"}}}}));
  EXPECT_FALSE(schema["allOf"][0]["then"]["else"]["properties"]["task"]["properties"].contains("own"));
  EXPECT_TRUE(schema["allOf"][1]["then"]["else"]["properties"]["task"]["properties"].contains("own"));
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
