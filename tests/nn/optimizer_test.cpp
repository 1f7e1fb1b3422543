#include "bough/nn/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/core/memory.h"
#include "bough/core/random.h"
#include "bough/nn/layers.h"
#include "tests/support/errors.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough::nn {
namespace {

using Values = std::vector<double>;
using test::expect_same_bits_for_threads;
using test::random_tensor;

Module::NamedTensors parameters_like(std::initializer_list<Shape> shapes, DType dtype, std::uint64_t seed) {
  Module::NamedTensors result;
  for (const Shape& shape : shapes) {
    Tensor tensor = random_tensor(shape, dtype, seed++);
    tensor.set_requires_grad(true);
    result.emplace_back(std::string("p").append(std::to_string(result.size())), tensor);
  }
  return result;
}

void set_gradients(const Module::NamedTensors& parameters, std::uint64_t seed) {
  for (auto& [name, parameter] : parameters) {
    Tensor handle = parameter;
    handle.set_grad(random_tensor(handle.shape(), handle.dtype(), seed++));
  }
}

/// The textbook update of one number.
struct PlainAdam {
  double m = 0, v = 0;
  double next(double p, double g, int step, const AdamOptions& o, bool decoupled) {
    if (!decoupled) g += o.weight_decay * p;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, step)), v_hat = v / (1 - std::pow(o.beta2, step));
    if (decoupled) p -= o.learning_rate * o.weight_decay * p;
    return p - o.learning_rate * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
};

template <typename Optimizer>
void compare_with_plain_adam(DType dtype, bool decoupled, double tolerance,
                             std::optional<std::vector<std::string>> decayed = {}) {
  AdamOptions options{.learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1};
  options.decayed = std::move(decayed);
  const auto parameters = parameters_like({{37, 3}, {1}, {0}, {20001}}, dtype, 3);
  Optimizer optimizer(parameters, options);
  std::vector<Values> expected;
  std::vector<std::vector<PlainAdam>> plain;
  for (const auto& [name, parameter] : parameters) {
    expected.push_back(parameter.template to_vector<double>());
    plain.emplace_back(expected.back().size());
  }
  for (int step = 1; step <= 4; ++step) {
    set_gradients(parameters, 100 * step);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Values gradient = parameters[i].second.grad().template to_vector<double>();
      AdamOptions own = options;
      if (options.decayed && std::ranges::find(*options.decayed, parameters[i].first) == options.decayed->end()) {
        own.weight_decay = 0;
      }
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        expected[i][j] = plain[i][j].next(expected[i][j], gradient[j], step, own, decoupled);
      }
    }
    optimizer.step();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Values actual = parameters[i].second.template to_vector<double>();
    for (std::size_t j = 0; j < actual.size(); ++j) ASSERT_NEAR(actual[j], expected[i][j], tolerance) << i << ' ' << j;
  }
}

TEST(Adam, FollowsTheTextbook) {
  compare_with_plain_adam<Adam>(DType::float64, false, 1e-12);
  compare_with_plain_adam<Adam>(DType::float32, false, 2e-5);
}

TEST(AdamW, DecaysApartFromTheGradient) {
  compare_with_plain_adam<AdamW>(DType::float64, true, 1e-12);
  compare_with_plain_adam<AdamW>(DType::float32, true, 2e-5);
}

TEST(Adam, DecaysTheParametersThatAreNamedAlone) {
  compare_with_plain_adam<Adam>(DType::float64, false, 1e-12, {{"p0", "p2"}});
  compare_with_plain_adam<AdamW>(DType::float64, true, 1e-12, {{"p0", "p2"}});
  compare_with_plain_adam<AdamW>(DType::float32, true, 2e-5, {{"p3"}});
  compare_with_plain_adam<AdamW>(DType::float64, true, 1e-12, std::vector<std::string>{});
}

TEST(Sgd, DecaysTheParametersThatAreNamedAlone) {
  const auto parameters = parameters_like({{3, 3}, {3}}, DType::float64, 8);
  const Values matrix = parameters[0].second.to_vector<double>(), bias = parameters[1].second.to_vector<double>();
  set_gradients(parameters, 1);
  Sgd optimizer(parameters, {.learning_rate = 0.1, .weight_decay = 0.5, .decayed = {{"p0"}}});
  optimizer.step();
  for (std::size_t i = 0; i < 2; ++i) {
    const Values before = i == 0 ? matrix : bias, gradient = parameters[i].second.grad().to_vector<double>();
    const Values after = parameters[i].second.to_vector<double>();
    for (std::size_t j = 0; j < after.size(); ++j) {
      EXPECT_NEAR(after[j], before[j] - 0.1 * (gradient[j] + (i == 0 ? 0.5 : 0) * before[j]), 1e-15);
    }
  }
}

TEST(Optimizer, RefusesToDecayWhatIsNoParameter) {
  const auto parameters = parameters_like({{3, 3}}, DType::float32, 8);
  EXPECT_THAT(test::error_message<ConfigError>([&] {
                AdamW(parameters, {.decayed = {{"p0", "p1"}}});
              }),
              testing::HasSubstr("'p1' is to decay"));
}

TEST(Sgd, FollowsTheTextbookWithMomentumDecayAndNesterov) {
  for (const bool nesterov : {false, true}) {
    const SgdOptions options{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov};
    const auto parameters = parameters_like({{19}}, DType::float64, 8);
    Sgd optimizer(parameters, options);
    Values p = parameters[0].second.to_vector<double>(), velocity(p.size());
    for (int step = 1; step <= 3; ++step) {
      set_gradients(parameters, step);
      const Values g = parameters[0].second.grad().to_vector<double>();
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double decayed = g[i] + 0.01 * p[i];
        velocity[i] = 0.9 * velocity[i] + decayed;
        p[i] -= 0.1 * (nesterov ? decayed + 0.9 * velocity[i] : velocity[i]);
      }
      optimizer.step();
    }
    const Values actual = parameters[0].second.to_vector<double>();
    for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(actual[i], p[i], 1e-14);
  }
}

TEST(Optimizer, ClipsByTheNormOverAllParameters) {
  const auto parameters = parameters_like({{2}, {1}}, DType::float64, 1);
  const Values before = parameters[0].second.to_vector<double>();
  Tensor(parameters[0].second).set_grad(Tensor::from_vector(Values{3, 0}, {2}));
  Tensor(parameters[1].second).set_grad(Tensor::from_vector(Values{4}, {1}));
  Sgd optimizer(parameters, {.learning_rate = 1, .clip_norm = 0.5});
  EXPECT_DOUBLE_EQ(optimizer.step(), 5);
  EXPECT_NEAR(parameters[0].second.to_vector<double>()[0], before[0] - 0.3, 1e-15);
}

TEST(Optimizer, ClipGradientNormScalesInPlaceOnlyWhenNeeded) {
  const auto parameters = parameters_like({{2}}, DType::float32, 1);
  Tensor handle = parameters[0].second;
  handle.set_grad(Tensor::from_vector(std::vector<float>{3, 4}, {2}));
  EXPECT_DOUBLE_EQ(clip_gradient_norm({handle}, 10), 5);
  EXPECT_EQ(handle.grad().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_DOUBLE_EQ(clip_gradient_norm({handle}, 1), 5);
  EXPECT_FLOAT_EQ(handle.grad().to_vector<float>()[1], 0.8f);
  EXPECT_EQ(clip_gradient_norm({}, 1), 0);
}

TEST(Optimizer, ANormThatIsNotFiniteChangesNothing) {
  const auto parameters = parameters_like({{2}}, DType::float32, 1);
  const auto before = parameters[0].second.to_vector<float>();
  Tensor(parameters[0].second).set_grad(full({2}, std::nan("")));
  Adam optimizer(parameters);
  EXPECT_THROW(optimizer.step(), Error);
  EXPECT_EQ(parameters[0].second.to_vector<float>(), before);
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, AnEnqueuedStepIsAStepButForNormsThatAreNotFinite) {
  const auto trained = [](bool enqueued) {
    Tensor p = test::random_tensor({50}).set_requires_grad(true);
    AdamW optimizer({{"p", p}}, {.weight_decay = 0.1, .clip_norm = 1});
    for (int i = 0; i < 3; ++i) {
      p.set_grad(p.detach());
      const double norm = enqueued ? optimizer.enqueue_step(0.5).item<double>() : optimizer.step(0.5);
      EXPECT_GT(norm, 0);
    }
    if (enqueued) {
      const std::vector<float> before = p.to_vector<float>();
      p.set_grad(full({50}, std::numeric_limits<double>::infinity()));
      EXPECT_EQ(optimizer.enqueue_step().item<double>(), std::numeric_limits<double>::infinity());
      EXPECT_EQ(p.to_vector<float>(), before);
      EXPECT_EQ(optimizer.steps(), 4);
    }
    return p.to_vector<float>();
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST(Optimizer, LeavesParametersWithoutGradientsAlone) {
  const auto parameters = parameters_like({{2}, {2}}, DType::float32, 1);
  const auto before = parameters[1].second.to_vector<float>();
  Tensor(parameters[0].second).set_grad(ones({2}));
  AdamW optimizer(parameters, {.weight_decay = 0.5});
  optimizer.step();
  EXPECT_EQ(parameters[1].second.to_vector<float>(), before);
}

TEST(Optimizer, TheTapeNoticesAStepBetweenForwardAndBackward) {
  const auto parameters = parameters_like({{2}}, DType::float32, 1);
  Tensor handle = parameters[0].second;
  const std::uint64_t version = handle.version();
  handle.set_grad(ones({2}));
  Adam(parameters).step();
  EXPECT_GT(handle.version(), version);
}

TEST(Optimizer, IsTheSameForAnyNumberOfThreads) {
  expect_same_bits_for_threads([] {
    const auto parameters = parameters_like({{300, 301}, {7}, {50000}}, DType::float32, 5);
    Adam optimizer(parameters, {.clip_norm = 1});
    for (int step = 1; step <= 3; ++step) {
      set_gradients(parameters, step);
      optimizer.step();
    }
    return parameters[0].second.detach();
  });
}

TEST(Optimizer, GoesOnBitForBitFromItsState) {
  const auto train = [](bool interrupted) {
    const auto parameters = parameters_like({{11}, {3}}, DType::float32, 5);
    auto optimizer = std::make_unique<Adam>(parameters);
    for (int step = 1; step <= 6; ++step) {
      if (interrupted && step == 4) {
        Module::NamedTensors state = optimizer->state();
        for (auto& [name, tensor] : state) tensor = tensor.clone();
        optimizer = std::make_unique<Adam>(parameters);
        optimizer->load_state(state);
        EXPECT_EQ(optimizer->steps(), 3);
      }
      set_gradients(parameters, step);
      optimizer->step();
    }
    return parameters[0].second.to_vector<float>();
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(Optimizer, StepsDoNotReachTheSystemAllocator) {
  const auto parameters = parameters_like({{100, 100}}, DType::float32, 5);
  Adam optimizer(parameters);
  set_gradients(parameters, 1);
  optimizer.step();
  const std::int64_t before = memory_statistics().system_allocations;
  for (int step = 0; step < 10; ++step) optimizer.step();
  EXPECT_EQ(memory_statistics().system_allocations, before);
}

TEST(AdamW, DecaysUnlessTheOptionsSayOtherwise) {
  const auto after_a_step = [](auto make) {
    Tensor p = full({1}, 1.0, DType::float64);
    p.set_requires_grad(true);
    p.set_grad(zeros({1}, DType::float64));
    make(Module::NamedTensors{{"p", p}})->step();
    return p.item<double>();
  };
  using Parameters = Module::NamedTensors;
  EXPECT_DOUBLE_EQ(
      after_a_step([](Parameters p) { return std::make_unique<AdamW>(p, AdamWOptions{.learning_rate = 0.1}); }), 0.999);
  EXPECT_DOUBLE_EQ(after_a_step([](Parameters p) { return std::make_unique<AdamW>(p); }), 1 - 1e-5);
  EXPECT_DOUBLE_EQ(
      after_a_step([](Parameters p) { return std::make_unique<AdamW>(p, AdamOptions{.learning_rate = 0.1}); }), 1)
      << "what Adam's options say";
  const auto parameters = parameters_like({{2}}, DType::float32, 1);
  EXPECT_NO_THROW(AdamW(parameters, {.learning_rate = 0.1})) << "braces are options of AdamW";
}

TEST(Optimizer, TakesAllParametersOfAModule) {
  Linear model({.in = 2, .out = 3});
  EXPECT_EQ(Adam(model, {.learning_rate = 0.1}).state().size(), 5u) << "the steps, two moments of weight and bias";
  EXPECT_EQ(AdamW(model).state().size(), 5u);
  EXPECT_EQ(Sgd(model, {.momentum = 0.9}).state().size(), 3u);
}

TEST(Optimizer, RefusesParametersThatItCouldNotTellApart) {
  const auto parameters = parameters_like({{2}, {3}}, DType::float32, 1);
  const auto error = [](const Module::NamedTensors& given) {
    return test::error_message<ConfigError>([&] { Adam optimizer(given); });
  };
  EXPECT_THAT(error({}), testing::HasSubstr("add_module"));
  EXPECT_THAT(error({{"a", parameters[0].second}, {"b", parameters[0].second}}),
              testing::HasSubstr("'a' and 'b' are the same tensor"));
  EXPECT_THAT(error({{"a", parameters[0].second}, {"a", parameters[1].second}}),
              testing::HasSubstr("two parameters are called 'a'"));
  EXPECT_THAT(error({{"a", Tensor()}}), testing::HasSubstr("'a' is undefined"));
}

TEST(Optimizer, RefusesNonsense) {
  const auto parameters = parameters_like({{2}}, DType::float32, 1);
  EXPECT_THROW(Adam(parameters, {.learning_rate = -1}), ConfigError);
  EXPECT_THROW(Adam(parameters, {.beta1 = 2}), ConfigError);
  EXPECT_THROW(Adam(parameters, {.beta1 = 1}), ConfigError);
  EXPECT_THROW(AdamW(parameters, {.beta2 = 1}), ConfigError);
  EXPECT_THROW(Sgd(parameters, {.momentum = -0.5}), ConfigError);
  EXPECT_THROW(Sgd({{"x", ones({1})}}), AutogradError);
}

}  // namespace
}  // namespace bough::nn
