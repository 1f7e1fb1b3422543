#include "bough/nn/module.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/layers.h"
#include "tests/nn/two_parts.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"

namespace bough::nn {
namespace {

std::vector<std::string> names(const Module::NamedTensors& tensors) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : tensors) result.push_back(name);
  return result;
}

TEST(Module, NamesItsTensorsInOrder) {
  const TwoParts model;
  EXPECT_EQ(names(model.named_parameters()), (std::vector<std::string>{"scale", "first.weight", "second.weight"}));
  EXPECT_EQ(names(model.named_buffers()), (std::vector<std::string>{"first.count", "second.count"}));
  EXPECT_EQ(model.parameter_count(), 14);
  for (const Tensor& parameter : model.parameters()) EXPECT_TRUE(parameter.requires_grad());
}

TEST(Module, ASharedParameterCountsOnce) {
  struct Tied : Module {
    Tied() : first(1), second(2) {
      second.weight = first.weight;
      add_module("first", first);
      add_module("second", second);
    }
    Part first, second;
  };
  Tied model;
  EXPECT_EQ(names(model.named_parameters()), std::vector<std::string>{"first.weight"});
  model.to(Device::cpu());
  EXPECT_TRUE(model.first.weight.same_as(model.second.weight));
}

TEST(Module, RefusesDoubleAndMalformedNames) {
  struct Wrong : Module {
    explicit Wrong(const std::string& name) : a(ones({1})), b(ones({1})) {
      add_parameter("a", a);
      add_parameter(name, b);
    }
    Tensor a, b;
  };
  EXPECT_THROW(Wrong("a"), ConfigError);
  EXPECT_THROW(Wrong("a.b"), ConfigError);
  EXPECT_THROW(Wrong(""), ConfigError);
}

TEST(Module, TellsTheWeightsOfProjectionsFromOtherParameters) {
  const GraphTransformer model({.layers = 1, .layer = {.dim = 8, .heads = 2, .feed_forward = 8, .num_relations = 3}});
  EXPECT_EQ(model.weight_matrices(),
            (std::vector<std::string>{"layer0.attention.query.weight", "layer0.attention.key.weight",
                                      "layer0.attention.value.weight", "layer0.attention.output.weight",
                                      "layer0.feed_forward.inner.weight", "layer0.feed_forward.outer.weight"}));
  EXPECT_TRUE(Embedding({.count = 3, .dim = 2}).weight_matrices().empty());
  struct Tied : Module {
    Tied() : table({.count = 3, .dim = 2}), first({.in = 2, .out = 3}), second({.in = 2, .out = 3}) {
      first.weight = table.weight;
      add_module("table", table);
      add_module("first", first);
      add_module("second", second);
    }
    Embedding table;
    Linear first, second;
  };
  EXPECT_EQ(Tied().weight_matrices(), std::vector<std::string>{"second.weight"}) << "a table that also projects is one";
  struct Wrong : Module {
    Wrong() : vector(ones({3})) { add_weight_matrix("vector", vector); }
    Tensor vector;
  };
  EXPECT_NE(test::error_message<ShapeError>([] { Wrong wrong; }).find("'vector' is [3]"), std::string::npos);
}

TEST(Module, NamesAParameterThatIsUndefined) {
  struct Unset : Module {
    Unset() { add_parameter("scale", scale); }
    Tensor scale;
  };
  EXPECT_NE(test::error_message<ConfigError>([] { Unset unset; }).find("'scale' is undefined"), std::string::npos);
}

TEST(FeedForward, NamesTheWidthThatIsMissing) {
  EXPECT_NE(test::error_message<ConfigError>([] { FeedForward part({.dim = 4}); }).find("hidden must be at least 1"),
            std::string::npos);
}

TEST(Module, TrainingModeReachesAllParts) {
  TwoParts model;
  EXPECT_TRUE(model.second.is_training());
  model.eval();
  EXPECT_FALSE(model.is_training());
  EXPECT_FALSE(model.second.is_training());
}

TEST(LoadState, CopiesValuesByName) {
  TwoParts source, target;
  source.first.weight.detach().fill(42);
  source.second.count.fill(5);
  target.load_state(source.state());
  EXPECT_EQ(target.first.weight.to_vector<float>(), std::vector<float>(6, 42));
  EXPECT_EQ(target.second.count.item<int>(), 5);
  source.first.weight.detach().fill(1);
  EXPECT_EQ(target.first.weight.to_vector<float>()[0], 42) << "values are copied, not shared";
}

TEST(LoadState, ChecksEverythingBeforeItWritesAnything) {
  TwoParts model;
  const auto message = [&](const Module::NamedTensors& state) -> std::string {
    try {
      model.load_state(state);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  Module::NamedTensors good = TwoParts().state();
  for (auto& [name, tensor] : good) tensor = full(tensor.shape(), 9, tensor.dtype());

  Module::NamedTensors missing = good;
  missing.pop_back();
  EXPECT_NE(message(missing).find("second.count"), std::string::npos);
  Module::NamedTensors unknown = good;
  unknown.emplace_back("third", ones({1}));
  EXPECT_NE(message(unknown).find("third"), std::string::npos);
  Module::NamedTensors twice = good;
  twice.push_back(good[0]);
  EXPECT_NE(message(twice).find("twice"), std::string::npos);
  Module::NamedTensors shape = good;
  shape[2].second = ones({3, 2});
  EXPECT_NE(message(shape).find("[3, 2]"), std::string::npos);
  Module::NamedTensors type = good;
  type[2].second = ones({2, 3}, DType::float64);
  EXPECT_NE(message(type).find("float64"), std::string::npos);
  EXPECT_EQ(model.scale.to_vector<float>(), std::vector<float>(2, 7)) << "nothing was touched";
}

TEST(FeedForward, InBlocksWithoutATapeGivesTheSameBits) {
  manual_seed(4);
  FeedForward module({.dim = 12, .hidden = 20});
  const Tensor x = randn({2500, 12});
  const Tensor whole = module.forward(x);
  const NoGrad no_grad;
  test::expect_same_bits(module.forward(x), whole.detach());
}

TEST(Module, PrintsItsTypeAndParameters) {
  std::ostringstream stream;
  stream << Linear({.in = 4, .out = 3});
  EXPECT_EQ(stream.str(),
            "bough::nn::Linear with 15 parameters\n"
            "  weight [3, 4]\n"
            "  bias [3]");
  struct Many : Module {
    Many() {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i] = ones({1});
        add_parameter(std::string("p").append(std::to_string(i)), tensors[i]);
      }
    }
    std::array<Tensor, 30> tensors;
  };
  const std::string text = to_string(Many());
  EXPECT_NE(text.find("\n  p11 [1]\n  ...\n  p18 [1]\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace bough::nn
