#include "tasks/texts/readout_attention.h"

#include <algorithm>
#include <ranges>

#include "bough/autograd/autograd.h"

namespace bough {
namespace {

using Shares = std::vector<double>;

/// Attention of one step between nodes of the graph, mean over the heads.
struct StepAttention {
  std::int64_t layer = 0, stage = 0;
  std::vector<std::size_t> sources = {}, destinations = {};  ///< of each edge
  std::vector<double> weights = {};                          ///< of each edge
  Shares totals = {};  ///< of each node, over its in-edges: 1, or 0 if it is not updated

  /// How the share of each destination is spread over what it attends to.
  Shares spread(const Shares& shares) const {
    Shares result(shares.size());
    for (std::size_t edge = 0; edge < weights.size(); ++edge) {
      result[sources[edge]] += shares[destinations[edge]] * weights[edge];
    }
    return result;
  }
};

/// Groups of heads have graphs of their own, which count as many times as they have heads. Weights of a row are divided
/// by what they sum to, which is not 1 where a group has no in-edges.
StepAttention attention_of(const nn::LayerStep& step, const std::vector<Tensor>& weights, std::size_t num_nodes) {
  StepAttention result{.totals = Shares(num_nodes)};
  for (std::size_t group = 0; group < step.graphs.size(); ++group) {
    const CooView edges = step.graphs[group].coo();
    const std::vector<float> values = weights[group].to_vector<float>();
    const auto heads = static_cast<std::size_t>(weights[group].size(1));
    for (std::size_t edge = 0; edge < edges.src.size(); ++edge) {
      const auto ends = [](const IdArray& nodes, std::int32_t row) {
        return static_cast<std::size_t>(nodes.span()[static_cast<std::size_t>(row)]);
      };
      result.sources.push_back(ends(step.source_nodes, edges.src[edge]));
      result.destinations.push_back(ends(step.updated_nodes, edges.dst[edge]));
      double sum = 0;
      for (std::size_t head = 0; head < heads; ++head) sum += values[edge * heads + head];
      result.weights.push_back(sum);
      result.totals[result.destinations.back()] += sum;
    }
  }
  for (std::size_t edge = 0; edge < result.weights.size(); ++edge) {
    const double total = result.totals[result.destinations[edge]];
    if (total > 0) result.weights[edge] /= total;
  }
  for (double& total : result.totals) total = total > 0 ? 1 : 0;
  return result;
}

/// Where the read-out nodes of a sequence begin and end among those of all.
std::pair<std::size_t, std::size_t> readout_range(const SequenceBatch& batch, std::size_t sequence) {
  if (!batch.readout_offsets.defined()) return {sequence, sequence + 1};
  const std::vector<std::int64_t> offsets = batch.readout_offsets.to_vector<std::int64_t>();
  return {static_cast<std::size_t>(offsets[sequence]), static_cast<std::size_t>(offsets[sequence + 1])};
}

/// The share of each node in the read-out of a sequence, whose nodes have these final rows.
Shares readout_shares(const SequenceBatch& batch, std::size_t sequence, const Tensor& rows) {
  Shares shares(batch.graph.kinds.size());
  const auto [begin, end] = readout_range(batch, sequence);
  const auto node = [&](std::size_t place) -> double& {
    return shares[static_cast<std::size_t>(batch.readout_nodes[place])];
  };
  if (!batch.maximum) {
    for (std::size_t place = begin; place < end; ++place) node(place) += 1 / static_cast<double>(end - begin);
    return shares;
  }
  const std::vector<float> values = rows.to_vector<float>();
  const auto width = static_cast<std::size_t>(rows.size(1));
  for (std::size_t feature = 0; feature < width; ++feature) {
    const auto value = [&](std::size_t place) { return values[place * width + feature]; };
    node(*std::ranges::max_element(std::views::iota(begin, end), {}, value)) += 1 / static_cast<double>(width);
  }
  return shares;
}

Shares roll_out(const std::vector<StepAttention>& steps, Shares shares) {
  for (const StepAttention& step : steps | std::views::reverse) {
    const Shares attended = step.spread(shares);
    for (std::size_t node = 0; node < shares.size(); ++node) {
      shares[node] = shares[node] * (1 - 0.5 * step.totals[node]) + 0.5 * attended[node];
    }
  }
  return shares;
}

}  // namespace

std::vector<ReadoutAttention> readout_attention(const TextClassifier& model, const SequenceBatch& batch, bool cross) {
  const NoGrad no_grad;
  const std::size_t num_nodes = batch.graph.kinds.size();
  std::vector<StepAttention> steps;
  const nn::ForwardOptions observed{.before_step = [&](std::int64_t layer, std::int64_t stage, const Tensor& live) {
    const nn::LayerStep& step = batch.schedule.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(stage)];
    steps.push_back(
        attention_of(step, model.transformer().layer(layer, stage).attention_weights(step, live), num_nodes));
    steps.back().layer = layer;
    steps.back().stage = stage;
  }};
  const Tensor rows = model.transformer().forward(batch.schedule, model.embed(batch), observed);
  const std::int64_t stages = model.transformer().options().stages;

  std::vector<ReadoutAttention> result;
  for (std::int64_t sequence = 0; sequence < batch.num_sequences; ++sequence) {
    ReadoutAttention& readout = result.emplace_back();
    readout.shares = readout_shares(batch, static_cast<std::size_t>(sequence), rows);
    for (const StepAttention& step : steps) {
      readout.layers.push_back({.layer = step.layer,
                                .stage = step.stage,
                                .cross = cross && step.stage + 1 == stages,
                                .weights = step.spread(readout.shares)});
    }
    readout.rollout = roll_out(steps, readout.shares);
  }
  return result;
}

}  // namespace bough
