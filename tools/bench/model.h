#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "bough/core/parallel.h"
#include "bough/core/tensor.h"
#include "bough/nn/graph_transformer.h"

/// The model that end-to-end benchmarks run: a stack of layers over a batch of equal causal sequences.
namespace bough::bench {

struct ModelShape {
  std::int64_t layers = 6, dim = 512, feed_forward = 2048, heads = 8;
  std::int64_t tokens = 8192;  ///< of a batch
  std::int64_t length = 8192;  ///< of a sequence
  nn::ActivationPolicy activations = nn::ActivationPolicy::automatic;
};

class BatchModel {
 public:
  BatchModel(const nlohmann::json& pattern, const ModelShape& shape);

  /// Forward without a tape.
  void infer() const;
  /// Forward and backward, without the optimiser.
  void train();
  /// The same with every node computed in every layer.
  void train_unpruned();
  void infer_unpruned() const;

  nn::GraphTransformer& model() { return model_; }
  double tokens() const { return static_cast<double>(inputs_.size(0)); }
  /// Highest bytes during a call: parameters, inputs, activations, the graphs of all layers and their plans.
  std::int64_t peak_bytes(FunctionRef<void()> call) const;

 private:
  void backward_from(const Tensor& y);
  /// One row for each node of a single sequence, whose tokens come first.
  Tensor all_inputs() const;

  AttentionGraph graph_;
  nn::GraphTransformer model_;
  nn::LayerSchedule schedule_;
  Tensor inputs_, gradient_;
};

}  // namespace bough::bench
