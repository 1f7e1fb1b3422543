#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "bough/core/errors.h"
#include "tasks/training/continuation.h"
#include "tests/support/files.h"
#include "tests/tasks/line_run.h"

namespace bough::training {
namespace {

using ::testing::HasSubstr;

/// Interrupted after every single step and resumed with a model made anew, as another process would.
TEST(TrainingLoop, ResumesBitForBitWithBestParametersPatienceAndAverages) {
  const std::vector<double> scores{5, 2, 3, 2.5, 2.2, 1, 1, 1};
  const json plain = {{"steps", 16}, {"evaluate_every", 2}, {"log_every", 3}, {"early_stopping", {{"patience", 3}}}};
  for (const json& more : {json::object(), json{{"ema", 0.9}}, json{{"average_checkpoints", 2}},
                           json{{"weight_decay", 0.2}, {"weight_decay_of", "matrices"}},
                           json{{"gradient_accumulation", 2}, {"optimizer", "sgd"}, {"momentum", 0.9}}}) {
    json settings = plain;
    settings.update(more);
    SCOPED_TRACE(settings.dump());
    const std::int64_t parts = settings.value("gradient_accumulation", 1);
    const test::TemporaryFolder folder;
    LineRun whole(scores, parts);
    const TrainingOutcome expected = train(whole, settings, folder.file("whole"));
    EXPECT_EQ(expected.steps_done, 10);
    EXPECT_EQ(expected.best_step, 4);

    TrainingOutcome outcome;
    std::size_t next_score = 0;
    for (int turn = 0; turn < 30 && !outcome.finished; ++turn) {
      LineRun run(scores, parts);
      run.next_score = next_score;
      LoopRequest again = request(settings, folder.file("cut"));
      again.resume = true;
      again.should_stop = [asked = 0]() mutable { return asked++ > 0; };
      TrainingLoop loop(run, again);
      loop.run();
      outcome = loop.outcome();
      next_score = run.next_score;
    }
    EXPECT_EQ(outcome.steps_done, 10);
    EXPECT_EQ(outcome.best_step, expected.best_step);
    EXPECT_EQ(outcome.metrics, expected.metrics);
    EXPECT_EQ(outcome.last_metrics, expected.last_metrics);
    ASSERT_EQ(outcome.curve.size(), expected.curve.size());
    for (std::size_t i = 0; i < outcome.curve.size(); ++i) EXPECT_EQ(outcome.curve[i].loss, expected.curve[i].loss);
    for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
      EXPECT_EQ(saved(folder.file(std::string("cut/") + file)), saved(folder.file(std::string("whole/") + file)));
    }
  }
}

/// Evaluations have a loss beside the score, and the two disagree about which is the best.
class TwoScoresRun : public LineRun {
 public:
  TwoScoresRun() : LineRun({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}) {}

  json evaluate(tasks::Split split) override {
    const std::vector<double> losses{5, 2, 3, 2.5, 2.2, 1, 1, 1};
    const std::size_t at = next_score;
    json metrics = LineRun::evaluate(split);
    metrics["loss"] = split == tasks::Split::valid ? losses.at(at) : 0;
    return metrics;
  }
};

/// The score rises all the time, so it would neither stop the run nor choose the step that the loss chooses.
TEST(TrainingLoop, FollowsTheSelectionAndTellsTheMetricBitForBitWhenResumed) {
  const json settings = {{"steps", 16}, {"evaluate_every", 2}, {"log_every", 3}, {"early_stopping", {{"patience", 3}}}};
  const test::TemporaryFolder folder;
  std::vector<double> told;
  const auto request_in = [&](const char* name) {
    LoopRequest result = request(settings, folder.file(name));
    result.metric.lower_is_better = false;
    result.selection = {.name = "loss", .label = "loss"};
    result.resume = true;
    result.on_progress = [&told](const RunProgress& now) { told.push_back(now.metric); };
    return result;
  };
  TwoScoresRun whole;
  TrainingLoop at_once(whole, request_in("whole"));
  at_once.run();
  const TrainingOutcome expected = at_once.outcome();
  EXPECT_EQ(expected.steps_done, 10) << "three evaluations without a lower loss";
  EXPECT_EQ(expected.best_step, 4);
  EXPECT_EQ(expected.metrics["valid_loss"], 2);
  EXPECT_EQ(expected.metrics["valid_score"], 0.2);
  EXPECT_EQ(told.back(), 0.5) << "progress tells the score";

  TrainingOutcome outcome;
  std::size_t next_score = 0;
  for (int turn = 0; turn < 30 && !outcome.finished; ++turn) {
    TwoScoresRun run;
    run.next_score = next_score;
    LoopRequest again = request_in("cut");
    again.should_stop = [asked = 0]() mutable { return asked++ > 0; };
    TrainingLoop loop(run, again);
    loop.run();
    outcome = loop.outcome();
    next_score = run.next_score;
  }
  EXPECT_EQ(outcome.steps_done, expected.steps_done);
  EXPECT_EQ(outcome.best_step, expected.best_step);
  EXPECT_EQ(outcome.metrics, expected.metrics);
  EXPECT_EQ(outcome.last_metrics, expected.last_metrics);
  for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
    EXPECT_EQ(saved(folder.file(std::string("cut/") + file)), saved(folder.file(std::string("whole/") + file)));
  }
}

/// Killed after an evaluation that was the best so far and that no checkpoint knows of: best.safetensors is then of a
/// step that is taken again.
TEST(TrainingLoop, PicksTheSameBestParametersAfterItWasKilledBetweenCheckpoints) {
  const std::vector<double> scores{5, 4, 1, 3, 2};
  const json settings = {{"steps", 10}, {"evaluate_every", 2}, {"checkpoint_seconds", 1e9}};
  const test::TemporaryFolder folder;
  LineRun whole(scores);
  const TrainingOutcome expected = train(whole, settings, folder.file("whole"));
  EXPECT_EQ(expected.best_step, 6);

  LoopRequest interrupted = request(settings, folder.file("cut"));
  interrupted.should_stop = [asked = 0]() mutable { return asked++ == 5; };
  LineRun first(scores);
  TrainingLoop(first, interrupted).run();
  LoopRequest killed = request(settings, folder.file("cut"));
  killed.resume = true;
  killed.should_stop = [asked = 0]() mutable { return asked++ == 2 ? throw std::runtime_error("killed") : false; };
  LineRun second(scores);
  second.next_score = first.next_score;
  EXPECT_THROW(TrainingLoop(second, killed).run(), std::runtime_error);
  EXPECT_EQ(second.next_score, 3u) << "the best evaluation has happened";
  LoopRequest again = request(settings, folder.file("cut"));
  again.resume = true;
  LineRun third(scores);
  third.next_score = first.next_score;
  TrainingLoop loop(third, again);
  loop.run();
  EXPECT_EQ(loop.outcome().best_step, expected.best_step);
  EXPECT_EQ(loop.outcome().metrics, expected.metrics);
  for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
    EXPECT_EQ(saved(folder.file(std::string("cut/") + file)), saved(folder.file(std::string("whole/") + file)));
  }
}

/// Ends before the number of steps, at a checkpoint.
void train_until(LineRun& run, const json& settings, const std::string& folder, int steps) {
  LoopRequest interrupted = request(settings, folder);
  interrupted.resume = true;
  interrupted.should_stop = [asked = 0, steps]() mutable { return asked++ == steps; };
  TrainingLoop(run, interrupted).run();
}

/// Goes on from the checkpoint and dies after so many steps without another.
void kill_after(LineRun& run, const json& settings, const std::string& folder, int steps) {
  LoopRequest killed = request(settings, folder);
  killed.resume = true;
  killed.should_stop = [asked = 0, steps]() mutable {
    return asked++ == steps ? throw std::runtime_error("killed") : false;
  };
  EXPECT_THROW(TrainingLoop(run, killed).run(), std::runtime_error);
}

/// Of a run whose evaluation after step 4 is the best that its checkpoint of step 5 knows of, and which was killed
/// after a better one at step 6.
class KilledAfterABetterEvaluation : public testing::Test {
 protected:
  static json settings(int steps) {
    return {{"steps", steps},       {"evaluate_every", 2}, {"schedule", "constant"},
            {"learning_rate", 0.1}, {"warmup", 0},         {"checkpoint_seconds", 1e9}};
  }

  void SetUp() override {
    LineRun first({5, 2});
    train_until(first, settings(20), run_, 5);
    best_ = first.evaluated.at(1);
    LineRun second({1});
    kill_after(second, settings(20), run_, 2);
    newest_ = second.evaluated.at(0);
    ASSERT_NE(best_, newest_);
    EXPECT_EQ(saved(run_ + "/best.safetensors"), newest_);
  }

  /// Goes on with other evaluations than the run that was killed.
  TrainingOutcome resume(LineRun& run, int evaluate_every = 7) {
    json other = settings(7);
    other["evaluate_every"] = evaluate_every;
    LoopRequest again = request(other, run_);
    again.resume = true;
    TrainingLoop loop(run, again);
    loop.run();
    return loop.outcome();
  }

  test::TemporaryFolder folder_;
  std::string run_ = folder_.file("run");
  Values best_, newest_;
};

TEST_F(KilledAfterABetterEvaluation, TestsTheParametersThatItReportsAlsoWithOtherSteps) {
  LineRun third({3});
  const TrainingOutcome outcome = resume(third);
  EXPECT_EQ(outcome.best_step, 4);
  ASSERT_EQ(third.evaluated.size(), 3u) << "at the end, and two tests";
  EXPECT_EQ(third.evaluated[2], best_);
  EXPECT_EQ(saved(run_ + "/best.safetensors"), best_);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/previous_best.safetensors"));
}

TEST_F(KilledAfterABetterEvaluation, HasTheOldParametersAlsoIfTheNewOnesWereNotWritten) {
  std::filesystem::remove(run_ + "/best.safetensors");
  LineRun third({3});
  EXPECT_EQ(resume(third).best_step, 4);
  EXPECT_EQ(third.evaluated.at(2), best_);
}

TEST_F(KilledAfterABetterEvaluation, ForgetsTheOldParametersOnceACheckpointNamesTheNew) {
  LineRun third({1});
  train_until(third, settings(20), run_, 1);
  EXPECT_FALSE(std::filesystem::exists(run_ + "/previous_best.safetensors"));
  EXPECT_EQ(saved(run_ + "/best.safetensors"), newest_);
  // Killed between the checkpoint and the removal.
  std::filesystem::copy(run_ + "/best.safetensors", run_ + "/previous_best.safetensors");
  LineRun fourth({3});
  EXPECT_EQ(resume(fourth).best_step, 6);
  EXPECT_EQ(fourth.evaluated.at(2), newest_);
}

/// Earlier versions kept no previous best.
TEST_F(KilledAfterABetterEvaluation, RefusesOtherStepsInAFolderThatHasOnlyTheNewestParameters) {
  std::filesystem::remove(run_ + "/previous_best.safetensors");
  LineRun third({3});
  try {
    resume(third);
    ADD_FAILURE() << "resumed";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has the parameters of step 6, while those of step 4 were the best so far"));
  }
  LineRun again({1, 3});
  EXPECT_EQ(resume(again, 2).best_step, 6) << "taken and evaluated again";
}

TEST(TrainingLoop, LeavesNoBestParametersOfAnEarlierRun) {
  const test::TemporaryFolder folder;
  LineRun first({2, 1}), second({5});
  train_until(first, {{"steps", 8}, {"evaluate_every", 2}, {"checkpoint_seconds", 1e9}}, folder.file(""), 5);
  std::filesystem::remove(folder.file("checkpoint.safetensors"));
  std::filesystem::copy(folder.file("best.safetensors"), folder.file("previous_best.safetensors"));
  train_until(second, {{"steps", 8}, {"evaluate_every", 2}}, folder.file(""), 1);
  EXPECT_FALSE(std::filesystem::exists(folder.file("best.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("previous_best.safetensors")));
}

/// Ended after fewer steps, then gone on with: as if it had been meant to be as long from the start.
TEST(TrainingLoop, GoesOnBeyondItsEndBitForBit) {
  const std::vector<double> scores{5, 2, 3, 2.5, 2.2, 1, 1.5, 1};
  const json plain = {{"evaluate_every", 2}, {"log_every", 3}, {"schedule", "constant"}, {"warmup", 3}};
  for (const json& more :
       {json::object(), json{{"ema", 0.9}, {"schedule", "noam"}}, json{{"average_checkpoints", 2}},
        json{{"early_stopping", {{"patience", 5}}}}, json{{"schedule", "exponential"}, {"epoch_factor", 0.5}}}) {
    json settings = plain;
    settings.update(more);
    SCOPED_TRACE(settings.dump());
    const test::TemporaryFolder folder;
    settings["steps"] = 12;
    LineRun whole(scores);
    const TrainingOutcome expected = train(whole, settings, folder.file("whole"));

    settings["steps"] = 6;
    LineRun first(scores);
    train(first, settings, folder.file("cut"));
    const json before = settings;
    settings["steps"] = 12;
    EXPECT_EQ(why_length_is_fixed(train_settings(before), train_settings(settings), 5, 6), "");
    LineRun second(scores);
    second.next_score = first.next_score;
    LoopRequest again = request(settings, folder.file("cut"));
    again.resume = true;
    TrainingLoop loop(second, again);
    loop.run();
    EXPECT_EQ(loop.outcome().steps_done, 12);
    EXPECT_EQ(loop.outcome().best_step, expected.best_step);
    EXPECT_EQ(loop.outcome().metrics, expected.metrics);
    EXPECT_EQ(loop.outcome().last_metrics, expected.last_metrics);
    for (const char* file : {"checkpoint.safetensors", "best.safetensors"}) {
      EXPECT_EQ(saved(folder.file(std::string("cut/") + file)), saved(folder.file(std::string("whole/") + file)));
    }
  }
}

/// Each loss depends on the batches of the step before, which only state() tells.
class RememberingRun : public LineRun {
 public:
  explicit RememberingRun(std::int64_t parts) : LineRun({}, parts), before_(static_cast<std::size_t>(parts)) {}

  Tensor loss(const tasks::Batch& batch, tasks::StepPosition at) override {
    Tensor& before = before_.at(static_cast<std::size_t>(at.part));
    const Tensor loss = LineRun::loss(batch, at);
    const Tensor result = before.defined() ? loss * (mean(square(before)) + 1) : loss;
    before = batch[1];
    return result;
  }
  nn::Module::NamedTensors state() const override {
    nn::Module::NamedTensors state;
    for (const Tensor& before : before_) {
      if (before.defined()) state.emplace_back(std::to_string(state.size()), before);
    }
    return state;
  }
  void load_state(const nn::Module::NamedTensors& state) override {
    for (std::size_t i = 0; i < state.size(); ++i) before_.at(i) = state[i].second;
  }

 private:
  std::vector<Tensor> before_;
};

TEST(TrainingLoop, ResumesBitForBitARunThatRemembers) {
  for (const std::int64_t parts : {1, 3}) {
    const json settings = {{"steps", 6}, {"evaluate_every", 3}, {"gradient_accumulation", parts}, {"warmup", 0},
                           {"clip", 0},  {"optimizer", "sgd"},  {"learning_rate", 0.01}};
    const test::TemporaryFolder folder;
    RememberingRun whole(parts);
    train(whole, settings, folder.file("whole"));
    bool finished = false;
    for (int turn = 0; turn < 20 && !finished; ++turn) {
      RememberingRun run(parts);
      LoopRequest again = request(settings, folder.file("cut"));
      again.resume = true;
      again.should_stop = [asked = 0]() mutable { return asked++ > 0; };
      TrainingLoop loop(run, again);
      loop.run();
      finished = loop.outcome().finished;
    }
    EXPECT_TRUE(finished);
    const Values expected = saved(folder.file("whole/checkpoint.safetensors"));
    EXPECT_TRUE(expected.contains("own:0"));
    EXPECT_EQ(saved(folder.file("cut/checkpoint.safetensors")), expected);
    EXPECT_FALSE(saved(folder.file("whole/best.safetensors")).contains("own:0")) << "only training needs it";
    LineRun plain({}, parts);
    train(plain, settings, folder.file("plain"));
    EXPECT_NE(values_of(plain.model().named_parameters()), values_of(whole.model().named_parameters()));
  }
}

TEST(TrainingLoop, SaysThatTheBestParametersAreMissing) {
  const test::TemporaryFolder folder;
  LineRun run;
  train(run, {{"steps", 4}}, folder.file("run"));
  std::filesystem::remove(folder.file("run/best.safetensors"));
  LoopRequest again = request({{"steps", 4}}, folder.file("run"));
  again.resume = true;
  TrainingLoop loop(run, again);
  EXPECT_THROW(loop.run(), IoError);
}

}  // namespace
}  // namespace bough::training
