#include "tools/bench/model.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/memory.h"
#include "bough/graph/graph_generator.h"
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
                        .num_relations = graph_.num_relations()}}),
      rounds_(nn::make_rounds(graph_, {.layers = shape.layers})),
      inputs_(randn({graph_.num_tokens(), shape.dim})),
      all_inputs_(randn({graph_.graph.num_nodes(), shape.dim})),
      target_gradient_(randn({graph_.num_tokens(), shape.dim})) {}

void BatchModel::infer() const {
  const NoGrad no_grad;
  model_.forward(rounds_, inputs_);
}

void BatchModel::infer_unpruned() const {
  const NoGrad no_grad;
  model_.forward(graph_.graph, all_inputs_);
}

void BatchModel::train() { backward_from(model_.forward(rounds_, inputs_)); }

void BatchModel::train_unpruned() {
  backward_from(gather_rows(model_.forward(graph_.graph, all_inputs_), nn::index_tensor(IdArray(graph_.tokens))));
}

void BatchModel::backward_from(const Tensor& y) {
  model_.clear_grad();
  y.backward({.gradient = target_gradient_});
}

std::int64_t peak_bytes_of(FunctionRef<void()> call) {
  reset_peak_memory();
  call();
  return memory_statistics().bytes_peak;
}

}  // namespace bough::bench
