#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bough/graph/graph_generator.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/support/compare.h"

namespace bough::nn {
namespace {

constexpr test::Tolerance allowed{1e-4, 1e-4};

/// A fixture made with torch's own Transformer modules, and what they call each of our parameters.
class TorchState {
 public:
  using Names = std::map<std::string, std::string>;

  /// `names`: our part of a layer -> torch's; of an attention without its projections.
  TorchState(const std::string& file, Names names) : names_(std::move(names)) {
    for (auto& [name, tensor] : load_tensors(std::string(BOUGH_FIXTURES) + "/" + file).tensors) tensors_[name] = tensor;
  }

  Tensor at(const std::string& name) const { return tensors_.at(name); }
  /// A copy that requires a gradient.
  Tensor leaf(const std::string& name) const {
    Tensor copy = at(name).clone();
    return copy.set_requires_grad(true);
  }

  void load_into(Module& model) const {
    Module::NamedTensors state;
    for (const auto& [name, parameter] : model.named_parameters()) state.emplace_back(name, find("", name));
    model.load_state(state);
  }

  void expect_gradients(const Module& model, test::Tolerance allowed) const {
    for (const auto& [name, parameter] : model.named_parameters()) {
      SCOPED_TRACE(name);
      test::expect_close(parameter.grad(), find("gradient:", name), allowed);
    }
  }

 private:
  Tensor find(const std::string& prefix, const std::string& ours) const {
    if (ours.starts_with("final_norm.")) return at(prefix + ours.substr(6));
    const std::size_t dot = ours.find('.'), last = ours.rfind('.');
    const std::string layer = prefix + "layers." + ours.substr(5, dot - 5) + ".";
    const std::string part = ours.substr(dot + 1, last - dot - 1), tensor = ours.substr(last + 1);
    const std::size_t end = part.rfind('.');
    const std::string projection = part.substr(end == std::string::npos ? part.size() : end + 1);
    // torch keeps the projections of queries, keys and values in one tensor.
    const std::map<std::string, int> thirds{{"query", 0}, {"key", 1}, {"value", 2}};
    if (thirds.contains(projection)) {
      const Tensor joint = at(layer + names_.at(part.substr(0, end)) + ".in_proj_" + tensor);
      const std::int64_t height = joint.size(0) / 3, begin = thirds.at(projection) * height;
      return joint.rows(begin, begin + height);
    }
    if (projection == "output") return at(layer + names_.at(part.substr(0, end)) + ".out_proj." + tensor);
    return at(layer + names_.at(part) + "." + tensor);
  }

  Names names_;
  std::map<std::string, Tensor> tensors_;
};

class TorchTransformer : public testing::TestWithParam<bool> {
 protected:
  static std::string file(const std::string& model) {
    return model + (GetParam() ? "_pre" : "_post") + "_norm.safetensors";
  }
  static GraphTransformerLayerOptions layer(const TorchState& torch, std::int64_t heads) {
    return {.dim = torch.at("input").size(1),
            .heads = heads,
            .feed_forward = torch.at("layers.0.linear1.bias").size(0),
            .ignore_relations = true,
            .pre_norm = GetParam(),
            .attention_bias = true};
  }
  static Graph full(std::int64_t length, bool causal) {
    return generators().make("full", {})->build({.length = length, .causal = causal}).graph;
  }
};

TEST_P(TorchTransformer, EncoderHasTheSameOutputsAndGradients) {
  const TorchState torch(file("transformer_encoder"), {{"attention", "self_attn"},
                                                       {"attention_norm", "norm1"},
                                                       {"feed_forward.inner", "linear1"},
                                                       {"feed_forward.outer", "linear2"},
                                                       {"feed_forward_norm", "norm2"}});
  GraphTransformer model({.layers = 2, .layer = layer(torch, 3)});
  torch.load_into(model);
  const Tensor h = torch.leaf("input");
  const Tensor output = model.forward(full(h.size(0), false), h);
  test::expect_close(output, torch.at("output"), allowed);
  sum(output * torch.at("loss_weights")).backward();
  test::expect_close(h.grad(), torch.at("gradient:input"), allowed);
  torch.expect_gradients(model, allowed);
}

TEST_P(TorchTransformer, DecoderHasTheSameOutputsAndGradients) {
  const TorchState torch(file("transformer_decoder"), {{"attention", "self_attn"},
                                                       {"attention_norm", "norm1"},
                                                       {"cross_attention", "multihead_attn"},
                                                       {"cross_attention_norm", "norm2"},
                                                       {"feed_forward.inner", "linear1"},
                                                       {"feed_forward.outer", "linear2"},
                                                       {"feed_forward_norm", "norm3"}});
  GraphTransformerDecoder model({.layers = 2, .layer = layer(torch, 2)});
  torch.load_into(model);
  const Tensor h = torch.leaf("input"), encoded = torch.leaf("encoded");
  std::vector<std::int32_t> src, dst;
  for (std::int32_t token = 0; token < h.size(0); ++token) {
    for (std::int32_t other = 0; other < encoded.size(0); ++other) {
      src.push_back(other);
      dst.push_back(token);
    }
  }
  const Graph cross = Graph::bipartite(src, dst, {.num_src = encoded.size(0), .num_dst = h.size(0)});
  const Tensor output = model.forward(full(h.size(0), true), cross, h, encoded);
  test::expect_close(output, torch.at("output"), allowed);
  sum(output * torch.at("loss_weights")).backward();
  test::expect_close(h.grad(), torch.at("gradient:input"), allowed);
  test::expect_close(encoded.grad(), torch.at("gradient:encoded"), allowed);
  torch.expect_gradients(model, allowed);
}

INSTANTIATE_TEST_SUITE_P(Norms, TorchTransformer, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "PreNorm" : "PostNorm"; });

}  // namespace
}  // namespace bough::nn
