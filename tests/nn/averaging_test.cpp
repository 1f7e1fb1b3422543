#include "bough/nn/averaging.h"

#include <gtest/gtest.h>

#include "bough/core/errors.h"
#include "tests/nn/two_parts.h"

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

TEST(ParameterAverage, RefusesNonsense) {
  TwoParts model;
  EXPECT_THROW(ParameterAverage::exponential(model, 1), ConfigError);
  EXPECT_THROW(ParameterAverage::last(model, 0), ConfigError);
}

}  // namespace
}  // namespace bough::nn
