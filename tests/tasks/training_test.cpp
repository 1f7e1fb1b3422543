#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/layers.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tasks/training/continuation.h"
#include "tasks/training/training_loop.h"
#include "tests/support/files.h"

namespace bough::training {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Settings train_settings(const json& given) {
  const Settings read = ParameterTable(training_parameters()).read("train", given);
  return {"train", with_default_steps(read.values())};
}

std::string error_of(const json& given) {
  try {
    check_training(train_settings(given));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

using Values = std::map<std::string, std::vector<float>>;

Values values_of(const nn::Module::NamedTensors& tensors) {
  Values result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.to_vector<float>();
  return result;
}

double sum_of(const nn::Module& model) {
  double sum = 0;
  for (const auto& [name, values] : values_of(model.named_parameters())) {
    for (const float value : values) sum += value;
  }
  return sum;
}

/// Fits a line to made-up points; the score on validation data is what the test wants it to be, and the one on test
/// data is the sum of the parameters, which tells which ones were tested.
class LineRun : public tasks::TrainingRun {
 public:
  explicit LineRun(std::vector<double> valid_scores = {}, std::int64_t parts = 1)
      : scores_(std::move(valid_scores)),
        parts_(parts),
        line_((manual_seed(7), nn::LinearOptions{.in = 3, .out = 1})) {}

  tasks::RunFacts facts() const override { return {.parameters = line_.parameter_count(), .tokens_per_step = rows}; }
  nn::Module& model() override { return line_; }
  std::int64_t steps_per_epoch() const override { return 5; }

  tasks::Batch batch(std::int64_t step, std::int64_t part) override {
    std::vector<float> x, y;
    for (std::int64_t row = part * rows / parts_; row < (part + 1) * rows / parts_; ++row) {
      const double a = std::sin(static_cast<double>(17 * step + 3 * row)),
                   b = std::cos(static_cast<double>(row * step));
      x.insert(x.end(), {static_cast<float>(a), static_cast<float>(b), 1});
      y.push_back(static_cast<float>(2 * a - b + 0.5));
    }
    const auto count = static_cast<std::int64_t>(y.size());
    return {Tensor::from_vector(x, {count, 3}), Tensor::from_vector(y, {count, 1})};
  }
  Tensor loss(const tasks::Batch& batch, tasks::StepPosition) override {
    return mean(square(line_.forward(batch[0]) - batch[1]));
  }
  double count(const tasks::Batch& batch) const override { return static_cast<double>(batch[1].elements()); }

  json evaluate(tasks::Split split) override {
    evaluated.push_back(values_of(line_.named_parameters()));
    if (split == tasks::Split::test) return {{"score", sum_of(line_)}};
    const double score = scores_.empty() ? sum_of(line_) : scores_.at(next_score);
    ++next_score;
    return {{"score", score}};
  }

  static constexpr std::int64_t rows = 12;
  std::vector<Values> evaluated;  ///< the parameters of each call of evaluate
  std::size_t next_score = 0;

 private:
  std::vector<double> scores_;
  std::int64_t parts_;
  nn::Linear line_;
};

LoopRequest request(const json& train, const std::string& folder) {
  std::filesystem::create_directories(folder);
  return {.name = "line",
          .config = {{"train", train}},
          .train = train_settings(train),
          .metric = {.name = "score", .label = "score"},
          .folder = folder};
}

TrainingOutcome train(LineRun& run, const json& settings, const std::string& folder) {
  TrainingLoop loop(run, request(settings, folder));
  loop.run();
  return loop.outcome();
}

Values saved(const std::string& path) { return values_of(nn::load_tensors(path).tensors); }

TEST(TrainingSchedule, FollowsTheClosedFormulaOfEachName) {
  const double rate = 0.5, low = 0.02;
  const std::int64_t warmup = 4, steps = 24;
  const auto schedule = [&](const char* name) {
    return make_schedule(train_settings({{"schedule", name},
                                         {"learning_rate", rate},
                                         {"warmup", warmup},
                                         {"final_fraction", low},
                                         {"steps", steps}}),
                         steps);
  };
  for (std::int64_t step = 1; step <= steps; ++step) {
    const double s = static_cast<double>(step), done = std::max(0.0, (s - 4) / 20);
    const auto expect = [&](const char* name, double after_warmup) {
      EXPECT_NEAR(schedule(name)(step), step <= warmup ? rate * s / 4 : after_warmup, 1e-15) << name << " " << step;
    };
    expect("cosine", rate * (low + (1 - low) * 0.5 * (1 + std::cos(std::numbers::pi * done))));
    expect("linear", rate * (1 - (1 - low) * done));
    expect("exponential", rate * std::pow(low, done));
    expect("noam", rate * std::sqrt(4 / s));
    expect("constant", rate);
  }
  EXPECT_EQ(make_schedule(train_settings({{"warmup", 100}, {"steps", 5}, {"learning_rate", 1}}), 5)(5), 1)
      << "a warm-up is never longer than the training";
}

TEST(TrainingOptions, CountEpochsInStepsAndEvaluateOnceInEach) {
  const TrainingOptions epochs = training_options(train_settings({{"epochs", 2.5}}), 7);
  EXPECT_EQ(epochs.steps, 18);
  EXPECT_EQ(epochs.evaluate_every, 7);
  const TrainingOptions steps = training_options(train_settings({{"steps", 500}}), 7);
  EXPECT_EQ(steps.steps, 500);
  EXPECT_EQ(steps.evaluate_every, 50);
  EXPECT_EQ(steps.log_every, 5);
  EXPECT_EQ(training_options(train_settings(json::object()), 7).steps, 2000);
  EXPECT_EQ(training_options(train_settings({{"early_stopping", {{"patience", 3}}}}), 7).patience, 3);
}

TEST(TrainingOptions, RefuseWhatDoesNotFitTogether) {
  EXPECT_EQ(error_of({{"steps", 5}}), "");
  EXPECT_THAT(error_of({{"steps", 5}, {"epochs", 1}}), HasSubstr("both given"));
  EXPECT_THAT(error_of({{"precision", "bfloat16"}}), HasSubstr("not there yet"));
  EXPECT_THAT(error_of({{"ema", 0.9}, {"average_checkpoints", 2}}), HasSubstr("choose one"));
  EXPECT_THAT(error_of({{"captured", true}, {"gradient_accumulation", 2}}), HasSubstr("gradient_accumulation = 2"));
  EXPECT_THAT(error_of({{"schedule", "exponential"}, {"final_fraction", 0}}), HasSubstr("never reaches"));
  EXPECT_THROW(train_settings({{"schedule", "cosin"}}), ConfigError);
  EXPECT_THROW(train_settings({{"early_stopping", {{"patience", 0}}}}), ConfigError);
}

TEST(TrainingOptimizer, IsTheOneOfItsName) {
  for (const auto& [name, states] : std::map<std::string, std::size_t>{{"adamw", 4}, {"adam", 4}, {"sgd", 0}}) {
    LineRun run;
    const auto optimizer = make_optimizer(train_settings({{"optimizer", name}}), run.model().named_parameters());
    EXPECT_EQ(optimizer->state().size(), 1 + states) << name;
  }
  const test::TemporaryFolder folder;
  LineRun run;
  const Values before = values_of(run.model().named_parameters());
  const Tensor loss = run.loss(run.batch(1, 0), {});
  loss.backward();
  Values expected = before;
  for (const auto& [name, parameter] : run.model().named_parameters()) {
    const std::vector<float> gradient = parameter.grad().to_vector<float>();
    for (std::size_t i = 0; i < gradient.size(); ++i) expected[name][i] -= 0.25f * gradient[i];
  }
  run.model().clear_grad();
  train(run,
        {{"optimizer", "sgd"},
         {"schedule", "constant"},
         {"warmup", 0},
         {"learning_rate", 0.25},
         {"clip", 0},
         {"steps", 1}},
        folder.file("sgd"));
  EXPECT_EQ(values_of(run.model().named_parameters()), expected);
}

TEST(EarlyStopping, CountsEvaluationsSinceTheBestAndPutsTheFirstOfEqualsFirst) {
  EarlyStopping lower(true, 2);
  EXPECT_TRUE(lower.add(10, 3));
  EXPECT_FALSE(lower.add(20, 3)) << "as good is not better";
  EXPECT_TRUE(lower.add(30, 2));
  EXPECT_FALSE(lower.add(40, 2.5));
  EXPECT_FALSE(lower.should_stop());
  EXPECT_FALSE(lower.add(50, std::nan("")));
  EXPECT_TRUE(lower.should_stop());
  EXPECT_EQ(lower.best_step(), 30);
  EarlyStopping copy(true, 2);
  copy.load_state(json::parse(lower.state().dump()));
  EXPECT_TRUE(copy.should_stop());
  EXPECT_EQ(copy.best_step(), 30);
  EXPECT_EQ(copy.best_value(), 2);

  EarlyStopping higher(false, std::nullopt);
  higher.add(1, 0.5);
  EXPECT_TRUE(higher.add(2, 0.6));
  for (int step = 3; step < 100; ++step) higher.add(step, 0.1);
  EXPECT_FALSE(higher.should_stop()) << "without patience";
}

TEST(TrainingLoop, StopsEarlyAfterAsManyEvaluationsAsThePatience) {
  const test::TemporaryFolder folder;
  LineRun run({5, 4, 3, 3.5, 3.2, 1, 1, 1, 1, 1});
  const TrainingOutcome outcome =
      train(run, {{"steps", 20}, {"evaluate_every", 2}, {"early_stopping", {{"patience", 2}}}}, folder.file(""));
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.steps_done, 10);
  EXPECT_EQ(outcome.best_step, 6);
  EXPECT_EQ(outcome.metrics["valid_score"], 3);
  EXPECT_EQ(outcome.last_metrics["valid_score"], 3.2);
}

TEST(TrainingLoop, TestsTheBestParametersByValidationAndTheLastOnesBesideThem) {
  const test::TemporaryFolder folder;
  const json settings = {{"steps", 8}, {"evaluate_every", 2}, {"learning_rate", 0.1}, {"warmup", 0}};
  LineRun run({5, 2, 3, 4});
  const TrainingOutcome outcome = train(run, settings, folder.file("best"));
  EXPECT_EQ(outcome.best_step, 4);
  ASSERT_EQ(run.evaluated.size(), 6u) << "four times on validation data, the last and the best on test data";
  EXPECT_EQ(run.evaluated[5], run.evaluated[1]) << "the best ones are those of step 4";
  EXPECT_EQ(run.evaluated[4], run.evaluated[3]);
  EXPECT_NE(outcome.metrics["score"], outcome.last_metrics["score"]);
  EXPECT_EQ(outcome.metrics["valid_score"], 2);
  EXPECT_EQ(saved(folder.file("best/best.safetensors")), run.evaluated[1]);
  EXPECT_EQ(values_of(run.model().named_parameters()), run.evaluated[3]) << "the model keeps its own";

  LineRun last_is_best({5, 4, 3, 2});
  const TrainingOutcome same = train(last_is_best, settings, folder.file("last"));
  EXPECT_EQ(same.best_step, 8);
  EXPECT_EQ(same.metrics, same.last_metrics);
  EXPECT_EQ(last_is_best.evaluated.size(), 5u) << "tested once";
}

TEST(TrainingLoop, AveragesTheParametersAtTheLastEvaluationsAndTrainsAsWithoutIt) {
  const test::TemporaryFolder folder;
  json settings = {{"steps", 8}, {"evaluate_every", 2}, {"learning_rate", 0.1}, {"warmup", 0}};
  LineRun plain({4, 3, 2, 1}), averaged({4, 3, 2, 1});
  train(plain, settings, folder.file("plain"));
  settings["average_checkpoints"] = 3;
  train(averaged, settings, folder.file("averaged"));
  for (const auto& [name, values] : plain.evaluated[3]) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double mean_of_three =
          (plain.evaluated[1].at(name)[i] + plain.evaluated[2].at(name)[i] + plain.evaluated[3].at(name)[i]) / 3.0;
      EXPECT_NEAR(averaged.evaluated[3].at(name)[i], mean_of_three, 1e-6);
    }
  }
  EXPECT_EQ(averaged.evaluated[0], plain.evaluated[0]) << "the first alone";
  EXPECT_EQ(saved(folder.file("averaged/best.safetensors")), averaged.evaluated[3]);
  EXPECT_EQ(values_of(averaged.model().named_parameters()), values_of(plain.model().named_parameters()));
}

TEST(TrainingLoop, EvaluatesTheExponentialMovingAverage) {
  const test::TemporaryFolder folder;
  json settings = {{"steps", 4}, {"evaluate_every", 1}, {"learning_rate", 0.1}, {"warmup", 0}};
  LineRun plain, averaged;
  train(plain, settings, folder.file("plain"));
  settings["ema"] = 0.75;
  train(averaged, settings, folder.file("ema"));
  Values average = plain.evaluated[0];
  for (std::size_t step = 1; step < 4; ++step) {
    for (auto& [name, values] : average) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.75f * values[i] + 0.25f * plain.evaluated[step].at(name)[i];
        EXPECT_NEAR(averaged.evaluated[step].at(name)[i], values[i], 1e-6);
      }
    }
  }
}

TEST(TrainingLoop, AccumulatedGradientsMakeTheStepOfOneLargeBatch) {
  const test::TemporaryFolder folder;
  json settings = {{"steps", 6}, {"learning_rate", 0.1}, {"warmup", 0}, {"log_every", 1}};
  LineRun whole, parts({}, 3);
  const TrainingOutcome one = train(whole, settings, folder.file("whole"));
  settings["gradient_accumulation"] = 3;
  const TrainingOutcome three = train(parts, settings, folder.file("parts"));
  const Values expected = values_of(whole.model().named_parameters());
  for (const auto& [name, values] : values_of(parts.model().named_parameters())) {
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected.at(name)[i], 1e-5) << name;
  }
  ASSERT_EQ(one.curve.size(), three.curve.size());
  for (std::size_t i = 0; i < one.curve.size(); ++i) EXPECT_NEAR(one.curve[i].loss, three.curve[i].loss, 1e-5);
}

TEST(TrainingLoop, TrainsForEpochs) {
  const test::TemporaryFolder folder;
  LineRun run;
  const TrainingOutcome outcome = train(run, {{"epochs", 3}}, folder.file(""));
  EXPECT_EQ(outcome.steps_done, 15);
  EXPECT_EQ(run.next_score, 3u) << "one evaluation an epoch";
}

/// Interrupted after every single step and resumed with a model made anew, as another process would.
TEST(TrainingLoop, ResumesBitForBitWithBestParametersPatienceAndAverages) {
  const std::vector<double> scores{5, 2, 3, 2.5, 2.2, 1, 1, 1};
  const json plain = {{"steps", 16}, {"evaluate_every", 2}, {"log_every", 3}, {"early_stopping", {{"patience", 3}}}};
  for (const json& more : {json::object(), json{{"ema", 0.9}}, json{{"average_checkpoints", 2}},
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

/// Ended after fewer steps, then gone on with: as if it had been meant to be as long from the start.
TEST(TrainingLoop, GoesOnBeyondItsEndBitForBit) {
  const std::vector<double> scores{5, 2, 3, 2.5, 2.2, 1, 1.5, 1};
  const json plain = {{"evaluate_every", 2}, {"log_every", 3}, {"schedule", "constant"}, {"warmup", 3}};
  for (const json& more : {json::object(), json{{"ema", 0.9}, {"schedule", "noam"}}, json{{"average_checkpoints", 2}},
                           json{{"early_stopping", {{"patience", 5}}}}}) {
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

TEST(Continuation, SaysWhyAnotherNumberOfStepsWouldChangeThoseBefore) {
  const auto reason = [](json settings, std::int64_t steps, std::int64_t now, std::int64_t done) {
    settings["steps"] = steps;
    const Settings before = train_settings(settings);
    settings["steps"] = now;
    return why_length_is_fixed(before, train_settings(settings), 5, done);
  };
  const json constant = {{"schedule", "constant"}, {"warmup", 10}};
  EXPECT_EQ(reason(constant, 20, 40, 20), "");
  EXPECT_EQ(reason(constant, 40, 20, 15), "") << "an earlier end";
  EXPECT_EQ(reason(constant, 40, 20, 25), "it has taken 25 steps already");
  EXPECT_EQ(reason({{"schedule", "noam"}, {"warmup", 10}}, 20, 40, 20), "");
  for (const char* schedule : {"cosine", "linear", "exponential"}) {
    EXPECT_THAT(reason({{"schedule", schedule}, {"warmup", 0}}, 20, 40, 20), HasSubstr(schedule));
    EXPECT_EQ(reason({{"schedule", schedule}}, 20, 20, 20), "") << "the same number";
  }
  EXPECT_THAT(reason(constant, 5, 40, 5), HasSubstr("warm-up of 10 steps"));
  json averaged = constant;
  averaged["average_checkpoints"] = 2;
  EXPECT_THAT(reason(averaged, 20, 40, 20), HasSubstr("average_checkpoints counts evaluations"));
  averaged["evaluate_every"] = 6;
  EXPECT_THAT(reason(averaged, 20, 40, 20), HasSubstr("divides 20 steps")) << "the one after step 20";
  EXPECT_EQ(reason(averaged, 20, 40, 15), "") << "there has been none after step 20";
  averaged["evaluate_every"] = 5;
  EXPECT_EQ(reason(averaged, 20, 40, 20), "");
  json patient = constant;
  patient["early_stopping"] = {{"patience", 2}};
  EXPECT_THAT(reason(patient, 20, 40, 20), HasSubstr("early_stopping counts evaluations"));

  const Settings two_epochs = train_settings({{"schedule", "constant"}, {"warmup", 3}, {"epochs", 2}});
  const Settings more_epochs = train_settings({{"schedule", "constant"}, {"warmup", 3}, {"epochs", 4}});
  EXPECT_EQ(why_length_is_fixed(two_epochs, more_epochs, 5, 10), "");
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
