#pragma once

#include <memory>
#include <vector>

#include "bough/nn/graph_transformer.h"
#include "bough/nn/incremental_decoder.h"
#include "bough/nn/layers.h"
#include "bough/tasks/token_graph.h"

namespace bough {

/// Options of CharacterModel.
struct CharacterModelOptions {
  std::int64_t vocabulary = 0;                   ///< number of characters
  nn::GraphTransformerOptions transformer = {};  ///< the layers; for_graph makes what the pattern decides
  double input_scale = 1;                        ///< embeddings are multiplied by this times the root of the width
  bool tied = true;                              ///< the output projection is the embedding
};

/// Predicts the next character at every token: embedding, a stack of graph attention layers, scores of all characters.
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
  Tensor forward(const TokenGraph& graph, const Tensor& characters) const;
  /// The same after each layer, the last one last.
  std::vector<Tensor> forward_every_layer(const TokenGraph& graph, const Tensor& characters) const;

  /// What the first layer reads of some characters.
  Tensor embed(const Tensor& characters) const;
  /// What the last layer made of some tokens, normalised -> their scores.
  Tensor scores(const Tensor& states) const;
  const nn::GraphTransformer& transformer() const { return transformer_; }
  const CharacterModelOptions& options() const { return options_; }

 private:
  /// What the last layer makes of all tokens; with `below` also what the layers below it make, in order.
  Tensor states(const TokenGraph& graph, const Tensor& tokens, std::vector<Tensor>* below) const;

  CharacterModelOptions options_;
  nn::Embedding embedding_;
  nn::GraphTransformer transformer_;
  std::unique_ptr<nn::Linear> output_;
};

/// Reads a text character by character and predicts the next one each time: see nn::IncrementalDecoder. The same scores
/// as the model on the whole window, to rounding.
class CharacterDecoder {
 public:
  /// length: the longest text, for which the model must have relations. The model must outlive the decoder. ConfigError
  /// for patterns that cannot be decoded or do not fit the model.
  CharacterDecoder(const CharacterModel& model, const GraphGenerator& generator, std::int64_t length);

  /// Scores of the next character, [vocabulary], on the device of the model. IndexError once `length` characters have
  /// been read.
  Tensor read(std::int32_t character);

  std::int64_t position() const { return decoder_.position(); }  ///< characters read so far
  std::int64_t length() const { return decoder_.length(); }      ///< the longest text
  /// Edges that the last character made it follow, in each layer.
  std::int64_t edges_followed() const { return decoder_.edges_followed(); }
  /// Forgets what was read.
  void restart() { decoder_.restart(); }

 private:
  const CharacterModel* model_;
  Device device_;
  nn::IncrementalDecoder decoder_;
};

}  // namespace bough
