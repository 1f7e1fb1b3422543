#include "bough/nn/incremental_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/matmul.h"
#include "bough/ops/rows.h"

namespace bough::nn {
namespace {

constexpr const char* decoding = "incremental decoder";

AttentionGraph followed_graph(const GraphTransformer& model, AttentionGraph graph) {
  const auto require = [](bool fits, const char* rule) {
    if (!fits) throw ConfigError(decoding, rule);
  };
  graph.validate();
  require(graph.causal && graph.sequences.size() == 1, "the graph must be causal and that of one sequence");
  require(!graph.graph.is_bipartite(), "a graph that reads rows from outside cannot be decoded step by step");
  require(graph.stages.empty(), "patterns with stages cannot be decoded step by step");
  require(std::ranges::find(graph.kinds, NodeKind::input) == graph.kinds.end(),
          "patterns with nodes that are never updated cannot be decoded step by step");
  require(model.options().stages == 1, "a model of several stages cannot be decoded step by step");
  require(graph.soft_span == model.options().layer.soft_span,
          "the soft span of the graph is not that of the model; make the options with for_graph");
  const GraphTransformerLayerOptions& layer = model.options().layer;
  // A single relation needs no key: it would add the same to all scores of a node.
  if (!layer.ignore_relations && graph.num_relations() > std::max<std::int64_t>(1, layer.num_relations)) {
    throw ConfigError(decoding, fmt::format("the graph of {} tokens has {} relations, the model keys for {}; decode "
                                            "shorter texts of the pattern it was made for, or make its options with "
                                            "for_graph(generator, max_length, ...)",
                                            graph.num_tokens(), graph.num_relations(), layer.num_relations));
  }
  const auto groups = static_cast<std::int64_t>(graph.head_groups.size());
  if (groups > 0 && layer.heads % groups != 0) {
    throw ConfigError(decoding,
                      fmt::format("the model has {} heads, which the {} head groups of the graph do not divide",
                                  layer.heads, groups));
  }
  return graph;
}

}  // namespace

IncrementalDecoder::IncrementalDecoder(const GraphTransformer& model, AttentionGraph graph)
    : model_(&model), graph_(followed_graph(model, std::move(graph))) {
  graphs_ = graph_.head_groups.empty() ? std::vector<Graph>{graph_.graph} : graph_.head_groups;
  const std::int64_t nodes = graph_.graph.num_nodes(), dim = model.options().layer.dim;
  std::vector<std::vector<std::int32_t>> completed(graph_.tokens.size());
  for (std::size_t token = 0; token < completed.size(); ++token) completed[token].push_back(graph_.tokens[token]);
  for (std::int32_t node = 0; node < nodes; ++node) {
    auto& by_last =
        completed[static_cast<std::size_t>(std::max(0, graph_.covers[static_cast<std::size_t>(node)].end - 1))];
    if (node != by_last.front()) by_last.push_back(node);
  }
  cached_at_.resize(static_cast<std::size_t>(nodes));
  std::size_t most = 1;
  for (const std::vector<std::int32_t>& group : completed) {
    begin_.push_back(std::ssize(order_));
    for (const std::int32_t node : group) {
      cached_at_[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(order_.size());
      order_.push_back(node);
    }
    most = std::max(most, group.size());
  }
  begin_.push_back(std::ssize(order_));

  const Tensor& start = model.start;
  const Device device = model.parameters().front().device();
  starts_ = zeros({static_cast<std::int64_t>(most) - 1, dim}, DType::float32, device);
  if (start.defined()) starts_ = starts_ + start.detach();
  for (std::int64_t i = 0; i < model.num_layers(); ++i) {
    caches_.push_back({zeros({nodes, dim}, DType::float32, device), zeros({nodes, dim}, DType::float32, device)});
  }
  row_of_.assign(static_cast<std::size_t>(nodes), -1);
}

std::span<const std::int32_t> IncrementalDecoder::completed_by(std::int64_t token) const {
  const auto at = static_cast<std::size_t>(token);
  return std::span(order_).subspan(static_cast<std::size_t>(begin_[at]),
                                   static_cast<std::size_t>(begin_[at + 1] - begin_[at]));
}

IncrementalDecoder::Step IncrementalDecoder::step_for(std::span<const std::int32_t> nodes) {
  std::vector<std::int32_t> sources, distances;
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
          distances.push_back(end_of(nodes[i]) - end_of(edges.src[at]));
        }
      }
    }
    step.num_edges += static_cast<std::int64_t>(group.src.size());
  }
  for (std::int32_t& source : sources) {
    row_of_[static_cast<std::size_t>(source)] = -1;
    source = cached_at_[static_cast<std::size_t>(source)];
  }
  const auto num_sources = static_cast<std::int64_t>(sources.size());
  for (Edges& group : groups) {
    step.graphs.push_back(Graph::bipartite(std::move(group.src), std::move(group.dst),
                                           {.num_src = num_sources,
                                            .num_dst = static_cast<std::int64_t>(nodes.size()),
                                            .edge_types = std::move(group.types),
                                            .num_edge_types = graph_.graph.num_edge_types()}));
  }
  step.sources = Tensor::from_vector(sources, {num_sources}, starts_.device());
  if (graph_.soft_span) {
    step.distances = Tensor::from_vector(distances, {std::ssize(distances)}, starts_.device());
  }
  return step;
}

Tensor IncrementalDecoder::update(std::int64_t index, const Step& step, const Tensor& h) {
  const GraphTransformerLayer& layer = model_->layer(index);
  const GraphSelfAttention& attention = layer.attention;
  LayerCache& cache = caches_[static_cast<std::size_t>(index)];
  return layer.forward_around(h, {}, [&](const Tensor& read) {
    const std::vector<Tensor> qkv =
        linear_parts(read, {attention.query.part(), attention.key.part(), attention.value.part()});
    const auto at = static_cast<std::size_t>(position_);
    cache.keys.rows(begin_[at], begin_[at + 1]).assign(qkv[1]);
    cache.values.rows(begin_[at], begin_[at + 1]).assign(qkv[2]);
    return attention.attend(step.graphs, qkv[0], gather_rows(cache.keys, step.sources),
                            gather_rows(cache.values, step.sources), step.distances);
  });
}

Tensor IncrementalDecoder::read(const Tensor& token) {
  if (position_ >= length()) {
    throw IndexError(decoding,
                     fmt::format("all {} tokens of the graph have been read; restart, or make a longer one", length()));
  }
  const std::int64_t dim = model_->options().layer.dim;
  if (token.shape() != Shape{1, dim}) {
    throw ShapeError(decoding, fmt::format("a token's input must be [1, {}], it is {}", dim, to_string(token.shape())));
  }
  const NoGrad no_grad;
  const std::span<const std::int32_t> nodes = completed_by(position_);
  const Step step = step_for(nodes);
  Tensor h = concatenate({token, starts_.rows(0, std::ssize(nodes) - 1)}, 0);
  for (std::int64_t i = 0; i < model_->num_layers(); ++i) h = update(i, step, h);
  ++position_;
  edges_followed_ = step.num_edges;
  return model_->finish(h.rows(0, 1));
}

}  // namespace bough::nn
