#include "bough/nn/graph_transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/autograd/recompute.h"
#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/rows.h"
#include "nn/modules/layer_parts.h"

namespace bough::nn {

Tensor index_tensor(const IdArray& ids) { return Tensor::from_span(ids.span(), {ids.size()}); }

namespace {

/// The rows from outside that a layer reads, checked; undefined if the graph reads none.
Tensor outside_rows(const LayerSchedule& schedule, const SegmentMemory* memory, std::size_t layer,
                    const Tensor& tokens) {
  if (schedule.num_outside == 0) return {};
  if (memory == nullptr || layer >= memory->layers.size()) {
    throw ConfigError("graph transformer",
                      fmt::format("the graph reads {} remembered rows; give a memory that has them, or start with a "
                                  "graph whose memory is empty",
                                  schedule.num_outside));
  }
  const Tensor& rows = memory->layers[layer];
  if (rows.rank() != 2 || rows.size(0) != schedule.num_outside || rows.size(1) != tokens.size(1)) {
    throw ShapeError("graph transformer", fmt::format("the memory of layer {} must be [{}, {}], it is {}", layer,
                                                      schedule.num_outside, tokens.size(1), to_string(rows.shape())));
  }
  return rows;
}

/// A layer on a graph or on a step of a schedule.
template <typename Part, typename... Inputs>
Tensor run(const GraphTransformerLayer& layer, ActivationPolicy policy, const Part& part, Inputs... inputs) {
  if (policy != ActivationPolicy::checkpoint_layers) return layer.forward(part, std::move(inputs)..., policy);
  return recompute(
      [&layer, part](const std::vector<Tensor>& given) {
        if constexpr (sizeof...(inputs) == 1)
          return layer.forward(part, given[0]);
        else
          return layer.forward(part, given[0], given[1]);
      },
      {inputs...});
}

AttentionRows rows_of(const LayerStep& step) {
  return {.sources = step.source_rows, .destinations = step.updated_rows, .distances = step.distances};
}

constexpr const char* options_for_graph = "options for a graph";

void take_relations(std::int64_t num_relations, GraphTransformerLayerOptions& layer) {
  if (layer.ignore_relations) return;
  if (layer.num_relations != 0 && layer.num_relations < num_relations) {
    throw ConfigError(options_for_graph, fmt::format("num_relations is {}, the graph has {}; leave it out",
                                                     layer.num_relations, num_relations));
  }
  layer.num_relations = std::max(layer.num_relations, num_relations);
}

}  // namespace

ActivationPolicy activation_policy(const GraphTransformerOptions& options, std::int64_t nodes, std::int64_t tokens) {
  if (options.activations != ActivationPolicy::automatic) return options.activations;
  constexpr std::int64_t little = std::int64_t{64} << 20;
  const std::int64_t width = 8 * options.layer.dim + feed_forward_options(options.layer).hidden;
  const bool large = nodes > tokens && nodes * width * static_cast<std::int64_t>(sizeof(float)) > little;
  return large ? ActivationPolicy::recompute_cheap : ActivationPolicy::save_all;
}

GraphTransformerOptions GraphTransformerOptions::for_graph(const AttentionGraph& graph,
                                                           GraphTransformerOptions options) {
  constexpr const char* where = options_for_graph;
  GraphTransformerLayerOptions& layer = options.layer;
  take_relations(graph.num_relations(), layer);
  const std::int64_t stages = std::max<std::int64_t>(1, std::ssize(graph.stages));
  if (options.stages != 1 && options.stages != stages) {
    throw ConfigError(where, fmt::format("stages is {}, the graph has {}; leave it out", options.stages, stages));
  }
  options.stages = stages;
  if (layer.soft_span && layer.soft_span != graph.soft_span) {
    throw ConfigError(where, graph.soft_span ? "soft_span is not that of the graph; leave it out"
                                             : "soft_span is set, but the graph has none; leave it out");
  }
  layer.soft_span = graph.soft_span;
  const std::int64_t groups = std::max<std::int64_t>(1, std::ssize(graph.head_groups));
  if (layer.heads % groups != 0) {
    throw ConfigError(
        where, fmt::format("heads is {}, which the {} head groups of the graph do not divide", layer.heads, groups));
  }
  return options;
}

GraphTransformerOptions GraphTransformerOptions::for_graph(const GraphGenerator& generator, std::int64_t max_length,
                                                           GraphTransformerOptions options) {
  // Relations depend on the length, everything else is the same in short graphs.
  constexpr std::int64_t short_length = 16;
  const AttentionGraph graph =
      build_checked(generator, {.length = generator.fixed_length().value_or(std::min(max_length, short_length))});
  take_relations(generator.num_relations(max_length), options.layer);
  return for_graph(graph, options);
}

GraphTransformerLayer::GraphTransformerLayer(const GraphTransformerLayerOptions& options)
    : attention(attention_options(options, options.num_relations)),
      feed_forward(feed_forward_options(options)),
      attention_norm(norm_options(options)),
      feed_forward_norm(norm_options(options)),
      dropout_(options.dropout),
      pre_norm_(options.pre_norm) {
  add_module("attention", attention);
  add_module("attention_norm", attention_norm);
  add_module("feed_forward", feed_forward);
  add_module("feed_forward_norm", feed_forward_norm);
  add_module("dropout", dropout_);
}

Tensor GraphTransformerLayer::forward(const Graph& graph, const Tensor& h, ActivationPolicy policy) const {
  require_node_rows("graph transformer layer", graph, h);
  return update(std::span(&graph, 1), h, {}, policy);
}

Tensor GraphTransformerLayer::forward(const LayerStep& step, Tensor live, const Tensor& outside,
                                      ActivationPolicy policy) const {
  const AttentionRows rows = rows_of(step);
  const bool reads_more = outside.defined() && outside.size(0) > 0;
  if (!step.next_rows.defined() && !reads_more) return update(step.graphs, std::move(live), rows, policy);
  const Tensor updated = update(step.graphs, reads_more ? concatenate({outside, live}, 0) : live, rows, policy);
  return step.next_rows.defined() ? gather_rows(concatenate({updated, live}, 0), step.next_rows) : updated;
}

std::vector<Tensor> GraphTransformerLayer::attention_weights(const LayerStep& step, const Tensor& live) const {
  const NoGrad no_grad;
  return attention.weights(step.graphs, pre_norm_ ? attention_norm.forward(live) : live, rows_of(step));
}

Tensor GraphTransformerLayer::update(std::span<const Graph> graphs, Tensor nodes, const AttentionRows& rows,
                                     ActivationPolicy policy) const {
  return forward_around(
      std::move(nodes), rows.destinations,
      [&](const Tensor& read) { return attention.forward(graphs, read, rows, policy); }, policy);
}

Tensor GraphTransformerLayer::forward_around(Tensor read, const Tensor& rows, FunctionRef<Tensor(const Tensor&)> attend,
                                             ActivationPolicy policy) const {
  const Tensor z = residual(attention_norm, dropout_, pre_norm_, std::move(read), rows, attend, policy);
  return in_row_blocks(z, dropout_.active() || feed_forward.drops(), [&](const Tensor& block) {
    return residual(
        feed_forward_norm, dropout_, pre_norm_, block, {},
        [&](const Tensor& normed) { return feed_forward.forward(normed, policy); }, policy);
  });
}

GraphTransformer::GraphTransformer(const GraphTransformerOptions& options) : options_(options) {
  if (options.layers < 1 || options.layers > 10000) {
    throw ConfigError("graph transformer", fmt::format("layers must be from 1 to 10000, not {}", options.layers));
  }
  if (options.stages < 1 || options.stages > 100) {
    throw ConfigError("graph transformer", fmt::format("stages must be from 1 to 100, not {}", options.stages));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    for (std::int64_t stage = 0; stage < options.stages; ++stage) {
      layers_.push_back(std::make_unique<GraphTransformerLayer>(options.layer));
      const std::string name = options.stages == 1 ? "" : fmt::format("_stage{}", stage);
      add_module(fmt::format("layer{}{}", i, name), *layers_.back());
    }
  }
  if (options.trained_start) {
    start = zeros({1, options.layer.dim});
    add_parameter("start", start);
  }
  if (options.layer.pre_norm) {
    final_norm_ = std::make_unique<LayerNorm>(norm_options(options.layer));
    add_module("final_norm", *final_norm_);
  }
}

Tensor GraphTransformer::forward(const Graph& graph, const Tensor& h) const {
  if (options_.stages != 1) {
    throw ConfigError("graph transformer", fmt::format("a graph alone has one stage, the model {}; run it on "
                                                       "make_layer_schedule(graph, ...)",
                                                       options_.stages));
  }
  require_node_rows("graph transformer", graph, h);
  Tensor state = h;
  for (const auto& layer : layers_)
    state = run(*layer, activation_policy(options_, h.size(0), h.size(0)), graph, state);
  return finish(state);
}

std::size_t GraphTransformer::place_of(std::int64_t layer, std::int64_t stage) const {
  if (layer < 0 || layer >= options_.layers) {
    throw IndexError("graph transformer", fmt::format("there is no layer {}, the {} layers of the model count from 0",
                                                      layer, options_.layers));
  }
  if (stage < 0 || stage >= options_.stages) {
    throw IndexError("graph transformer", fmt::format("there is no stage {}, the {} stages of a layer count from 0",
                                                      stage, options_.stages));
  }
  return static_cast<std::size_t>(layer * options_.stages + stage);
}

void GraphTransformer::require_fit(const LayerSchedule& schedule, const Tensor& tokens) const {
  constexpr const char* where = "graph transformer";
  require_inputs(where, schedule, options_.layers, options_.layer.dim, tokens);
  if (schedule.layers.front().size() != static_cast<std::size_t>(options_.stages)) {
    throw ConfigError(where, fmt::format("the graph has {} stages a layer, the model {}; set the option stages",
                                         schedule.layers.front().size(), options_.stages));
  }
  if (schedule.soft_span != options_.layer.soft_span) {
    throw ConfigError(where, "the soft span of the graph is not that of the model; set the option layer.soft_span");
  }
}

Tensor GraphTransformer::forward(const LayerSchedule& schedule, const Tensor& tokens,
                                 const ForwardOptions& options) const {
  require_fit(schedule, tokens);
  SegmentMemory remembered;
  Tensor live = first_rows(schedule, tokens, start);
  for (std::size_t i = 0; i < schedule.layers.size(); ++i) {
    const Tensor outside = outside_rows(schedule, options.memory, i, tokens);
    if (options.memory != nullptr && schedule.remembered_rows.defined()) {
      const NoGrad no_grad;
      remembered.layers.push_back(
          gather_rows(outside.defined() ? concatenate({outside, live}, 0) : live, schedule.remembered_rows).detach());
    }
    for (std::size_t stage = 0; stage < schedule.layers[i].size(); ++stage) {
      if (options.before_step) {
        options.before_step(static_cast<std::int64_t>(i), static_cast<std::int64_t>(stage), live);
      }
      live = run(layer(static_cast<std::int64_t>(i), static_cast<std::int64_t>(stage)),
                 activation_policy(options_, schedule.layers[i][stage].graphs.front().num_dst(), schedule.num_tokens),
                 schedule.layers[i][stage], std::move(live), outside);
    }
    const bool last = i + 1 == schedule.layers.size();
    if (last || options.after_layer) {
      const Tensor& rows = schedule.readout_rows[i];
      const Tensor readout = rows.defined() ? gather_rows(live, rows) : live;
      if (!last) options.after_layer(static_cast<std::int64_t>(i), readout);
      if (last) live = readout;
    }
  }
  if (options.memory != nullptr && schedule.remembered_rows.defined()) *options.memory = std::move(remembered);
  return finish(live);
}

Tensor GraphTransformer::span_penalty() const {
  Tensor total;
  for (const auto& layer : layers_) {
    const Tensor one = layer->attention.span_penalty();
    total = total.defined() ? total + one : one;
  }
  return total / static_cast<double>(layers_.size());
}

}  // namespace bough::nn
