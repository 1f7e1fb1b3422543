#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bough/core/errors.h"
#include "tasks/training/continuation.h"
#include "tests/support/files.h"
#include "tests/tasks/line_run.h"

namespace bough::training {
namespace {

using ::testing::HasSubstr;

std::string error_of(const json& given) {
  try {
    check_training(train_settings(given));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(TrainingSchedule, FollowsTheClosedFormulaOfEachName) {
  const double rate = 0.5, low = 0.02;
  const std::int64_t warmup = 4, steps = 24;
  const auto schedule = [&](const char* name) {
    return make_schedule(train_settings({{"schedule", name},
                                         {"learning_rate", rate},
                                         {"warmup", warmup},
                                         {"final_fraction", low},
                                         {"steps", steps}}),
                         steps, 6);
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
  EXPECT_EQ(make_schedule(train_settings({{"warmup", 100}, {"steps", 5}, {"learning_rate", 1}}), 5, 5)(5), 1)
      << "a warm-up is never longer than the training";
}

TEST(TrainingSchedule, FallsOnceAnEpochIfAsked) {
  const nn::Schedule rate = make_schedule(
      train_settings(
          {{"schedule", "exponential"}, {"epoch_factor", 0.5}, {"learning_rate", 8}, {"warmup", 4}, {"steps", 100}}),
      100, 10);
  EXPECT_EQ(rate(2), 4) << "the warm-up";
  for (const std::int64_t step : {4, 10}) EXPECT_EQ(rate(step), 8) << step;
  for (const std::int64_t step : {11, 20}) EXPECT_EQ(rate(step), 4) << step;
  EXPECT_EQ(rate(100), 8 * std::pow(0.5, 9));
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
  EXPECT_EQ(error_of({{"schedule", "exponential"}, {"final_fraction", 0}, {"epoch_factor", 0.9}}), "");
  EXPECT_THAT(error_of({{"schedule", "cosine"}, {"epoch_factor", 0.9}}), HasSubstr("epoch_factor = 0.9 is for"));
  EXPECT_THROW(train_settings({{"epoch_factor", 0}}), ConfigError);
  EXPECT_THROW(train_settings({{"schedule", "cosin"}}), ConfigError);
  EXPECT_THROW(train_settings({{"early_stopping", {{"patience", 0}}}}), ConfigError);
}

TEST(TrainingOptimizer, IsTheOneOfItsName) {
  for (const auto& [name, states] : std::map<std::string, std::size_t>{{"adamw", 4}, {"adam", 4}, {"sgd", 0}}) {
    LineRun run;
    const auto optimizer = make_optimizer(train_settings({{"optimizer", name}}), run.model());
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

/// A step whose gradient is not changed: what differs between two runs is the decay.
TEST(TrainingOptimizer, DecaysAllParametersOrWeightMatricesAlone) {
  const test::TemporaryFolder folder;
  const auto after_a_step = [&](const char* decayed, double decay) {
    LineRun run;
    run.model().named_parameters()[1].second.detach().fill(3);
    train(run,
          {{"optimizer", "adamw"},
           {"schedule", "constant"},
           {"warmup", 0},
           {"learning_rate", 0.25},
           {"clip", 0},
           {"steps", 1},
           {"weight_decay", decay},
           {"weight_decay_of", decayed}},
          folder.file(std::string(decayed) + std::to_string(decay)));
    return values_of(run.model().named_parameters());
  };
  const Values none = after_a_step("all", 0), all = after_a_step("all", 0.1), matrices = after_a_step("matrices", 0.1);
  EXPECT_NE(all.at("weight"), none.at("weight"));
  EXPECT_NE(all.at("bias"), none.at("bias"));
  EXPECT_EQ(matrices.at("weight"), all.at("weight"));
  EXPECT_EQ(matrices.at("bias"), none.at("bias"));
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

/// Scores on the test data, of the last parameters and then of the best ones.
class OverflowingRun : public LineRun {
 public:
  OverflowingRun(std::vector<double> valid_scores, std::vector<double> test_scores)
      : LineRun(std::move(valid_scores)), test_scores_(std::move(test_scores)) {}

  json evaluate(tasks::Split split) override {
    if (split == tasks::Split::valid) return LineRun::evaluate(split);
    return {{"score", test_scores_.at(next_test_++)}};
  }

 private:
  std::vector<double> test_scores_;
  std::size_t next_test_ = 0;
};

TEST(TrainingLoop, ReportsTheBestParametersWhereTheLastOnesHaveNoFiniteTestScore) {
  const test::TemporaryFolder folder;
  const json settings = {{"steps", 8}, {"evaluate_every", 2}};
  OverflowingRun last({5, 2, 3, 4}, {HUGE_VAL, 0.5});
  const TrainingOutcome outcome = train(last, settings, folder.file("last"));
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.best_step, 4);
  EXPECT_EQ(outcome.metrics["score"], 0.5);
  EXPECT_TRUE(outcome.last_metrics["score"].is_null());
  EXPECT_EQ(outcome.last_metrics["valid_score"], 4);
  EXPECT_THAT(outcome.remark, HasSubstr("score after step 8 is inf"));

  OverflowingRun best({5, 2, 3, 4}, {0.5, std::nan("")}), both({5, 4, 3, 2}, {HUGE_VAL});
  EXPECT_THROW(train(best, settings, folder.file("best")), Error);
  EXPECT_THROW(train(both, settings, folder.file("both")), Error);
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
  EXPECT_EQ(reason({{"schedule", "exponential"}, {"warmup", 10}, {"epoch_factor", 0.9}}, 20, 40, 20), "");
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

}  // namespace
}  // namespace bough::training
