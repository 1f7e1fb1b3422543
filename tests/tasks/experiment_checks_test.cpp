#include "tasks/runner/experiment_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/core/errors.h"
#include "tests/support/errors.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_with(const json& changes) {
  json source = {{"graph", {{"kind", "bpt"}}}};
  source.update(changes);
  return test::error_message<ConfigError>([&] { read_experiment(source); });
}

std::vector<std::string> names_with(const json& sweep) {
  std::vector<std::string> names;
  for (const PlannedRun& run : read_experiment({{"graph", "bpt"}, {"task", {{"length", 64}}}, {"sweep", sweep}}).runs) {
    names.push_back(run.name);
  }
  return names;
}

TEST(ExperimentChecks, OnlyWhatDecidesARunCanBeSwept) {
  EXPECT_THAT(error_with({{"sweep", {{"name", {"a", "b"}}}}}), HasSubstr("[sweep.name] only values of task, model"));
  EXPECT_THAT(error_with({{"sweep", {{"jobs", {1, 2}}}}}), HasSubstr("[sweep.jobs]"));
  EXPECT_THAT(error_with({{"sweep", {{"learning_rate", {0.1, 0.2}}}}}),
              HasSubstr("did you mean \"train.learning_rate\"?"));
}

TEST(ExperimentChecks, RunsThatDifferInADefaultOnlyAreTheSame) {
  EXPECT_THAT(error_with({{"sweep", {{"graph", {{{"kind", "bpt"}}, {{"kind", "bpt"}, {"k", 4}}}}}}}),
              AllOf(HasSubstr("'bpt' and 'bpt-k4' would be the same"), HasSubstr("default")));
  const json tree = {{"kind", "bpt"}}, same = {{"kind", "bpt"}, {"k", 4}}, other = {{"kind", "bpt"}, {"k", 5}};
  const auto joined = [](const json& part) { return json{{"kind", "union"}, {"of", {part, "star"}}}; };
  EXPECT_EQ(completed_graph(joined(tree)), completed_graph(joined(same)));
  EXPECT_NE(completed_graph(joined(tree)), completed_graph(joined(other)));
  EXPECT_EQ(completed_graph({{"kind", "unheard_of"}}), json({{"kind", "unheard_of"}}));
}

TEST(ExperimentChecks, AValueBelowASweepMustBeAllowedToo) {
  EXPECT_THAT(error_with({{"train", {{"seed", -1}}}, {"sweep", {{"train.seed", {1, 2}}}}}), HasSubstr("seed"));
  EXPECT_NO_THROW(read_experiment({{"sweep", {{"graph", {"bpt", "full"}}}}})) << "what has no value below is fine";
}

TEST(ExperimentChecks, AFocusIsAboutSomeRun) {
  const json sweep = {{"graph", {{{"kind", "bpt"}, {"k", 2}}, {{"kind", "window"}, {"width", 5}}}}};
  EXPECT_THAT(error_with({{"focus", "btp"}, {"sweep", sweep}}),
              AllOf(HasSubstr("did you mean \"bpt\"?"), HasSubstr("bpt, window")));
  for (const char* focus : {"bpt", "bpt-k2", "window-width5", "full"}) {
    EXPECT_NO_THROW(read_experiment({{"focus", focus}, {"sweep", sweep}})) << focus;
  }
}

TEST(ExperimentChecks, AReferenceHasANameOfItsOwnAndANumber) {
  const auto error_of = [](const json& references) { return error_with({{"references", references}}); };
  EXPECT_NO_THROW(read_experiment({{"graph", "bpt"}, {"references", json::array()}}));
  EXPECT_THAT(error_of("BCN"), HasSubstr("references must be a list"));
  EXPECT_THAT(error_of({{{"name", "BCN"}}}), HasSubstr("references[0].value is missing"));
  EXPECT_THAT(error_of({{{"name", "BCN"}, {"value", "0.5"}}}), HasSubstr("references[0].value must be a number"));
  EXPECT_THAT(error_of({{{"name", "BCN"}, {"value", 0.5}, {"sources", "x"}}}), HasSubstr("source"));
  EXPECT_THAT(error_of({{{"name", ""}, {"value", 0.5}}}), HasSubstr("[references[0]] name is empty"));
  EXPECT_THAT(error_of({{{"name", "BCN"}, {"value", 0.5}}, {{"name", "BCN"}, {"value", 0.6}}}),
              HasSubstr("[references[1]] 'BCN' is named twice, with 0.5 and 0.6"));
  const Experiment experiment = read_experiment(
      {{"graph", "bpt"}, {"references", {{{"name", "BCN"}, {"value", 0.537}, {"source", "McCann et al. 2017"}}}}});
  EXPECT_THAT(experiment.references, ElementsAre(Reference{"BCN", 0.537, "McCann et al. 2017"}));
}

TEST(RunNames, SayWhatADegreeHasBecome) {
  EXPECT_THAT(names_with({{"graph", {{{"kind", "window"}, {"degree", 5}}, {{"kind", "full"}}}}}),
              ElementsAre("window-width4", "full"));
  EXPECT_THAT(
      names_with({{"graph.kind", {"window"}}, {"graph.degree", {5, 10}}, {"train.seed", {1, 2}}}),
      ElementsAre("window-width4-seed1", "window-width10-seed1", "window-width4-seed2", "window-width10-seed2"));
  // A degree that does not vary, in the sweep or in the graph below it.
  const json names = {"bpt", "window"};
  const json in_sweep = {{"sweep", {{"graph", names}, {"graph.degree", {14}}}}};
  const json below = {{"graph", {{"kind", "bpt"}, {"degree", 14}}}, {"sweep", {{"graph.kind", names}}}};
  for (const json& source : {in_sweep, below}) {
    const Experiment experiment = read_experiment(source);
    ASSERT_EQ(experiment.runs.size(), 2u);
    for (const PlannedRun& run : experiment.runs) {
      EXPECT_FALSE(run.config["graph"].contains("degree"));
      EXPECT_EQ(run.name, describe_setting("graph", run.config["graph"]));
    }
  }
}

TEST(RunNames, HaveTheKeysOfListsAndTheKindAlone) {
  EXPECT_EQ(describe_setting("graph", {{"kind", "pyramid"}, {"recent", {2, 2}}}), "pyramid-recent2_2");
  EXPECT_THAT(names_with({{"graph.kind", {"bpt", "full"}}}), ElementsAre("bpt", "full"));
}

}  // namespace
}  // namespace bough::runner
