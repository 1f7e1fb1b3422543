#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bough/nn/graph_transformer.h"
#include "bough/nn/input_layer.h"
#include "bough/nn/layers.h"
#include "bough/nn/recurrent_stack.h"
#include "tasks/texts/sequence_batch.h"

namespace bough {

/// Options of TextClassifier.
struct TextClassifierOptions {
  std::int64_t words = 0;          ///< rows of the embedding table
  std::int64_t embedding_dim = 0;  ///< width of a row; if it is not that of the layers, rows are projected
  bool freeze_embeddings = false;  ///< the table is not trained
  /// Share of the words whose embedding is zero in a training step; the others stay as they are. A model that has seen
  /// it knows what a position without a word means, and leans less on single words.
  double word_dropout = 0;
  nn::GraphTransformerOptions transformer = {};  ///< the layers
  /// Instead of the transformer, which is not made then: recurrent layers along the graph.
  std::optional<nn::RecurrentStackOptions> recurrent = {};
  nn::InputLayerOptions input = {};     ///< between embeddings and layers; its width is that of the layers
  std::int64_t sequences_per_text = 1;  ///< 2 for pairs of sentences
  std::int64_t hidden = 0;              ///< of the classifier; 0: it has one layer, from read-out to scores
  double output_dropout = 0;            ///< on what the classifier's layers read; p_c of the paper
  std::int64_t classes = 0;
};

/// Judges texts: embedding, input layer, a stack of graph attention or recurrent layers, read-out of each sequence,
/// scores of the classes. The vectors u, v of a pair of sentences are read as [u, v, |u - v|, u v].
class TextClassifier : public nn::Module {
 public:
  /// ConfigError for options that make no model.
  explicit TextClassifier(const TextClassifierOptions& options);

  /// The texts of a batch, each of sequences_per_text sequences -> scores of the classes [texts, classes].
  Tensor forward(const SequenceBatch& batch) const;

  const TextClassifierOptions& options() const { return options_; }
  /// There is none in a recurrent model.
  const nn::GraphTransformer& transformer() const { return *transformer_; }
  /// Sets the embeddings of all words, [words, embedding_dim].
  void set_embeddings(const Tensor& rows);
  /// What the first layer reads of each token, [tokens, width of the layers].
  Tensor embed(const SequenceBatch& batch) const;

  Tensor embeddings;  ///< [words, embedding_dim]; a buffer if it is not trained

 private:
  /// By token [tokens, 1], 1 or 0: whether its embedding is read; undefined where all are.
  Tensor words_kept(const SequenceBatch& batch) const;
  /// Of the read-out nodes. Nodes without a token read zeros.
  Tensor recurrent_states(const SequenceBatch& batch) const;
  Tensor sequence_vectors(const SequenceBatch& batch) const;

  TextClassifierOptions options_;
  std::unique_ptr<nn::Linear> projection_;
  nn::InputLayer input_;
  std::unique_ptr<nn::GraphTransformer> transformer_;
  std::unique_ptr<nn::RecurrentStack> recurrent_;
  std::unique_ptr<nn::Linear> hidden_;
  nn::Linear output_;
  nn::Dropout output_dropout_, word_dropout_;
};

}  // namespace bough
