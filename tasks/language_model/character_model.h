#pragma once

#include <memory>
#include <vector>

#include "bough/nn/graph_transformer.h"
#include "bough/nn/layers.h"
#include "tasks/language_model/token_graph.h"

namespace bough {

struct CharacterModelOptions {
  std::int64_t vocabulary = 0;
  std::int64_t layers = 1;
  nn::GraphTransformerLayerOptions layer = {};
  std::int64_t stages = 1;  ///< of the graph
  double input_scale = 1;   ///< embeddings are multiplied by this times the root of the width
  bool tied = true;         ///< the output projection is the embedding
  nn::ActivationPolicy activations = nn::ActivationPolicy::automatic;
};

/// Of the layers inside.
nn::GraphTransformerOptions transformer_options(const CharacterModelOptions& options);

/// Predicts the next character at every token: embedding, a stack of graph attention layers, scores of all characters.
/// Nodes that stand for no character start at zero.
class CharacterModel : public nn::Module {
 public:
  explicit CharacterModel(const CharacterModelOptions& options);

  /// characters int32 [tokens of the batch] -> scores [tokens, vocabulary].
  Tensor forward(const TokenGraph& graph, const Tensor& characters) const;
  /// The same after each layer, the last one last.
  std::vector<Tensor> forward_every_layer(const TokenGraph& graph, const Tensor& characters) const;

  /// What the first layer reads of some characters.
  Tensor embed(const Tensor& characters) const;
  /// What the last layer made of some tokens, normalised -> their scores.
  Tensor scores(const Tensor& states) const;
  const nn::GraphTransformer& transformer() const { return transformer_; }

 private:
  /// What the last layer makes of all tokens; with `below` also what the layers below it make, in order.
  Tensor states(const TokenGraph& graph, const Tensor& tokens, std::vector<Tensor>* below) const;

  CharacterModelOptions options_;
  nn::Embedding embedding_;
  nn::GraphTransformer transformer_;
  std::unique_ptr<nn::Linear> output_;
};

}  // namespace bough
