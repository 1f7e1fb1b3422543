#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"
#include "tests/support/python.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Asks Python's jsonschema what it says about experiments.
class ExperimentSchema : public testing::Test {
 protected:
  void SetUp() override {
    const ProgramResult schema = run_bough({"run", "--schema"});
    ASSERT_EQ(schema.exit_code, 0) << schema.errors;
    write_file(folder_.file("schema.json"), schema.output);
    python_ = python_with("jsonschema");
    if (!python_) GTEST_SKIP() << "python3 has no jsonschema here; tools/setup --tests installs it";
  }

  /// "path: message" for each complaint, the deepest ones.
  std::string complaints(const std::string& experiment) {
    write_file(folder_.file("experiment.json"), experiment);
    EXPECT_TRUE(run_python(*python_, folder_, R"(
import json, jsonschema
schema = json.load(open("schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
errors = jsonschema.Draft202012Validator(schema).iter_errors(json.load(open("experiment.json")))
with open("complaints", "w") as file:
    for error in errors:
        print(error.json_path + ":", error.message, file=file)
)"));
    return file_content(folder_.file("complaints"));
  }

  TemporaryFolder folder_;
  std::optional<std::string> python_;
};

TEST_F(ExperimentSchema, TakesEveryExperimentThatIsShipped) {
  for (const auto& entry : std::filesystem::directory_iterator(BOUGH_EXPERIMENTS)) {
    EXPECT_THAT(complaints(file_content(entry.path().string())), IsEmpty()) << entry.path();
  }
  EXPECT_THAT(complaints(R"({"sweep": {"graph": ["bpt", "window"], "graph.degree": [14, 21], "train.seed": [1, 2]}})"),
              IsEmpty());
  EXPECT_THAT(complaints(R"({"graph": {"kind": "expander", "degree": 5}, "task": {"corpus": {"seed": 3}}})"),
              IsEmpty());
}

TEST_F(ExperimentSchema, SpeaksOfTheKindOfGraphThatWasGiven) {
  EXPECT_THAT(complaints(R"({"graph": {"kind": "bpt", "k": 0}})"),
              AllOf(HasSubstr("$.graph.k: 0 is less than the minimum of 1"), Not(HasSubstr("window"))));
  EXPECT_THAT(complaints(R"({"graph": {"kind": "bpt", "width": 3}})"), HasSubstr("'width' was unexpected"));
  EXPECT_THAT(complaints(R"({"graph": {"kind": "btp"}})"), HasSubstr("$.graph.kind: 'btp' is not one of"));
  EXPECT_THAT(complaints(R"({"graph": "btp"})"), HasSubstr("$.graph: 'btp' is not one of"));
  EXPECT_THAT(complaints(R"({"graph": {"kind": "union", "of": ["bpt", {"kind": "causal", "of": "window"}]}})"),
              IsEmpty());
  EXPECT_THAT(complaints(R"({"graph": {"kind": "union", "of": ["bpt", {"kind": "btp"}]}})"),
              HasSubstr("$.graph.of[1].kind: 'btp' is not one of"));
  EXPECT_THAT(complaints(R"({"graph": {"k": 3}})"), HasSubstr("'kind' is a required property"));
  EXPECT_THAT(complaints(R"({"graph": {"kind": "window", "degree": 14, "width": 3}})"),
              HasSubstr("['degree', 'width']"));
  EXPECT_THAT(complaints(R"({"graph": {"kind": "full", "degree": 14}})"), HasSubstr("'degree' was unexpected"));
  EXPECT_THAT(complaints(R"({"task": {}})"), HasSubstr("$: 'graph' is a required property"));
  EXPECT_THAT(complaints(R"({"graph": "bpt", "task": {"corpus": {"kind": "text", "pth": "x"}}})"),
              AllOf(HasSubstr("'pth' was unexpected"), HasSubstr("'path' is a required property")));
}

TEST_F(ExperimentSchema, ChecksWhatIsInsideAReference) {
  const auto references = [&](const std::string& text) {
    return complaints(R"({"graph": "bpt", "references": [)" + text + "]}");
  };
  EXPECT_THAT(references(R"({"name": "BCN", "value": 0.5, "source": "A 2017"}, {"name": "B", "value": 1})"), IsEmpty());
  EXPECT_THAT(references(R"({"name": "BCN"})"), HasSubstr("$.references[0]: 'value' is a required property"));
  EXPECT_THAT(references(R"({"name": "BCN", "value": 0.5, "sources": "A"})"), HasSubstr("'sources' was unexpected"));
}

TEST_F(ExperimentSchema, ChecksWhatIsInsideASweep) {
  const auto sweep = [&](const std::string& text) {
    return complaints(R"({"graph": "bpt", "sweep": {)" + text + "}}");
  };
  EXPECT_THAT(sweep(R"("train.seed": [1, 2], "model.dim": [64], "task.corpus.path": ["a", "b"])"), IsEmpty());
  EXPECT_THAT(sweep(R"("train.sed": [1])"), HasSubstr("'train.sed' was unexpected"));
  EXPECT_THAT(sweep(R"("train.seed": 1)"), HasSubstr("$.sweep['train.seed']: 1 is not of type 'array'"));
  EXPECT_THAT(sweep(R"("train.seed": [])"), HasSubstr("$.sweep['train.seed']: "));
  EXPECT_THAT(sweep(R"("train.steps": [100, "many"])"),
              HasSubstr("$.sweep['train.steps'][1]: 'many' is not of type 'integer'"));
  EXPECT_THAT(sweep(R"("graph": ["bpt", {"kind": "window", "width": -1}])"),
              HasSubstr("$.sweep.graph[1].width: -1 is less than the minimum of 0"));
  EXPECT_THAT(sweep(R"("graph.k": [1, 0.5])"), HasSubstr("$.sweep['graph.k'][1]: "));
}

TEST_F(ExperimentSchema, ChecksWhatIsInsideAZip) {
  const auto zip = [&](const std::string& text) {
    return complaints(R"({"graph": "bpt", "sweep": {"train.seed": [1, 2], "zip": )" + text + "}}");
  };
  EXPECT_THAT(zip(R"({"task.length": [64, 128], "train.learning_rate": [1e-3, 2e-3]})"), IsEmpty());
  EXPECT_THAT(zip(R"([{"task.length": [64, 128]}, {"model.dim": [64, 128], "model.heads": [2, 4]}])"), IsEmpty());
  EXPECT_THAT(zip(R"({"train.sed": [1]})"), HasSubstr("'train.sed' was unexpected"));
  EXPECT_THAT(zip(R"([{"train.steps": [100, "many"]}])"),
              HasSubstr("$.sweep.zip[0]['train.steps'][1]: 'many' is not of type 'integer'"));
  EXPECT_THAT(zip("3"), HasSubstr("$.sweep.zip: 3 is not of type 'object', 'array'"));
  EXPECT_THAT(complaints(R"({"sweep": {"zip": {"graph": ["bpt", "window"], "train.seed": [1, 2]}}})"), IsEmpty());
  EXPECT_THAT(complaints(R"({"sweep": {"zip": [{"graph": ["bpt", "window"]}]}})"), IsEmpty());
  EXPECT_THAT(complaints(R"({"sweep": {"zip": [{"train.seed": [1]}]}})"), HasSubstr("'graph' is a required property"));
}

TEST_F(ExperimentSchema, LetsAnExperimentThatExtendsAnotherLeaveOutAndTakeAway) {
  const auto change = [&](const std::string& text) { return complaints(R"({"extends": "base.json", )" + text + "}"); };
  EXPECT_THAT(change(R"("name": "x")"), IsEmpty());
  EXPECT_THAT(change(R"("graph": {"k": 3}, "train": {"steps": null, "optimizer": null}, "sweep": null)"), IsEmpty());
  EXPECT_THAT(change(R"("task": {"corpus": {"kind": "text"}}, "sweep": {"train.seed": [1, 2]})"), IsEmpty());
  EXPECT_THAT(change(R"("train": {"stepps": 1})"), HasSubstr("'stepps' was unexpected"));
  EXPECT_THAT(change(R"("graph": {"kind": "bpt", "k": 0})"), HasSubstr("$.graph.k: 0 is less than the minimum of 1"));
  EXPECT_THAT(change(R"("sweep": {"train.sed": [1]})"), HasSubstr("'train.sed' was unexpected"));
  EXPECT_THAT(complaints(R"({"extends": 3})"), HasSubstr("$.extends: 3 is not of type 'string'"));
}

}  // namespace
}  // namespace bough::test
