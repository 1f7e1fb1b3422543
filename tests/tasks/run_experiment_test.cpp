#include "bough/tasks/run_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

/// The runner as a program that has installed bough uses it: through its public header alone.
namespace bough {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json tiny() {
  return json::parse(R"({
    "name": "tiny",
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
             "length": 32},
    "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16},
    "train": {"steps": 4, "tokens_per_batch": 64},
    "sweep": {"graph": [{"kind": "bpt", "k": 1}, {"kind": "window", "width": 4}]}})");
}

class Listener : public RunObserver {
 public:
  void on_plan(const ExperimentPlan& plan) override { plans.push_back(plan); }
  void on_progress(const std::string& run, const RunProgress& progress) override { last_step[run] = progress.step; }
  void on_result(const RunOutcome& result, bool before) override { results.emplace_back(result.name, before); }
  bool should_stop() override { return asked++ >= stop_after; }

  std::vector<ExperimentPlan> plans;
  std::map<std::string, std::int64_t> last_step;
  std::vector<std::pair<std::string, bool>> results;
  int asked = 0, stop_after = 1 << 30;
};

TEST(RunExperiment, RunsInThisProcessAndLeavesNothingBehindWithoutAFolder) {
  Listener listener;
  const ExperimentResults results = run_experiment(tiny(), {.observer = &listener});
  ASSERT_EQ(results.runs.size(), 2u);
  EXPECT_EQ(results.failed, 0);
  EXPECT_FALSE(results.interrupted);
  const RunOutcome& tree = results.runs.front();
  EXPECT_EQ(tree.name, "bpt-k1");
  EXPECT_EQ(tree.status, RunStatus::done);
  EXPECT_EQ(tree.steps, 4);
  EXPECT_GT(tree.metrics.at("bpc"), 1);
  EXPECT_TRUE(tree.last_metrics.contains("bpc"));
  EXPECT_GE(tree.best_step.value(), 1);
  EXPECT_GT(tree.attention_degree, 1);
  ASSERT_NE(results.document, nullptr);
  EXPECT_EQ(results.document->at("runs").at(0).at("metrics").at("bpc"), tree.metrics.at("bpc"));

  ASSERT_EQ(listener.plans.size(), 1u);
  EXPECT_EQ(listener.plans[0].name, "tiny");
  EXPECT_EQ(listener.plans[0].metric, "bpc");
  EXPECT_EQ(listener.plans[0].runs[0].num_nodes, 63);
  EXPECT_EQ(listener.last_step, (std::map<std::string, std::int64_t>{{"bpt-k1", 4}, {"window-width4", 4}}));
  EXPECT_EQ(listener.results.size(), 2u);
}

TEST(RunExperiment, StopsWhereTheObserverSaysSoAndGoesOnFromTheFolder) {
  const test::TemporaryFolder folder;
  const RunOptions options{.folder = folder.file("out"), .overrides = {R"(graph={"kind":"bpt","k":1})"}};
  const ExperimentResults whole = run_experiment(tiny(), {.overrides = options.overrides});

  Listener listener;
  listener.stop_after = 3;
  RunOptions first = options;
  first.observer = &listener;
  const ExperimentResults cut = run_experiment(tiny(), first);
  EXPECT_TRUE(cut.interrupted);
  ASSERT_EQ(cut.runs.size(), 1u);
  EXPECT_EQ(cut.runs[0].status, RunStatus::running);
  EXPECT_LT(cut.runs[0].steps, 4);
  EXPECT_TRUE(std::filesystem::exists(folder.file("out/results.json")));

  RunOptions second = options;
  second.resume = true;
  const ExperimentResults rest = run_experiment(tiny(), second);
  EXPECT_EQ(rest.runs[0].status, RunStatus::done);
  EXPECT_EQ(rest.runs[0].metrics, whole.runs[0].metrics) << "bit for bit";
  Listener again;
  second.observer = &again;
  run_experiment(tiny(), second);
  EXPECT_EQ(again.results, (std::vector<std::pair<std::string, bool>>{{"bpt-k1", true}}));
}

TEST(RunExperiment, ThrowsForWhatConcernsEveryRunAndRecordsWhatConcernsOne) {
  EXPECT_THROW(run_experiment(json::object()), ConfigError);
  EXPECT_THROW(run_experiment(tiny(), {.overrides = {"train.stepps=1"}}), ConfigError);
  EXPECT_THROW(run_experiment(tiny(), {.overrides = {"sweep.graph=[\"star\"]"}}), Error) << "no run can start";
  EXPECT_THROW(run_experiment(tiny(), {.jobs = 2}), ConfigError) << "no worker program";
  const ExperimentResults results = run_experiment(tiny(), {.overrides = {R"(sweep.graph=["star","full"])"}});
  EXPECT_EQ(results.failed, 1);
  EXPECT_EQ(results.runs[0].status, RunStatus::failed);
  EXPECT_THAT(results.runs[0].error, HasSubstr("no causal form"));
  EXPECT_THAT(test::error_message<IndexError>([&] { results.runs[0].metric("bpc"); }),
              HasSubstr("has no 'bpc', it failed: "));
  EXPECT_EQ(results.runs[1].metric("bpc"), results.runs[1].metrics.at("bpc"));
  EXPECT_THAT(test::error_message<IndexError>([&] { results.runs[1].metric("bcp"); }), HasSubstr("mean 'bpc'?"));
  EXPECT_EQ(results.runs[1].status, RunStatus::done);
}

class Thrower : public RunObserver {
 public:
  explicit Thrower(std::string where) : where_(std::move(where)) {}
  void on_plan(const ExperimentPlan&) override { throw_at("plan"); }
  void on_progress(const std::string&, const RunProgress&) override { throw_at("progress"); }
  void on_result(const RunOutcome&, bool) override { throw_at("result"); }
  bool should_stop() override {
    throw_at("stop");
    return false;
  }
  int calls_after = 0;  ///< that it got although it had thrown

 private:
  void throw_at(const char* here) {
    if (thrown_) ++calls_after;
    thrown_ = thrown_ || where_ == here;
    if (where_ == here) throw std::runtime_error("thrown by the observer");
  }
  std::string where_;
  bool thrown_ = false;
};

TEST(RunExperiment, PassesOnWhatAnObserverThrowsAndSavesTheRunUnderWay) {
  const RunOptions plain{.overrides = {R"(graph={"kind":"bpt","k":1})"}};
  const ExperimentResults whole = run_experiment(tiny(), plain);
  for (const char* where : {"plan", "progress", "result", "stop"}) {
    const test::TemporaryFolder folder;
    Thrower thrower(where);
    RunOptions options = plain;
    options.folder = folder.file("out");
    options.observer = &thrower;
    EXPECT_THROW(run_experiment(tiny(), options), std::runtime_error) << where;
    EXPECT_EQ(thrower.calls_after, 0) << where;

    options.observer = nullptr;
    options.resume = true;
    const ExperimentResults rest = run_experiment(tiny(), options);
    ASSERT_EQ(rest.runs.size(), 1u) << where;
    EXPECT_EQ(rest.runs[0].status, RunStatus::done) << where << ": it has not failed";
    EXPECT_EQ(rest.runs[0].metrics, whole.runs[0].metrics) << where;
  }
}

TEST(RunExperiment, APlanTrainsNothing) {
  Listener listener;
  const ExperimentResults results = run_experiment(tiny(), {.plan_only = true, .observer = &listener});
  EXPECT_TRUE(results.runs.empty());
  ASSERT_EQ(listener.plans.size(), 1u);
  EXPECT_EQ(listener.plans[0].runs.size(), 2u);
  EXPECT_TRUE(listener.last_step.empty());
}

}  // namespace
}  // namespace bough
