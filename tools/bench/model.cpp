#include "tools/bench/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/memory.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/arrange.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/rows.h"

namespace bough::bench {
namespace {

AttentionGraph batch_of(const nlohmann::json& pattern, const ModelShape& shape) {
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(shape.tokens / shape.length), shape.length);
  return build_batch(*generators().make(pattern), lengths, true);
}

}  // namespace

BatchModel::BatchModel(const nlohmann::json& pattern, const ModelShape& shape)
    : graph_(batch_of(pattern, shape)),
      model_({.layers = shape.layers,
              .layer = {.dim = shape.dim,
                        .heads = shape.heads,
                        .feed_forward = shape.feed_forward,
                        .num_relations = graph_.num_relations()},
              .activations = shape.activations}),
      schedule_(nn::make_layer_schedule(graph_, {.layers = shape.layers})),
      inputs_(randn({graph_.num_tokens(), shape.dim})),
      gradient_(inputs_) {}

void BatchModel::infer() const {
  const NoGrad no_grad;
  model_.forward(schedule_, inputs_);
}

void BatchModel::infer_unpruned() const {
  const NoGrad no_grad;
  model_.forward(graph_.graph, all_inputs());
}

void BatchModel::train() { backward_from(model_.forward(schedule_, inputs_)); }

void BatchModel::train_unpruned() {
  backward_from(gather_rows(model_.forward(graph_.graph, all_inputs()), nn::index_tensor(IdArray(graph_.tokens))));
}

Tensor BatchModel::all_inputs() const {
  return concatenate({inputs_, zeros({graph_.graph.num_nodes() - graph_.num_tokens(), inputs_.size(1)})}, 0);
}

void BatchModel::backward_from(const Tensor& y) {
  model_.clear_grad();
  y.backward({.gradient = gradient_});
}

std::int64_t BatchModel::peak_bytes(FunctionRef<void()> call) const {
  reset_peak_memory();
  call();
  std::int64_t bytes = memory_statistics().bytes_peak;
  // Layers share graphs: each is counted once.
  std::vector<Graph> counted;
  for (const auto& layer : schedule_.layers) {
    for (const nn::LayerStep& step : layer) {
      for (const Graph& graph : step.graphs) {
        if (std::ranges::any_of(counted, [&](const Graph& other) { return other.same_as(graph); })) continue;
        counted.push_back(graph);
        bytes += graph.memory_bytes() + attention_plan_summary(graph, true).bytes;
      }
    }
  }
  return bytes;
}

}  // namespace bough::bench
