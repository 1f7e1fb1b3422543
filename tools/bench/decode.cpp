#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/graph/graph_generator.h"
#include "bough/nn/batched_decoder.h"
#include "bough/nn/decoding.h"
#include "bough/nn/layer_schedule.h"
#include "bough/ops/embedding.h"
#include "bough/ops/packed_linear.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/model.h"

namespace bough::bench {
namespace {

const nlohmann::json partition_tree = {{"kind", "bpt"}, {"k", 4}}, full = {{"kind", "full"}, {"max_distance", 0}};

AttentionGraph causal_graph(const nlohmann::json& pattern, std::int64_t length) {
  return generators().make(pattern)->build({.length = length, .causal = true});
}

nn::GraphTransformerLayerOptions layer_options(const ModelShape& shape) {
  return {.dim = shape.dim, .heads = shape.heads, .feed_forward = shape.feed_forward};
}

/// Sequences of one length that a model reads token by token, as if it had written them.
class Writing {
 public:
  Writing(const nlohmann::json& pattern, std::int64_t length, std::int64_t sequences)
      : graph_(causal_graph(pattern, length)),
        model_(nn::GraphTransformerOptions::for_graph(
            graph_, {.layers = ModelShape().layers, .layer = layer_options(ModelShape())})),
        decoder_(model_, graph_),
        token_(randn({sequences, ModelShape().dim})) {
    write(std::min<std::int64_t>(length, 64));
  }

  /// Mean milliseconds of a token of each sequence.
  double milliseconds_a_step() {
    const auto start = std::chrono::steady_clock::now();
    write(graph_.num_tokens());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() /
           static_cast<double>(graph_.num_tokens());
  }

  /// The model on the first tokens, for the last of them: what a token costs without kept keys and values.
  double milliseconds_again(const Options& options, std::int64_t length) const {
    const NoGrad no_grad;
    const AttentionGraph prefix = causal_graph(partition_tree, length);
    const nn::LayerSchedule schedule =
        nn::make_layer_schedule(prefix, {.layers = model_.num_layers(), .readout = std::vector{prefix.tokens.back()}});
    const Tensor tokens = randn({length, ModelShape().dim});
    return measure(options, [&] { model_.forward(schedule, tokens); });
  }

  double edges_a_token() const {
    return static_cast<double>(graph_.graph.num_edges()) / static_cast<double>(graph_.num_tokens());
  }

 private:
  void write(std::int64_t tokens) {
    decoder_.clear();
    decoder_.add(token_.size(0));
    for (std::int64_t i = 0; i < tokens; ++i) decoder_.read(token_);
  }

  AttentionGraph graph_;
  nn::GraphTransformer model_;
  nn::BatchedDecoder decoder_;
  Tensor token_;
};

/// Partition trees beside full graphs, and how much more time a token of a long text takes than one of a short text.
void run_lengths(const Options& options, const Report& report) {
  double of_shortest = 0;
  for (const std::int64_t length : {512, 1024, 2048, 4096, 8192}) {
    const std::string name = fmt::format("bpt_k4 n={}", length);
    if (!selected(options, name)) continue;
    Writing tree(partition_tree, length, 1), every(full, length, 1);
    std::vector<double> ours, peer;
    for (int i = 0; i < options.repeats; ++i) {
      ours.push_back(tree.milliseconds_a_step());
      peer.push_back(every.milliseconds_a_step());
    }
    const double milliseconds = median(ours);
    if (length == 512) of_shortest = milliseconds;
    Result result{.case_name = name,
                  .milliseconds = milliseconds,
                  .peer = "full graph",
                  .peer_milliseconds = median(peer),
                  .note = fmt::format("a token; {:.0f} edges", tree.edges_a_token()),
                  .figures = {{"edges_per_token", tree.edges_a_token()}}};
    if (of_shortest > 0) {
      result.note += fmt::format(", {:.2f} times n=512", milliseconds / of_shortest);
      result.figures.emplace_back("growth_from_512", milliseconds / of_shortest);
    }
    report(result);
  }
}

/// Against the model without kept keys and values, which runs on all of the prefix for each token.
void run_prefix_again(const Options& options, const Report& report) {
  constexpr std::int64_t length = 1024, steps = 16;
  const std::string name = fmt::format("bpt_k4 n={} without cache", length);
  if (!selected(options, name)) return;
  Writing tree(partition_tree, length, 1);
  std::vector<double> ours;
  for (int i = 0; i < options.repeats; ++i) ours.push_back(tree.milliseconds_a_step());
  double again = 0;
  for (std::int64_t i = 1; i <= steps; ++i) again += tree.milliseconds_again(options, i * length / steps) / steps;
  report({.case_name = name,
          .milliseconds = median(ours),
          .peer = "prefix run again",
          .peer_milliseconds = again,
          .note = fmt::format("a token; prefixes of {}, {}, ... tokens", length / steps, 2 * length / steps)});
}

void run_side_by_side(const Options& options, const Report& report) {
  constexpr std::int64_t length = 1024;
  for (const std::int64_t sequences : {8, 64}) {
    const std::string name = fmt::format("bpt_k4 n={} x {}", length, sequences);
    if (!selected(options, name)) continue;
    Writing alone(partition_tree, length, 1), together(partition_tree, length, sequences);
    std::vector<double> ours, peer;
    for (int i = 0; i < options.repeats; ++i) {
      ours.push_back(together.milliseconds_a_step() / static_cast<double>(sequences));
      peer.push_back(alone.milliseconds_a_step());
    }
    report({.case_name = name,
            .milliseconds = median(ours),
            .peer = "one alone",
            .peer_milliseconds = median(peer),
            .note = fmt::format("a token; {:.0f} tokens a second", 1e3 / median(ours))});
  }
}

/// Translation: a beam of 5 for each of 32 sentences, with 8000 tokens to choose from.
void run_beams(const Options& options, const Report& report) {
  constexpr std::int64_t vocabulary = 8000, sentences = 32, source = 25, written = 25;
  const std::string name = "beam of 5";
  if (!selected(options, name)) return;
  const ModelShape shape{.layers = 3, .dim = 192, .feed_forward = 512, .heads = 4};
  const AttentionGraph graph = causal_graph(partition_tree, 2 * written);
  nn::GraphTransformerLayerOptions layer = layer_options(shape);
  layer.num_relations = graph.num_relations();
  const nn::GraphTransformerDecoder model({.layers = shape.layers, .layer = layer});
  const Tensor table = randn({vocabulary, shape.dim}), encoded = randn({sentences * source, shape.dim});
  PackedLinear project({{table}});
  nn::BatchedDecoder decoder(model, graph);
  nn::DecoderScorer scorer(
      decoder, [&](const Tensor& tokens, const Tensor&) { return embedding(table, tokens); },
      [&](const Tensor& states) { return project.forward(states); });
  const auto translate = [&](std::int64_t width) {
    decoder.add_sources(encoded, std::vector<std::int64_t>(sentences, source));
    nn::beam_search(scorer, std::vector<std::int32_t>(sentences, 0),
                    {.width = width, .limits = {.max_length = written}});
  };
  const Times times = measure_both(
      options, [&] { translate(5); }, [&] { translate(1); });
  report({.case_name = name,
          .milliseconds = times.ours / sentences,
          .peer = "greedy",
          .peer_milliseconds = times.peer / sentences,
          .note = fmt::format("a sentence of {} tokens, {} together; 3 layers of width {}, {} tokens to choose from",
                              written, sentences, shape.dim, vocabulary)});
}

}  // namespace

void run_decode(const Options& options, const Report& report) {
  // A pass over a long sequence takes tens of seconds, so that few of them say enough.
  const Options few{.repeats = std::min(options.repeats, 2), .only = options.only};
  run_lengths(few, report);
  run_prefix_again(few, report);
  run_side_by_side(few, report);
  run_beams(options, report);
}

}  // namespace bough::bench
