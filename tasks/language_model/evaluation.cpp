#include "tasks/language_model/evaluation.h"

#include "bough/autograd/autograd.h"
#include "bough/ops/cross_entropy.h"

namespace bough {

Evaluation::Evaluation(ScoredText text, std::shared_ptr<TextGraphs> graphs, std::optional<std::int64_t> stride)
    : text_(std::move(text)),
      graphs_(std::move(graphs)),
      windows_(text_.tokens, graphs_->shape(), {.stride = stride, .carried = graphs_->carries()}) {}

nlohmann::json Evaluation::metrics(CharacterModel& model, Device device) const {
  const NoGrad no_grad;
  model.eval();
  double nats = 0;
  nn::SegmentMemory memory;
  for (std::int64_t i = 0; i < windows_.num_batches(); ++i) {
    const WindowBatch batch = windows_.batch(i);
    const Tensor scores =
        model.forward(graphs_->after(i), batch.inputs.to(device), graphs_->carries() ? &memory : nullptr);
    const Tensor losses =
        cross_entropy(scores, batch.targets.to(device), {.ignore_index = not_scored, .reduction = Reduction::none});
    for (const double loss : losses.to_vector<double>()) nats += loss;
  }
  model.train();
  return text_.metrics(windows_.first_scored(), nats);
}

}  // namespace bough
