#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/graph_transformer_decoder.h"
#include "bough/nn/input_layer.h"
#include "bough/nn/layers.h"

namespace bough {

/// Tokens of aligned sentences, oldest first. The last is what is translated, those before it are its context; of the
/// oldest there may be a part, and none on one side.
struct SentenceLengths {
  std::vector<std::int64_t> source;  ///< of each sentence, of the text that is read
  std::vector<std::int64_t> target;  ///< of its translation
};

/// Sentence pairs side by side, prepared for a model: who attends to whom in encoder and decoder. Every pair is on its
/// own; in a pair all tokens of the source, context included, are one sequence for the encoder, all tokens of the
/// target one causal sequence for the decoder, and a target token attends to the tokens of its own sentence's source.
/// Patterns that read BuildOptions::sentences are told which tokens are one.
struct TranslationGraph {
  nn::LayerSchedule encoder = {};  ///< of its layers, with the tokens as read-out
  nn::LayerSchedule decoder = {};  ///< the same of the decoder
  Graph cross = {};                ///< bipartite, from source tokens to target tokens
  Tensor source_positions = {};    ///< int32 [source tokens], of each token in its sequence
  Tensor target_positions = {};    ///< int32 [target tokens]
  /// int32, the target tokens of the last sentence of each pair; undefined where all tokens are such.
  Tensor scored_rows = {};
};

/// Options of TranslationGraphBuilder.
struct TranslationGraphOptions {
  std::int64_t encoder_layers = 1;                     ///< of the model
  std::int64_t decoder_layers = 1;                     ///< of the model
  bool with_relations = true;                          ///< the model has keys for them
  std::int64_t cache_bytes = std::int64_t{128} << 20;  ///< of the graphs that are kept for sequences of equal length
  Device device = Device::cpu();                       ///< of the model
};

/// Makes the graphs of sentence pairs of any lengths. The graph of each length is built once and kept, as long as there
/// is room. May be used from several threads.
class TranslationGraphBuilder {
 public:
  /// Patterns of encoder and decoder, which may be the same. ConfigError for a pattern that reads something else than
  /// its own tokens, and for one of the decoder that has no causal form, stages or a soft span.
  TranslationGraphBuilder(std::shared_ptr<const GraphGenerator> encoder, std::shared_ptr<const GraphGenerator> decoder,
                          const TranslationGraphOptions& options = {});

  /// At least one pair, each with as many sentences on both sides and at least one token in all on each side;
  /// ConfigError otherwise. O(nodes + edges).
  TranslationGraph build(std::span<const SentenceLengths> pairs) const;
  /// The same without what only the decoder needs, for translating.
  TranslationGraph build_source(std::span<const SentenceLengths> pairs) const;

  /// The decoder's graph of one target with these sentences, the last of which may be longer than it will become.
  AttentionGraph build_target(std::span<const std::int64_t> sentences) const;
  /// Whether that graph depends on more than the number of its tokens.
  bool decoder_reads_sentences() const { return decoder_reads_sentences_; }

  /// The patterns, which keep their graphs; the options given.
  const std::shared_ptr<const GraphGenerator>& encoder_generator() const { return encoder_; }
  const std::shared_ptr<const GraphGenerator>& decoder_generator() const { return decoder_; }
  const TranslationGraphOptions& options() const { return options_; }

 private:
  std::shared_ptr<const GraphGenerator> encoder_, decoder_, cross_;
  bool encoder_reads_sentences_, decoder_reads_sentences_;
  TranslationGraphOptions options_;
};

/// Options of TranslationModel.
struct TranslationModelOptions {
  std::int64_t source_vocabulary = 0;               ///< number of source tokens
  std::int64_t target_vocabulary = 0;               ///< number of target tokens
  nn::GraphTransformerOptions encoder = {};         ///< its layers; for_graph makes what the pattern decides
  nn::GraphTransformerDecoderOptions decoder = {};  ///< its layers, of the same width
  /// Between the embeddings and the first layer of both, which share its normalisation and trained positions; its width
  /// is that of the layers.
  nn::InputLayerOptions input = {};
  double input_scale = 1;          ///< embeddings are multiplied by this times the root of the width
  bool shared_embeddings = false;  ///< one table for source and target, which then have the same tokens
  bool tied = true;                ///< the output projection is the target embedding
  double output_dropout = 0;       ///< on the rows that the output projection reads; p_c of the paper
};

/// Translates: embeddings, an encoder over the source, a decoder over the target, scores of the next target token.
///
///     const std::shared_ptr<const GraphGenerator> pattern = generators().make("bpt", {{"k", 4}});
///     const TranslationGraphBuilder builder(pattern, pattern, {.encoder_layers = 3, .decoder_layers = 3});
///     const auto encoder = nn::GraphTransformerOptions::for_graph(
///         *pattern, 128, {.layers = 3, .layer = {.dim = 192, .heads = 6, .feed_forward = 512}});
///     TranslationModel model({.source_vocabulary = 8000, .target_vocabulary = 8000, .encoder = encoder,
///                             .decoder = {.layers = 3, .layer = encoder.layer}});
///     const TranslationGraph graph = builder.build({{SentenceLengths{{7}, {9}}, SentenceLengths{{5}, {4}}}});
///     const Tensor loss = cross_entropy(model.forward(graph, source, target), next_target);
class TranslationModel : public nn::Module {
 public:
  /// Makes the parameters. ConfigError for options that make no model: widths that differ, shared embeddings of
  /// different sizes.
  explicit TranslationModel(const TranslationModelOptions& options);

  /// source int32 [source tokens], target int32 [target tokens], pair after pair -> scores of what follows each token
  /// of the last sentence of each pair [scored rows, target_vocabulary].
  Tensor forward(const TranslationGraph& graph, const Tensor& source, const Tensor& target) const;

  /// What the encoder makes of the source, [source tokens, dim].
  Tensor encode(const TranslationGraph& graph, const Tensor& source) const;
  /// What the decoder makes of the target, [target tokens, dim].
  Tensor decode(const TranslationGraph& graph, const Tensor& target, const Tensor& encoded) const;
  /// What the first layer of the decoder reads of tokens at positions, both int32 [rows] -> [rows, dim].
  Tensor embed_target(const Tensor& tokens, const Tensor& positions) const;
  /// What the decoder made of some tokens -> scores of what follows them: output_part() after the dropout.
  Tensor scores(const Tensor& states) const;
  LinearPart output_part() const;

  /// The layers, and the options given.
  const nn::GraphTransformer& encoder() const { return encoder_; }
  const nn::GraphTransformerDecoder& decoder() const { return decoder_; }
  const TranslationModelOptions& options() const { return options_; }

 private:
  Tensor embed(const nn::Embedding& table, const Tensor& tokens, const Tensor& positions) const;

  TranslationModelOptions options_;
  nn::Embedding target_embedding_;
  std::unique_ptr<nn::Embedding> source_embedding_;  ///< null where it is shared
  nn::InputLayer input_;
  nn::GraphTransformer encoder_;
  nn::GraphTransformerDecoder decoder_;
  std::unique_ptr<nn::Linear> output_;  ///< null where it is tied
  nn::Dropout output_dropout_;
};

}  // namespace bough
