#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/graph_transformer.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"

namespace bough::nn {
namespace {

/// What torch calls each of our parameters, and which third of its joint projection of queries, keys and values it is.
struct TorchName {
  std::string name;
  int third = -1;
};

TorchName torch_name(const std::string& ours) {
  if (ours.starts_with("final_norm.")) return {ours.substr(6)};
  const std::size_t dot = ours.find('.');
  const std::string layer = "layers." + ours.substr(5, dot - 5) + ".", part = ours.substr(dot + 1);
  const std::size_t last = part.rfind('.');
  const std::string module = part.substr(0, last), tensor = part.substr(last + 1);
  const std::map<std::string, int> thirds{{"attention.query", 0}, {"attention.key", 1}, {"attention.value", 2}};
  if (thirds.contains(module)) return {layer + "self_attn.in_proj_" + tensor, thirds.at(module)};
  const std::map<std::string, std::string> names{{"attention.output", "self_attn.out_proj"},
                                                 {"attention_norm", "norm1"},
                                                 {"feed_forward.inner", "linear1"},
                                                 {"feed_forward.outer", "linear2"},
                                                 {"feed_forward_norm", "norm2"}};
  return {layer + names.at(module) + "." + tensor};
}

class TorchTransformer : public testing::TestWithParam<bool> {};

TEST_P(TorchTransformer, HasTheSameOutputsAndGradients) {
  const std::string file =
      std::string(BOUGH_FIXTURES "/transformer_encoder_") + (GetParam() ? "pre" : "post") + "_norm.safetensors";
  std::map<std::string, Tensor> torch;
  for (auto& [name, tensor] : load_tensors(file).tensors) torch[name] = tensor;
  const auto find = [&](const std::string& prefix, const std::string& ours) {
    const TorchName place = torch_name(ours);
    const Tensor tensor = torch.at(prefix + place.name);
    const std::int64_t height = tensor.size(0) / 3;
    return place.third < 0 ? tensor : tensor.rows(place.third * height, (place.third + 1) * height);
  };

  const Tensor input = torch.at("input");
  GraphTransformer model({.layers = 2,
                          .layer = {.dim = input.size(1),
                                    .heads = 3,
                                    .feed_forward = torch.at("layers.0.linear1.bias").size(0),
                                    .pre_norm = GetParam(),
                                    .attention_bias = true}});
  Module::NamedTensors state;
  for (const auto& [name, parameter] : model.named_parameters()) state.emplace_back(name, find("", name));
  model.load_state(state);

  Tensor h = input.clone();
  h.set_requires_grad(true);
  const Graph full = generators().make("full", {})->build({.length = input.size(0), .causal = false}).graph;
  const Tensor output = model.forward(full, h);
  const test::Tolerance allowed{1e-4, 1e-4};
  test::expect_close(output, torch.at("output"), allowed);
  sum(output * torch.at("loss_weights")).backward();
  test::expect_close(h.grad(), torch.at("gradient:input"), allowed);
  for (const auto& [name, parameter] : model.named_parameters()) {
    SCOPED_TRACE(name);
    test::expect_close(parameter.grad(), find("gradient:", name), allowed);
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, TorchTransformer, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "PreNorm" : "PostNorm"; });

}  // namespace
}  // namespace bough::nn
