#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/reduce.h"
#include "tests/nn/torch_state.h"

namespace bough::nn {
namespace {

constexpr test::Tolerance allowed{1e-4, 1e-4};

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
