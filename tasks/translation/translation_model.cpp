#include "bough/tasks/translation_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/rows.h"
#include "tasks/texts/cached_generator.h"
#include "tasks/texts/sequence_batch.h"

namespace bough {
namespace {

constexpr const char* translation_model = "translation model";

nn::InputLayerOptions input_options(const TranslationModelOptions& options) {
  nn::InputLayerOptions input = options.input;
  input.dim = options.encoder.layer.dim;
  return input;
}

const TranslationModelOptions& checked(const TranslationModelOptions& options) {
  if (options.encoder.layer.dim != options.decoder.layer.dim) {
    throw ConfigError(translation_model, fmt::format("encoder and decoder must have the same width, not {} and {}",
                                                     options.encoder.layer.dim, options.decoder.layer.dim));
  }
  if (options.shared_embeddings && options.source_vocabulary != options.target_vocabulary) {
    throw ConfigError(translation_model, fmt::format("embeddings are shared by {} source tokens and {} target tokens; "
                                                     "both sides must have the same vocabulary",
                                                     options.source_vocabulary, options.target_vocabulary));
  }
  return options;
}

AttentionGraph short_graph(const GraphGenerator& generator, bool causal) {
  return build_checked(generator, {.length = generator.fixed_length().value_or(4), .causal = causal});
}

std::int64_t total(const std::vector<std::int64_t>& lengths) { return std::reduce(lengths.begin(), lengths.end()); }

/// Whether the graph of a pattern depends on which tokens are a sentence. No division of four tokens into parts of one
/// size is that of this question.
bool reads_sentences(const GraphGenerator& generator, bool causal) {
  if (generator.fixed_length()) return false;
  const AttentionGraph whole = build_checked(generator, {.length = 4, .causal = causal});
  const AttentionGraph parts = build_checked(generator, {.length = 4, .causal = causal, .sentences = {1, 3}});
  return whole.kinds != parts.kinds || !std::ranges::equal(whole.graph.coo().src, parts.graph.coo().src) ||
         !std::ranges::equal(whole.graph.coo().dst, parts.graph.coo().dst) ||
         !std::ranges::equal(whole.graph.edge_types(), parts.graph.edge_types());
}

/// What to build for one side of the pairs, and where each token stands in its sequence.
struct Side {
  bool causal, with_sentences;
  std::vector<BuildOptions> graphs = {};
  std::vector<std::int32_t> positions = {};

  void add(const std::vector<std::int64_t>& sentences, const char* name) {
    const std::int64_t length = total(sentences);
    if (length < 1) throw ConfigError("translation graph", fmt::format("a pair has no {} token", name));
    graphs.push_back(
        {.length = length, .causal = causal, .sentences = with_sentences ? sentences : std::vector<std::int64_t>{}});
    for (std::int64_t at = 0; at < length; ++at) positions.push_back(static_cast<std::int32_t>(at));
  }
};

Tensor as_tensor(const std::vector<std::int32_t>& numbers, Device device) {
  return Tensor::from_vector(numbers, {std::ssize(numbers)}).to(device);
}

nn::LayerSchedule schedule_of(const GraphGenerator& generator, const Side& side, std::int64_t layers,
                              const TranslationGraphOptions& options) {
  const nn::LayerSchedule schedule = nn::make_layer_schedule(build_batch(generator, side.graphs), {.layers = layers});
  if (options.device == Device::cpu()) make_attention_plans(schedule, options.with_relations);
  return schedule.to(options.device);
}

/// Target tokens of the last sentence of each pair; undefined if all are.
Tensor scored_rows(std::span<const SentenceLengths> pairs, Device device) {
  std::vector<std::int32_t> rows;
  std::int64_t end = 0;
  for (const SentenceLengths& pair : pairs) {
    end += total(pair.target);
    for (std::int64_t row = end - pair.target.back(); row < end; ++row) rows.push_back(static_cast<std::int32_t>(row));
  }
  return std::ssize(rows) == end ? Tensor() : as_tensor(rows, device);
}

}  // namespace

TranslationGraphBuilder::TranslationGraphBuilder(std::shared_ptr<const GraphGenerator> encoder,
                                                 std::shared_ptr<const GraphGenerator> decoder,
                                                 const TranslationGraphOptions& options)
    : encoder_(std::make_shared<CachedGenerator>(std::move(encoder), options.cache_bytes)),
      decoder_(std::make_shared<CachedGenerator>(std::move(decoder), options.cache_bytes)),
      cross_(generators().make("cross")),
      encoder_reads_sentences_(false),
      decoder_reads_sentences_(false),
      options_(options) {
  require_own_tokens(short_graph(*encoder_, false));
  const AttentionGraph causal = short_graph(*decoder_, true);
  require_own_tokens(causal);
  nn::GraphTransformerDecoderOptions::for_graphs(causal, causal.graph, {.layer = {.dim = 1}});
  encoder_reads_sentences_ = reads_sentences(*encoder_, false);
  decoder_reads_sentences_ = reads_sentences(*decoder_, true);
}

AttentionGraph TranslationGraphBuilder::build_target(std::span<const std::int64_t> sentences) const {
  BuildOptions options{.length = std::reduce(sentences.begin(), sentences.end()), .causal = true};
  if (decoder_reads_sentences_) options.sentences.assign(sentences.begin(), sentences.end());
  return build_checked(*decoder_, options);
}

TranslationGraph TranslationGraphBuilder::build_source(std::span<const SentenceLengths> pairs) const {
  Side source{.causal = false, .with_sentences = encoder_reads_sentences_};
  for (const SentenceLengths& pair : pairs) source.add(pair.source, "source");
  return {.encoder = schedule_of(*encoder_, source, options_.encoder_layers, options_),
          .source_positions = as_tensor(source.positions, options_.device)};
}

TranslationGraph TranslationGraphBuilder::build(std::span<const SentenceLengths> pairs) const {
  TranslationGraph graph = build_source(pairs);
  Side target{.causal = true, .with_sentences = decoder_reads_sentences_};
  BuildOptions cross;  // the sentences of all pairs, one after the other
  for (const SentenceLengths& pair : pairs) {
    if (pair.source.size() != pair.target.size()) {
      throw ConfigError("translation graph", fmt::format("sentences are aligned one to one, but a pair has {} and {}",
                                                         pair.source.size(), pair.target.size()));
    }
    target.add(pair.target, "target");
    cross.sentences.insert(cross.sentences.end(), pair.target.begin(), pair.target.end());
    cross.source_sentences.insert(cross.source_sentences.end(), pair.source.begin(), pair.source.end());
  }
  cross.length = std::ssize(target.positions);
  graph.decoder = schedule_of(*decoder_, target, options_.decoder_layers, options_);
  graph.cross = cross_->build(cross).graph;
  if (options_.device == Device::cpu()) attention_plan_summary(graph.cross);
  graph.target_positions = as_tensor(target.positions, options_.device);
  graph.scored_rows = scored_rows(pairs, options_.device);
  return graph;
}

TranslationModel::TranslationModel(const TranslationModelOptions& options)
    : options_(checked(options)),
      target_embedding_({.count = options.target_vocabulary, .dim = options.encoder.layer.dim}),
      input_(input_options(options)),
      encoder_(options.encoder),
      decoder_(options.decoder),
      output_dropout_(options.output_dropout) {
  add_module("target_embedding", target_embedding_);
  if (!options.shared_embeddings) {
    source_embedding_ = std::make_unique<nn::Embedding>(
        nn::EmbeddingOptions{.count = options.source_vocabulary, .dim = options.encoder.layer.dim});
    add_module("source_embedding", *source_embedding_);
  }
  add_module("input", input_);
  add_module("encoder", encoder_);
  add_module("decoder", decoder_);
  if (!options.tied) {
    output_ = std::make_unique<nn::Linear>(
        nn::LinearOptions{.in = options.encoder.layer.dim, .out = options.target_vocabulary, .bias = false});
    add_module("output", *output_);
  }
  add_module("output_dropout", output_dropout_);
}

Tensor TranslationModel::embed(const nn::Embedding& table, const Tensor& tokens, const Tensor& positions) const {
  const double scale = options_.input_scale * std::sqrt(static_cast<double>(options_.encoder.layer.dim));
  return input_.forward(table.forward(tokens) * scale, positions);
}

Tensor TranslationModel::embed_target(const Tensor& tokens, const Tensor& positions) const {
  return embed(target_embedding_, tokens, positions);
}

Tensor TranslationModel::encode(const TranslationGraph& graph, const Tensor& source) const {
  const nn::Embedding& table = source_embedding_ == nullptr ? target_embedding_ : *source_embedding_;
  return encoder_.forward(graph.encoder, embed(table, source, graph.source_positions));
}

Tensor TranslationModel::decode(const TranslationGraph& graph, const Tensor& target, const Tensor& encoded) const {
  return decoder_.forward(graph.decoder, graph.cross, embed_target(target, graph.target_positions), encoded);
}

LinearPart TranslationModel::output_part() const {
  return output_ == nullptr ? LinearPart{target_embedding_.weight} : output_->part();
}

Tensor TranslationModel::scores(const Tensor& states) const {
  const Tensor read = output_dropout_.forward(states);
  return output_ == nullptr ? target_embedding_.project(read) : output_->forward(read);
}

Tensor TranslationModel::forward(const TranslationGraph& graph, const Tensor& source, const Tensor& target) const {
  const Tensor states = decode(graph, target, encode(graph, source));
  return scores(graph.scored_rows.defined() ? gather_rows(states, graph.scored_rows) : states);
}

}  // namespace bough
