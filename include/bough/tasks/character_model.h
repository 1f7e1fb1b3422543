#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "bough/nn/batched_decoder.h"
#include "bough/nn/decoding.h"
#include "bough/nn/graph_transformer.h"
#include "bough/nn/input_layer.h"
#include "bough/nn/layers.h"
#include "bough/nn/recurrent_decoder.h"
#include "bough/nn/recurrent_stack.h"
#include "bough/ops/packed_linear.h"
#include "bough/tasks/token_graph.h"

namespace bough {

/// Options of CharacterModel.
struct CharacterModelOptions {
  std::int64_t vocabulary = 0;                   ///< number of characters
  nn::GraphTransformerOptions transformer = {};  ///< the layers; for_graph makes what the pattern decides
  /// Recurrent layers instead of the transformer; their input has the width dim.
  std::optional<nn::RecurrentStackOptions> recurrent = {};
  double input_scale = 1;  ///< embeddings are multiplied by this times the root of the width
  bool tied = true;        ///< the output projection is the embedding
  /// Between the embeddings and the first layer; its width is that of the layers. Whether these look at relations is
  /// for the transformer to say: ignore_relations = !uses_relations(input.positions).
  nn::InputLayerOptions input = {};
  double output_dropout = 0;  ///< on the rows that the output projection reads; p_c of the paper

  /// Width and number of the layers, whichever they are.
  std::int64_t dim() const { return recurrent ? recurrent->dim : transformer.layer.dim; }
  std::int64_t layers() const { return recurrent ? recurrent->layers : transformer.layers; }
};

/// Predicts the next character at every token: embedding, input layer (positions, dropout, norm), a stack of graph
/// attention or recurrent layers, scores of all characters. Recurrent layers start from zeros in each window.
///
///     const auto pattern = generators().make("bpt", {{"k", 4}});
///     const TokenGraph graph(*pattern, 512, 8, 4);  // 8 windows of 512 characters, for 4 layers
///     CharacterModel model({.vocabulary = vocabulary.size(),
///                           .transformer = nn::GraphTransformerOptions::for_graph(
///                               *pattern, 512, {.layers = 4, .layer = {.dim = 128, .heads = 4, .feed_forward =
///                               512}})});
///     const Tensor loss = cross_entropy(model.forward(graph, characters), next_characters);
class CharacterModel : public nn::Module {
 public:
  /// ConfigError for options that make no model.
  explicit CharacterModel(const CharacterModelOptions& options);

  /// characters int32 [tokens of the batch], window after window -> scores of what comes next [tokens, vocabulary].
  /// With `memory` the graph is one of SegmentOptions: the memory is read, and replaced by what the next segment reads.
  Tensor forward(const TokenGraph& graph, const Tensor& characters, nn::SegmentMemory* memory = nullptr) const;
  /// The same after each layer from `first` on, the last one last. ConfigError for recurrent layers, of which the last
  /// alone predicts.
  std::vector<Tensor> forward_every_layer(const TokenGraph& graph, const Tensor& characters, std::int64_t first = 0,
                                          nn::SegmentMemory* memory = nullptr) const;

  /// What the first layer reads of all characters of a batch, as forward takes them.
  Tensor embed(const TokenGraph& graph, const Tensor& characters) const;
  /// What it reads of characters at any positions of their windows, int32 [count] each.
  Tensor embed_at(const Tensor& characters, const Tensor& positions) const;
  /// What the last layer made of some tokens, normalised -> their scores.
  Tensor scores(const Tensor& states) const;
  /// The layer that makes scores of states.
  LinearPart output_part() const;
  /// The layers; ConfigError if they are not of that kind.
  const nn::GraphTransformer& transformer() const;
  const nn::RecurrentStack& recurrent() const;
  const CharacterModelOptions& options() const { return options_; }

 private:
  Tensor embeddings(const Tensor& characters) const;
  /// What the last layer makes of all tokens; with `below` also what the layers below it make, in order.
  Tensor states(const TokenGraph& graph, const Tensor& tokens, nn::SegmentMemory* carried,
                std::vector<Tensor>* below) const;

  CharacterModelOptions options_;
  nn::Embedding embedding_;
  nn::InputLayer input_;
  std::unique_ptr<nn::GraphTransformer> transformer_;  ///< this or the next
  std::unique_ptr<nn::RecurrentStack> recurrent_;
  std::unique_ptr<nn::Linear> output_;
  nn::Dropout output_dropout_;
};

/// Reads texts character by character and predicts the next one each time, for one text or many side by side: see
/// nn::BatchedDecoder and nn::RecurrentDecoder. The same scores as the model on the whole window, to rounding. Searches
/// of bough/nn/decoding.h write with it.
class CharacterDecoder : public nn::NextTokenScorer {
 public:
  /// generator: the pattern the model was trained with, which load_character_model gives beside it; length: the longest
  /// text. It begins with one text. The model must outlive the decoder. ConfigError for patterns that cannot be
  /// decoded, and for a pattern or length with more relations than the model has keys for.
  CharacterDecoder(const CharacterModel& model, const GraphGenerator& generator, std::int64_t length);
  /// The same on a graph of one text, such as window_graph or carried_graph.
  CharacterDecoder(const CharacterModel& model, AttentionGraph graph);

  /// Scores of the next character of the one text there is, [vocabulary], on the device of the model. IndexError once
  /// `length` characters have been read, ShapeError with another number of texts.
  Tensor read(std::int32_t character);
  /// Text i reads all of characters[i], without scores. Recurrent layers read all texts in step: ShapeError unless
  /// there are as many characters for each of them.
  void read(std::span<const std::vector<std::int32_t>> characters);

  /// One character for each text -> scores [size(), vocabulary].
  Tensor score(std::span<const std::int32_t> characters) override;
  void reorder(std::span<const std::int32_t> parents) override;
  std::int64_t size() const override;
  std::int64_t room() const override;

  /// Characters read so far, by the text that has read most.
  std::int64_t position() const { return length() - room(); }
  /// The longest text.
  std::int64_t length() const;
  /// Edges that the last characters made it follow, in each layer; see nn::BatchedDecoder.
  std::int64_t edges_followed() const;
  /// Forgets what was read and begins so many texts.
  void restart(std::int64_t texts = 1);

 private:
  using Decoder = std::variant<nn::BatchedDecoder, nn::RecurrentDecoder>;
  static Decoder decoder_of(const CharacterModel& model, AttentionGraph graph);
  Tensor states(std::span<const std::int32_t> characters, std::span<const std::int64_t> counts);

  const CharacterModel* model_;
  Device device_;
  Decoder decoder_;
  PackedLinear output_;
};

}  // namespace bough
