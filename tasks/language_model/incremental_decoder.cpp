#include "tasks/language_model/incremental_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/rows.h"

namespace bough {
namespace {

void copy_rows(const Tensor& rows, const std::vector<std::int32_t>& places, Tensor& into) {
  const std::int64_t width = rows.size(1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::copy_n(rows.data<float>() + static_cast<std::int64_t>(i) * width, width,
                into.data<float>() + places[i] * width);
  }
}

}  // namespace

IncrementalDecoder::IncrementalDecoder(const CharacterModel& model, const GraphGenerator& generator,
                                       std::int64_t length)
    : model_(&model), graph_(generator.build({.length = length, .causal = true})) {
  if (graph_.graph.is_bipartite() || !graph_.stages.empty()) {
    throw ConfigError("decoder", "patterns with memory or stages cannot be decoded step by step");
  }
  graphs_ = graph_.head_groups.empty() ? std::vector<Graph>{graph_.graph} : graph_.head_groups;
  const std::int64_t nodes = graph_.graph.num_nodes(), dim = model.transformer().options().layer.dim;
  completed_by_.resize(static_cast<std::size_t>(length));
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int32_t last = std::max(0, graph_.covers[static_cast<std::size_t>(node)].end - 1);
    completed_by_[static_cast<std::size_t>(last)].push_back(static_cast<std::int32_t>(node));
  }
  for (std::int64_t i = 0; i < model.transformer().num_layers(); ++i) {
    kept_.push_back({zeros({nodes, dim}), zeros({nodes, dim})});
  }
  row_of_.assign(static_cast<std::size_t>(nodes), -1);
}

IncrementalDecoder::Step IncrementalDecoder::step_for(const std::vector<std::int32_t>& nodes) {
  std::vector<std::int32_t> sources;
  Step step;
  struct Edges {
    std::vector<std::int32_t> src, dst, types;
  };
  std::vector<Edges> groups;
  for (const Graph& graph : graphs_) {
    const EdgeSelection edges = graph.in_edges(nodes);
    Edges& group = groups.emplace_back();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::int64_t e = edges.offsets[i]; e < edges.offsets[i + 1]; ++e) {
        const auto at = static_cast<std::size_t>(e);
        std::int32_t& row = row_of_[static_cast<std::size_t>(edges.src[at])];
        if (row < 0) {
          row = static_cast<std::int32_t>(sources.size());
          sources.push_back(edges.src[at]);
        }
        group.src.push_back(row);
        group.dst.push_back(static_cast<std::int32_t>(i));
        group.types.push_back(graph.edge_types()[static_cast<std::size_t>(edges.edge_ids[at])]);
        if (graph_.soft_span) {
          const auto end_of = [&](std::int32_t node) { return graph_.covers[static_cast<std::size_t>(node)].end; };
          step.distances.push_back(end_of(nodes[i]) - end_of(edges.src[at]));
        }
      }
    }
    step.num_edges += static_cast<std::int64_t>(group.src.size());
  }
  for (const std::int32_t source : sources) row_of_[static_cast<std::size_t>(source)] = -1;
  const auto num_sources = static_cast<std::int64_t>(sources.size());
  for (Edges& group : groups) {
    step.graphs.push_back(Graph::bipartite(std::move(group.src), std::move(group.dst),
                                           {.num_src = num_sources,
                                            .num_dst = static_cast<std::int64_t>(nodes.size()),
                                            .edge_types = std::move(group.types),
                                            .num_edge_types = graph_.graph.num_edge_types()}));
  }
  step.sources = Tensor::from_vector(sources, {num_sources});
  return step;
}

Tensor IncrementalDecoder::attend(const nn::GraphSelfAttention& attention, const Kept& kept, const Step& step,
                                  const Tensor& h) const {
  const nn::GraphSelfAttentionOptions& options = attention.options();
  const std::int64_t head_dim = options.dim / options.heads;
  const auto heads = [&](const Tensor& x) { return x.reshape({x.size(0), options.heads, head_dim}); };
  const bool by_width = options.scale == nn::GraphSelfAttentionOptions::Scale::dim;
  GraphAttentionOptions how{.relation_keys = attention.relation_keys,
                            .scale = 1 / std::sqrt(static_cast<double>(by_width ? options.dim : head_dim))};
  if (graph_.soft_span) {
    const std::vector<double> spans = attention.spans();
    how.edge_weights = Tensor::empty({std::ssize(step.distances), options.heads});
    const auto ramp = static_cast<double>(graph_.soft_span->ramp);
    float* weight = how.edge_weights.data<float>();
    for (const std::int32_t distance : step.distances) {
      for (const double span : spans)
        *weight++ = static_cast<float>(std::clamp((ramp + span - distance) / ramp, 0.0, 1.0));
    }
  }
  const Tensor attended =
      graph_attention(step.graphs, heads(attention.query.forward(h)), heads(gather_rows(kept.keys, step.sources)),
                      heads(gather_rows(kept.values, step.sources)), how);
  return attention.output.forward(attended.reshape({h.size(0), options.dim}));
}

Tensor IncrementalDecoder::update(std::int64_t index, const std::vector<std::int32_t>& nodes, const Step& step,
                                  const Tensor& h) {
  const nn::GraphTransformerLayer& layer = model_->transformer().layer(index);
  const bool pre_norm = model_->transformer().options().layer.pre_norm;
  const Tensor read = pre_norm ? layer.attention_norm.forward(h) : h;
  Kept& kept = kept_[static_cast<std::size_t>(index)];
  copy_rows(layer.attention.key.forward(read), nodes, kept.keys);
  copy_rows(layer.attention.value.forward(read), nodes, kept.values);

  const Tensor attended = attend(layer.attention, kept, step, read);
  if (pre_norm) {
    const Tensor z = h + attended;
    return z + layer.feed_forward.forward(layer.feed_forward_norm.forward(z));
  }
  const Tensor z = layer.attention_norm.forward(attended, h);
  return layer.feed_forward_norm.forward(layer.feed_forward.forward(z), z);
}

Tensor IncrementalDecoder::read(std::int32_t character) {
  if (position_ >= length()) {
    throw IndexError("decoder", fmt::format("the window of {} characters is full", length()));
  }
  const NoGrad no_grad;
  const nn::GraphTransformer& transformer = model_->transformer();
  const std::vector<std::int32_t>& nodes = completed_by_[static_cast<std::size_t>(position_)];
  const std::int32_t token = graph_.tokens[static_cast<std::size_t>(position_)];
  const auto token_row = std::ranges::lower_bound(nodes, token) - nodes.begin();
  const Step step = step_for(nodes);

  const Tensor embedded = model_->embed(Tensor::from_vector(std::vector<std::int32_t>{character}, {1}));
  const std::int64_t dim = embedded.size(1);
  Tensor h = zeros({static_cast<std::int64_t>(nodes.size()), dim});
  for (std::int64_t row = 0; row < h.size(0); ++row) {
    const Tensor& first = row == token_row ? embedded : transformer.start;
    if (first.defined()) std::copy_n(first.data<float>(), dim, h.data<float>() + row * dim);
  }
  for (std::int64_t i = 0; i < transformer.num_layers(); ++i) h = update(i, nodes, step, h);
  ++position_;
  edges_followed_ = step.num_edges;
  return model_->scores(transformer.finish(h.rows(token_row, token_row + 1))).reshape({-1});
}

}  // namespace bough
