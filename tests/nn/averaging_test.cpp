#include "bough/nn/averaging.h"

#include <gtest/gtest.h>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "tests/nn/two_parts.h"
#include "tests/support/compare.h"
#include "tests/support/files.h"

namespace bough::nn {
namespace {

float first_of(const Module::NamedTensors& tensors) { return tensors[0].second.to_vector<float>()[0]; }

TEST(ParameterAverage, ExponentialFollowsSlowly) {
  TwoParts model;
  ParameterAverage average = ParameterAverage::exponential(model, 0.75);
  average.update();
  EXPECT_EQ(first_of(average.average()), 7);
  model.scale.detach().fill(11);
  average.update();
  EXPECT_FLOAT_EQ(first_of(average.average()), 8);
  EXPECT_EQ(model.scale.to_vector<float>()[0], 11) << "the model itself is not touched";
}

TEST(ParameterAverage, LastKeepsTheMeanOfTheNewest) {
  TwoParts model;
  ParameterAverage average = ParameterAverage::last(model, 2);
  for (double value : {100, 4, 6}) {
    model.scale.detach().fill(value);
    average.update();
  }
  EXPECT_FLOAT_EQ(first_of(average.average()), 5);
  EXPECT_EQ(average.updates(), 3u);
}

TEST(ParameterAverage, FitsTheModuleItCameFrom) {
  TwoParts model;
  ParameterAverage average = ParameterAverage::last(model, 3);
  EXPECT_THROW(average.average(), Error);
  average.update();
  Module::NamedTensors state = average.average();
  for (auto& buffer : model.named_buffers()) state.push_back(buffer);
  EXPECT_NO_THROW(model.load_state(state));
}

TEST(ParameterAverage, GoesOnBitForBitFromACheckpoint) {
  const auto train = [](TwoParts& model, ParameterAverage& average, int from, int to) {
    for (int step = from; step < to; ++step) {
      model.scale.detach().fill(1.0 / (step + 3));
      average.update();
    }
  };
  const test::TemporaryFolder folder;
  for (const bool exponential : {true, false}) {
    const auto make = [exponential](const Module& model) {
      return exponential ? ParameterAverage::exponential(model, 0.9) : ParameterAverage::last(model, 3);
    };
    TwoParts whole, before, after;
    ParameterAverage expected = make(whole), first = make(before), second = make(after);
    train(whole, expected, 0, 9);
    train(before, first, 0, 4);
    save_checkpoint(folder.file("half"), before, {.average = &first});
    load_checkpoint(folder.file("half"), after, {.average = &second});
    train(after, second, 4, 9);
    EXPECT_EQ(second.updates(), 9u);
    for (std::size_t i = 0; i < expected.average().size(); ++i) {
      test::expect_same_bits(second.average()[i].second, expected.average()[i].second);
    }
  }
}

TEST(ParameterAverage, IsNotTouchedByACheckpointThatDoesNotFit) {
  const test::TemporaryFolder folder;
  TwoParts model;
  ParameterAverage one = ParameterAverage::last(model, 1), three = ParameterAverage::last(model, 3);
  for (int update = 0; update < 2; ++update) three.update();
  save_checkpoint(folder.file("three"), model, {.average = &three});
  model.scale.detach().fill(-1);
  one.update();
  EXPECT_THROW(load_checkpoint(folder.file("three"), model, {.average = &one}), IoError);
  EXPECT_EQ(first_of(one.average()), -1);
  EXPECT_EQ(model.scale.to_vector<float>()[0], -1);
  save_checkpoint(folder.file("none"), model);
  EXPECT_THROW(load_checkpoint(folder.file("none"), model, {.average = &one}), IoError);
}

TEST(ParameterAverage, RefusesNonsense) {
  TwoParts model;
  EXPECT_THROW(ParameterAverage::exponential(model, 1), ConfigError);
  EXPECT_THROW(ParameterAverage::last(model, 0), ConfigError);
}

}  // namespace
}  // namespace bough::nn
