#include "tasks/runner/run_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/nn/checkpoint.h"
#include "src/core/files.h"
#include "tasks/runner/live_results.h"
#include "tasks/runner/worker.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/tasks/saved_tensors.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json tiny() {
  return json::parse(R"({
    "name": "tiny",
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
             "length": 32},
    "model": {"layers": 2, "dim": 16, "heads": 2, "ffn": 16, "dropout": 0.1, "attention_dropout": 0.1},
    "graph": {"kind": "bpt", "k": 1},
    "train": {"steps": 6, "tokens_per_batch": 64, "log_every": 2, "warmup": 2, "auxiliary_weight": 0.5}})");
}

/// Presses Ctrl-C at the first sign of life.
class Interrupter : public SweepObserver {
 public:
  void on_progress(const std::string&, const RunProgress&) override {
    if (!done_) std::raise(SIGINT);
    done_ = true;
  }

 private:
  bool done_ = false;
};

SweepOutcome run(const json& source, const std::string& folder, const SweepOptions& options = {}) {
  const Experiment experiment = read_experiment(source);
  SweepOptions own = options;
  own.folder = folder;
  return run_sweep(experiment, plan_runs(experiment), own);
}

TEST(RunSweep, WritesResultsLogAndCheckpoint) {
  const test::TemporaryFolder folder;
  const SweepOutcome outcome = run(tiny(), folder.file("out"));
  EXPECT_EQ(outcome.failed, 0);
  const json results = json::parse(test::file_content(folder.file("out/results.json")));
  ASSERT_EQ(results["runs"].size(), 1u);
  const json& one = results["runs"][0];
  EXPECT_EQ(one["name"], "bpt-k1");
  EXPECT_EQ(one["graph"], json({{"kind", "bpt"}, {"k", 1}}));
  EXPECT_EQ(one["seed"], 1);
  EXPECT_EQ(one["status"], "done");
  EXPECT_GT(one["metrics"]["bpc"].get<double>(), 1);
  EXPECT_LT(one["metrics"]["bpc"].get<double>(), 8);
  EXPECT_GT(one["train_seconds"].get<double>(), 0);
  EXPECT_GT(one["tokens_per_second"].get<double>(), 0);
  EXPECT_GT(one["peak_memory_bytes"].get<std::int64_t>(), 1000);
  EXPECT_EQ(one["num_nodes"], 63);
  EXPECT_GE(one["curve"].size(), 3u);
  EXPECT_EQ(results["bounds"].size(), 2u);
  EXPECT_TRUE(results["host"].contains("processor"));
  EXPECT_FALSE(results["host"]["commit"].get<std::string>().empty());
  EXPECT_TRUE(one["machines"][0]["libraries"].contains("oneTBB"));
  EXPECT_GE(one["other_share"].get<double>(), 0);
  EXPECT_LE(one["other_share"].get<double>(), 1);

  std::istringstream log(test::file_content(folder.file("out/runs/bpt-k1/log.jsonl")));
  std::vector<json> records;
  for (std::string line; std::getline(log, line);) records.push_back(json::parse(line));
  EXPECT_EQ(records.front()["run"], "bpt-k1");
  EXPECT_EQ(records.back()["done"], true);
  EXPECT_TRUE(test::saved_tensors(folder.file("out/runs/bpt-k1/checkpoint.safetensors")).contains("embedding.weight"));
}

TEST(LiveResults, HaveTheCurvesOfUnfinishedRunsFromTheirLogs) {
  const test::TemporaryFolder folder;
  const std::string out = folder.file("out"), log = folder.file("out/runs/bpt-k1/log.jsonl");
  Results results = run(tiny(), out).results;
  const RunResult whole = results.runs.front();
  results.runs.front().status = RunStatus::running;
  results.runs.front().curve.clear();
  save_results(folder.file("out/results.json"), results);
  const std::string version = live_version(out);
  const RunResult live = load_live_results(out).runs.front();
  EXPECT_EQ(live.curve, whole.curve);
  EXPECT_EQ(live.steps_done, 6);
  EXPECT_GT(live.tokens_per_second, 0);
  EXPECT_EQ(live_version(out), version);
  // A line that is being written.
  test::write_file(log, test::file_content(log) + R"({"step": 7, "lo)");
  EXPECT_NE(live_version(out), version);
  EXPECT_EQ(load_live_results(out).runs.front().curve, whole.curve);
  std::filesystem::remove(log);
  EXPECT_TRUE(load_live_results(out).runs.front().curve.empty());
}

TEST(RunSweep, ResumesBitForBitAfterAnInterruptAndForAnyNumberOfThreads) {
  const test::TemporaryFolder folder;
  const SweepOutcome whole = run(tiny(), folder.file("whole"));

  Interrupter interrupter;
  const SweepOutcome cut = run(tiny(), folder.file("cut"), {.observer = &interrupter});
  EXPECT_TRUE(cut.interrupted);
  ASSERT_EQ(cut.results.runs.front().status, RunStatus::running);
  EXPECT_LT(cut.results.runs.front().steps_done, 6);
  EXPECT_EQ(load_results(folder.file("cut/results.json")).runs.front().status, RunStatus::running);

  const int threads = num_threads();
  set_num_threads(threads == 3 ? 2 : 3);
  const SweepOutcome rest = run(tiny(), folder.file("cut"), {.resume = true});
  set_num_threads(threads);
  EXPECT_FALSE(rest.interrupted);
  EXPECT_EQ(rest.results.runs.front().metrics, whole.results.runs.front().metrics);
  EXPECT_EQ(rest.results.runs.front().best_step, whole.results.runs.front().best_step);
  for (const char* file : {"checkpoint", "best"}) {
    EXPECT_EQ(test::saved_tensors(folder.file(std::string("cut/runs/bpt-k1/") + file + ".safetensors")),
              test::saved_tensors(folder.file(std::string("whole/runs/bpt-k1/") + file + ".safetensors")));
  }
  const auto& curve = rest.results.runs.front().curve;
  ASSERT_EQ(curve.size(), whole.results.runs.front().curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_EQ(curve[i].loss, whole.results.runs.front().curve[i].loss);
}

TEST(RunSweep, SaysWhichStepWasTheBestAndGivesTheLastScoreBesideIt) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"].update({{"evaluate_every", 2}, {"average_checkpoints", 2}});
  run(source, folder.file("out"));
  const json one = json::parse(test::file_content(folder.file("out/results.json")))["runs"][0];
  double best = 1e9;
  for (const json& point : one["curve"]) {
    if (point["step"] == one["best_step"]) {
      EXPECT_EQ(point["valid_bpc"], one["metrics"]["valid_bpc"]);
    }
    best = std::min(best, point["valid_bpc"].get<double>());
  }
  EXPECT_EQ(one["metrics"]["valid_bpc"], best);
  EXPECT_TRUE(one["last_metrics"].contains("bpc"));
  EXPECT_TRUE(test::saved_tensors(folder.file("out/runs/bpt-k1/best.safetensors")).contains("embedding.weight"));
  const RunResult read = load_results(folder.file("out/results.json")).runs.front();
  EXPECT_EQ(read.best_step, one["best_step"].get<std::int64_t>());
  EXPECT_EQ(read.last_metrics, one["last_metrics"]);
}

TEST(RunSweep, AccumulatedGradientsAndEpochsTrainALanguageModelToo) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["model"].update({{"dropout", 0.0}, {"attention_dropout", 0.0}});
  source["train"].erase("steps");
  source["train"]["epochs"] = 0.1;
  const RunResult whole = run(source, folder.file("whole")).results.runs.front();
  // A tenth of 3000 characters and the rest of the last document, at most 1200, in steps of 64.
  EXPECT_GE(whole.steps_done, 5);
  EXPECT_LE(whole.steps_done, 7);
  source["train"]["gradient_accumulation"] = 2;
  const RunResult parts = run(source, folder.file("parts")).results.runs.front();
  EXPECT_NEAR(parts.metrics["bpc"].get<double>(), whole.metrics["bpc"].get<double>(), 1e-4);
  source["train"]["gradient_accumulation"] = 3;
  EXPECT_THROW(read_experiment(source), ConfigError);
}

TEST(RunSweep, DoesNotRepeatWhatIsDoneAndKeepsRunsOfEarlierSweeps) {
  const test::TemporaryFolder folder;
  const double seconds = run(tiny(), folder.file("out")).results.runs.front().train_seconds;
  json more = tiny();
  more["sweep"] = {{"graph", {more["graph"], {{"kind", "window"}, {"width", 4}}}}};
  const SweepOutcome second = run(more, folder.file("out"));
  ASSERT_EQ(second.results.runs.size(), 2u);
  EXPECT_EQ(second.results.runs[0].train_seconds, seconds);
  EXPECT_EQ(second.results.runs[1].name, "window-width4");
}

TEST(RunSweep, TakesAKeyThatOlderResultsLackForItsDefault) {
  const test::TemporaryFolder folder;
  run(tiny(), folder.file("out"));
  Results results = load_results(folder.file("out/results.json"));
  ASSERT_EQ(results.runs.front().config["train"].erase("clip"), 1u);
  save_results(folder.file("out/results.json"), results);
  EXPECT_EQ(run(tiny(), folder.file("out"), {.resume = true}).failed, 0);
  json changed = tiny();
  changed["train"]["clip"] = 0.125;
  EXPECT_THROW(run(changed, folder.file("out"), {.resume = true}), ConfigError);
}

/// The message of the ConfigError with which a folder is refused; nothing in it may have changed.
std::string refusal_of(const json& source, const std::string& folder, const SweepOptions& options = {}) {
  const std::string before = test::file_content(folder + "/results.json");
  const std::string message = test::error_message<ConfigError>([&] { run(source, folder, options); });
  EXPECT_TRUE(test::file_content(folder + "/results.json") == before);
  return message;
}

TEST(RunSweep, RefusesAFolderThatHoldsTheRunWithOtherSettings) {
  const test::TemporaryFolder folder;
  run(tiny(), folder.file("out"));
  json other = tiny();
  other["train"]["learning_rate"] = 0.125;
  for (const bool resume : {false, true}) {
    EXPECT_THAT(refusal_of(other, folder.file("out"), {.resume = resume}),
                ::testing::AllOf(HasSubstr("train.learning_rate = 0.001, not 0.125"), HasSubstr("another --out")));
  }
}

TEST(RunSweep, RefusesAFolderOfAnotherExperimentOrSweep) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"graph", {"full", "logsparse"}}};
  run(source, folder.file("out"));
  json renamed = source;
  renamed["name"] = "other";
  EXPECT_THAT(refusal_of(renamed, folder.file("out")), HasSubstr("holds the experiment 'tiny', not 'other'"));
  json swept = source;
  swept["sweep"] = {{"graph", {"full", "bpt"}}};
  EXPECT_THAT(refusal_of(swept, folder.file("out")), HasSubstr("does not have (logsparse)"));
  swept["sweep"] = {{"train.seed", {1, 2}}};
  EXPECT_THAT(refusal_of(swept, folder.file("out"), {.resume = true}), HasSubstr("(full, logsparse)"))
      << "none in common";
}

TEST(RunSweep, ResumingMayLeaveRunsOut) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"graph", {"full", "logsparse"}}};
  run(source, folder.file("out"));
  source["sweep"] = {{"graph", {"full", "bpt"}}};
  const SweepOutcome rest = run(source, folder.file("out"), {.resume = true});
  ASSERT_EQ(rest.results.runs.size(), 3u);
  for (const RunResult& one : rest.results.runs) EXPECT_EQ(one.status, RunStatus::done) << one.name;
}

TEST(RunSweep, ReplacesNoExperimentAndNoRunsThatItDidNotWrite) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("mine"));
  test::write_file(folder.file("mine/experiment.json"), R"({"something": "else"})");
  EXPECT_THAT(refusal_of(tiny(), folder.file("mine")), HasSubstr("experiment.json' is there"));
  EXPECT_EQ(test::file_content(folder.file("mine/experiment.json")), R"({"something": "else"})");
  test::write_file(folder.file("mine/experiment.json"), "no JSON");
  EXPECT_THAT(refusal_of(tiny(), folder.file("mine")), HasSubstr("experiment.json' is there"));
  test::write_file(folder.file("mine/experiment.json"), tiny().dump());
  EXPECT_EQ(run(tiny(), folder.file("mine")).failed, 0) << "the very experiment";

  std::filesystem::create_directories(folder.file("other/runs/precious"));
  EXPECT_THAT(refusal_of(tiny(), folder.file("other")), HasSubstr("without the results.json"));
}

TEST(RunSweep, AnInterruptedRunIsNotStartedAnewUnlessItsFolderIsAnother) {
  const test::TemporaryFolder folder;
  Interrupter interrupter;
  run(tiny(), folder.file("out"), {.observer = &interrupter});
  const std::string log = test::file_content(folder.file("out/runs/bpt-k1/log.jsonl"));
  EXPECT_THAT(refusal_of(tiny(), folder.file("out")),
              ::testing::AllOf(HasSubstr("1 run begun and not finished (bpt-k1)"), HasSubstr("--resume")));
  EXPECT_EQ(test::file_content(folder.file("out/runs/bpt-k1/log.jsonl")), log);
  EXPECT_EQ(run(tiny(), folder.file("out"), {.resume = true}).results.runs.front().status, RunStatus::done);
}

TEST(RunSweep, ResumesBitForBitWithOtherLogsAndCheckpoints) {
  const test::TemporaryFolder folder;
  const SweepOutcome whole = run(tiny(), folder.file("whole"));
  Interrupter interrupter;
  run(tiny(), folder.file("cut"), {.observer = &interrupter});
  json other = tiny();
  other["train"].update({{"log_every", 1}, {"checkpoint_seconds", 0.0}});
  other["jobs"] = 2;
  const SweepOutcome rest = run(other, folder.file("cut"), {.resume = true});
  EXPECT_EQ(rest.results.runs.front().metrics, whole.results.runs.front().metrics);
  EXPECT_EQ(test::saved_tensors(folder.file("cut/runs/bpt-k1/checkpoint.safetensors")),
            test::saved_tensors(folder.file("whole/runs/bpt-k1/checkpoint.safetensors")));
}

TEST(RunSweep, TakesMoreStepsBitForBitWhereNothingElseDependsOnTheirNumber) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"].update({{"schedule", "constant"}, {"auxiliary_weight", 0.0}, {"evaluate_every", 3}});
  json longer = source;
  longer["train"]["steps"] = 9;
  const SweepOutcome whole = run(longer, folder.file("whole"));

  run(source, folder.file("out"));
  EXPECT_THAT(refusal_of(longer, folder.file("out")),
              ::testing::AllOf(HasSubstr("another number of steps"), HasSubstr("--resume")));
  const SweepOutcome more = run(longer, folder.file("out"), {.resume = true});
  const RunResult &one = more.results.runs.front(), &expected = whole.results.runs.front();
  EXPECT_EQ(one.status, RunStatus::done);
  EXPECT_EQ(one.steps_done, 9);
  EXPECT_EQ(one.config, expected.config);
  EXPECT_EQ(one.metrics, expected.metrics);
  EXPECT_EQ(one.best_step, expected.best_step);
  EXPECT_EQ(test::saved_tensors(folder.file("out/runs/bpt-k1/checkpoint.safetensors")),
            test::saved_tensors(folder.file("whole/runs/bpt-k1/checkpoint.safetensors")));
  EXPECT_THAT(refusal_of(source, folder.file("out"), {.resume = true}), HasSubstr("it has taken 9 steps already"));
}

TEST(RunSweep, SaysWhyARunCannotTakeMoreSteps) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"]["auxiliary_weight"] = 0.0;
  run(source, folder.file("cosine"));
  source["train"]["steps"] = 9;
  EXPECT_THAT(refusal_of(source, folder.file("cosine"), {.resume = true}),
              ::testing::AllOf(HasSubstr("train.steps = 6, not 9"), HasSubstr("its schedule, cosine,")));
  json auxiliary = tiny();
  auxiliary["train"]["schedule"] = "noam";
  run(auxiliary, folder.file("auxiliary"));
  auxiliary["train"]["steps"] = 9;
  EXPECT_THAT(refusal_of(auxiliary, folder.file("auxiliary"), {.resume = true}), HasSubstr("auxiliary losses fade"));
}

TEST(RunSweep, KeepsAPictureOfEachGraphOnce) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"graph", {"full", "bpt"}}, {"train.seed", {1, 2}}};
  run(source, folder.file("out"));
  const Results results = load_results(folder.file("out/results.json"));
  ASSERT_EQ(results.pictures.size(), 2u);
  for (const char* kind : {"full", "bpt"}) {
    const GraphPicture* picture = results.picture_of({{"kind", kind}});
    ASSERT_NE(picture, nullptr) << kind;
    EXPECT_THAT(picture->svg, HasSubstr("<svg"));
  }
  EXPECT_EQ(results.picture_of({{"kind", "window"}}), nullptr);
}

TEST(RunSweep, RecordsARunThatCannotStartOrWhoseLossExplodesAndGoesOn) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"]["clip"] = 0;
  source["sweep"] = {{"graph", {"star", "bpt"}}, {"train.learning_rate", {1e-3, 1e30}}};
  const SweepOutcome outcome = run(source, folder.file("out"));
  EXPECT_EQ(outcome.failed, 3);
  Results results = load_results(folder.file("out/results.json"));
  EXPECT_EQ(results.find("bpt-learning_rate0.001")->status, RunStatus::done);
  EXPECT_THAT(results.find("star-learning_rate0.001")->error, HasSubstr("no causal form"));
  const RunResult& exploded = *results.find("bpt-learning_rate1e_30");
  EXPECT_EQ(exploded.status, RunStatus::failed);
  EXPECT_THAT(exploded.error, ::testing::AnyOf(HasSubstr("loss of step"), HasSubstr("valid_bpc after step")));
}

TEST(RunSweep, RecordsARunWhoseScoreIsNotANumberAsFailed) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"].update({{"steps", 1}, {"warmup", 0}, {"learning_rate", 1e30}});
  EXPECT_EQ(run(source, folder.file("out")).failed, 1);
  const Results results = load_results(folder.file("out/results.json"));
  EXPECT_THAT(results.runs.front().error, HasSubstr("valid_bpc after step 1"));
}

TEST(RunSweep, ARunThatIsFarWorseThanGuessingHasDiverged) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"].update({{"warmup", 0}, {"learning_rate", 1e4}});
  const SweepOutcome outcome = run(source, folder.file("out"));
  EXPECT_EQ(outcome.failed, 1);
  const RunResult& diverged = outcome.results.runs.front();
  EXPECT_EQ(diverged.status, RunStatus::failed);
  EXPECT_THAT(diverged.error, HasSubstr("it has diverged: bpc is "));
  EXPECT_FALSE(diverged.curve.empty());
}

TEST(RunSweep, SaysThatAWorkerProgramIsNotLookedForInPath) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"train.seed", {1, 2}}};
  EXPECT_THAT(test::error_message<IoError>(
                  [&] { run(source, folder.file("out"), {.jobs = 2, .worker_program = "no-such-program"}); }),
              HasSubstr("PATH is not searched"));
}

TEST(RunSweep, RecordsAWorkerThatIsKilledAndFinishesItLater) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"train.seed", {1, 2}}};
  const std::string deadly = folder.file("deadly");
  test::write_file(deadly, "#!/bin/sh\nkill -9 $$\n");
  std::filesystem::permissions(deadly, std::filesystem::perms::owner_all);
  const SweepOutcome outcome = run(source, folder.file("out"), {.jobs = 2, .worker_program = deadly});
  EXPECT_EQ(outcome.failed, 2);
  for (const RunResult& one : load_results(folder.file("out/results.json")).runs) {
    EXPECT_EQ(one.status, RunStatus::failed);
    EXPECT_THAT(one.error, HasSubstr("signal 9"));
  }
  const SweepOutcome again = run(source, folder.file("out"), {.resume = true});
  EXPECT_EQ(again.failed, 0);
  for (const RunResult& one : again.results.runs) EXPECT_EQ(one.status, RunStatus::done);
}

TEST(RunSweep, AWorkerThatAnInterruptEndsBeforeItCanSaveHasNotFailed) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["sweep"] = {{"train.seed", {1, 2}}};
  const std::string deaf = folder.file("deaf");
  const std::string said = to_line(RunProgress{.step = 1, .steps = 6});
  test::write_file(deaf, "#!/bin/sh\nprintf %s '" + said + "'\nexec sleep 60\n");
  std::filesystem::permissions(deaf, std::filesystem::perms::owner_all);
  Interrupter interrupter;
  const SweepOutcome outcome =
      run(source, folder.file("out"), {.jobs = 2, .worker_program = deaf, .observer = &interrupter});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.failed, 0);
  for (const RunResult& one : outcome.results.runs) EXPECT_EQ(one.status, RunStatus::running);
  EXPECT_EQ(run(source, folder.file("out"), {.resume = true}).failed, 0);
}

TEST(RunSweep, SaysThatAFolderCannotBeMade) { EXPECT_THROW(run(tiny(), "/dev/null/out"), IoError); }

TEST(RunSweep, LeavesAFolderAloneThatAnotherRunWritesTo) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  {
    const FolderLock other(folder.file("out"));
    EXPECT_THROW(run(tiny(), folder.file("out")), IoError);
    EXPECT_TRUE(std::filesystem::is_empty(folder.file("out")));
  }
  EXPECT_EQ(run(tiny(), folder.file("out")).failed, 0);
}

TEST(RunSweep, KeepsTheFiguresThatTheExperimentCites) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["references"] = {{{"name", "published"}, {"value", 1.5}, {"source", "A 2017"}}};
  run(source, folder.file("out"));
  const Results read = load_results(folder.file("out/results.json"));
  ASSERT_EQ(read.references.size(), 1u);
  EXPECT_EQ(read.references[0], (Reference{"published", 1.5, "A 2017"}));
}

TEST(RunSweep, TellsHowFarTheHeadsOfAnAdaptiveSpanReachAndAPenaltyPullsThemIn) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["graph"] = {{"kind", "adaptive_span"}, {"max_span", 20}};
  source["train"]["steps"] = 60;
  source["train"]["learning_rate"] = 0.05;
  source["sweep"] = {{"train.span_weight", {0.0, 1.0}}};
  const SweepOutcome outcome = run(source, folder.file("out"));
  ASSERT_EQ(outcome.failed, 0);
  std::vector<double> reach;
  for (const RunResult& one : outcome.results.runs) {
    const json& spans = one.metrics.at("spans");
    ASSERT_EQ(spans.size(), 2u) << "one row for each layer";
    ASSERT_EQ(spans[0].size(), 2u) << "one number for each head";
    reach.push_back(spans[0][0]);
  }
  EXPECT_LT(reach[1], 0.8 * reach[0]);
}

TEST(RunSweep, ReadsTextFilesAndSaysWhereItLookedForAMissingOne) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the cat sat\xff on the mat " + std::to_string(i % 10);
  test::write_file(folder.file("text.txt"), text);
  json source = tiny();
  source["task"]["corpus"] = {{"kind", "text"}, {"path", "text.txt"}};
  const ExperimentOptions options{.data_folders = {folder.file("nowhere"), folder.file("")}};
  const Experiment experiment = read_experiment(source, options);
  EXPECT_EQ(run_sweep(experiment, plan_runs(experiment), {.folder = folder.file("out")}).failed, 0);

  source["task"]["corpus"]["path"] = "absent.txt";
  EXPECT_THAT(test::error_message<IoError>([&] { plan_runs(read_experiment(source, options)); }),
              ::testing::AllOf(HasSubstr("absent.txt"), HasSubstr("nowhere")));
}

TEST(RunPlan, MissingDataIsOneErrorForAllRunsThatNamesEachFileOnce) {
  json source = tiny();
  source["task"]["corpus"] = {{"kind", "text"}};
  source["sweep"] = {{"task.corpus.path", {"absent_one.txt", "absent_two.txt"}}, {"graph", {"bpt", "full", "star"}}};
  const std::string error = test::error_message<IoError>([&] { plan_runs(read_experiment(source)); });
  for (const char* file : {"absent_one.txt", "absent_two.txt"}) {
    const std::string words = std::string("there is no file '") + file + "'";
    const std::size_t first = error.find(words);
    ASSERT_NE(first, std::string::npos) << error;
    EXPECT_EQ(error.find(words, first + 1), std::string::npos) << error;
  }
}

TEST(RunPlan, SaysWhichTextIsTooShortForAWindow) {
  const test::TemporaryFolder folder;
  test::write_file(folder.file("text.txt"), std::string(100, 'x'));
  test::write_file(folder.file("empty.txt"), "");
  const auto error_with = [&](const char* path, double held_out) {
    json source = tiny();
    source["task"]["corpus"] = {{"kind", "text"}, {"path", path}, {"held_out", held_out}};
    return plan_runs(read_experiment(source, {.data_folders = {folder.file("")}})).front().error;
  };
  EXPECT_THAT(error_with("empty.txt", 0.1), HasSubstr("training text has 0 characters"));
  EXPECT_THAT(error_with("text.txt", 0.1), HasSubstr("validation text has 10 characters"));
}

TEST(RunPlan, RefusesAModelThatNoMemoryCouldHold) {
  json source = tiny();
  source["model"]["dim"] = 65536;
  source["model"]["layers"] = 10000;
  EXPECT_THAT(plan_runs(read_experiment(source)).front().error, HasSubstr("of memory are free"));
}

TEST(RunPlan, EstimatesMemoryWithinAFactorOfThreeOfWhatIsUsed) {
  const test::TemporaryFolder folder;
  json source = tiny();
  source["train"]["tokens_per_batch"] = 2048;
  source["train"]["steps"] = 2;
  source["model"]["dim"] = 64;
  const SweepOutcome outcome = run(source, folder.file("out"));
  const RunResult& result = outcome.results.runs.front();
  EXPECT_LT(result.peak_memory_bytes, 3 * plan_runs(read_experiment(source)).front().facts.memory_bytes);
  EXPECT_GT(3 * result.peak_memory_bytes, plan_runs(read_experiment(source)).front().facts.memory_bytes);
}

TEST(RunSweep, NamesTheBoundsOfEveryTestThatTheSweepSets) {
  const test::TemporaryFolder folder;
  const std::string one = folder.file("one.tsv"), other = folder.file("other.tsv");
  test::write_file(one, "good\tfine\ngood\tnice\ngood\tfair\nbad\tdull\n");
  test::write_file(other, "good\tfine\nbad\tpoor\n");
  json source = {
      {"name", "two-tests"},
      {"task", {{"kind", "text_classification"}, {"format", "tsv"}, {"train", one}, {"valid", one}, {"min_count", 1}}},
      {"model", {{"layers", 1}, {"dim", 8}, {"heads", 2}, {"ffn", 8}}},
      {"graph", {{"kind", "bpt"}, {"k", 1}}},
      {"train", {{"steps", 1}}},
      {"sweep", {{"task.test", {one, other}}}}};
  const auto bounds = [&](const char* name) {
    const SweepOutcome outcome = run(source, folder.file(name));
    EXPECT_EQ(outcome.failed, 0);
    std::map<std::string, double> result;
    for (const Bound& bound : outcome.results.bounds) result[bound.name] = bound.value;
    return result;
  };
  EXPECT_EQ(bounds("differing"), (std::map<std::string, double>{{"most frequent class, task.test " + one, 0.75},
                                                                {"most frequent class, task.test " + other, 0.5}}));
  source["sweep"] = {{"graph.k", {1, 2}}};
  source["task"]["test"] = one;
  EXPECT_EQ(bounds("same"), (std::map<std::string, double>{{"most frequent class", 0.75}}));
}

}  // namespace
}  // namespace bough::runner
