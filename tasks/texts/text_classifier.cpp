#include "tasks/texts/text_classifier.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/compare.h"
#include "bough/ops/rows.h"
#include "bough/ops/segment.h"
#include "tasks/texts/word_table.h"

namespace bough {
namespace {

/// Of embeddings that are trained from nothing.
constexpr double embedding_deviation = 0.1;

nn::InputLayerOptions of_width(nn::InputLayerOptions input, std::int64_t dim) {
  input.dim = dim;
  return input;
}

/// Width of what the first layer reads of a token.
std::int64_t input_width(const TextClassifierOptions& options) {
  return options.recurrent ? options.recurrent->in : options.transformer.layer.dim;
}

/// Width of what stands for a sequence.
std::int64_t vector_width(const TextClassifierOptions& options) {
  if (!options.recurrent) return options.transformer.layer.dim;
  return options.recurrent->dim * (options.recurrent->bidirectional ? 2 : 1);
}

/// Width of what the classifier reads of a text.
std::int64_t readout_width(const TextClassifierOptions& options) {
  return vector_width(options) * (options.sequences_per_text == 1 ? 1 : 4);
}

}  // namespace

TextClassifier::TextClassifier(const TextClassifierOptions& options)
    : embeddings(randn({options.words, options.embedding_dim}) * embedding_deviation),
      options_(options),
      input_(of_width(options.input, input_width(options))),
      output_({.in = options.hidden > 0 ? options.hidden : readout_width(options), .out = options.classes}),
      output_dropout_(options.output_dropout),
      word_dropout_(options.word_dropout) {
  if (options.sequences_per_text != 1 && options.sequences_per_text != 2) {
    throw ConfigError("classifier", fmt::format("a text has 1 or 2 sequences, not {}", options.sequences_per_text));
  }
  if (options.freeze_embeddings) {
    add_buffer("embeddings", embeddings);
  } else {
    add_parameter("embeddings", embeddings);
  }
  const std::int64_t dim = input_width(options);
  if (options.embedding_dim != dim) {
    projection_ = std::make_unique<nn::Linear>(nn::LinearOptions{.in = options.embedding_dim, .out = dim});
    add_module("projection", *projection_);
  }
  add_module("input", input_);
  if (options.recurrent) {
    recurrent_ = std::make_unique<nn::RecurrentStack>(*options.recurrent);
    add_module("recurrent", *recurrent_);
  } else {
    transformer_ = std::make_unique<nn::GraphTransformer>(options.transformer);
    add_module("transformer", *transformer_);
  }
  if (options.hidden > 0) {
    hidden_ = std::make_unique<nn::Linear>(
        nn::LinearOptions{.in = readout_width(options), .out = options.hidden, .activation = Activation::relu});
    add_module("hidden", *hidden_);
  }
  add_module("output", output_);
  add_module("output_dropout", output_dropout_);
  add_module("word_dropout", word_dropout_);
}

void TextClassifier::set_embeddings(const Tensor& rows) {
  if (rows.shape() != embeddings.shape()) {
    throw ShapeError("classifier", fmt::format("embeddings must be {}, not {}", to_string(embeddings.shape()),
                                               to_string(rows.shape())));
  }
  const NoGrad no_grad;
  nn::Module::NamedTensors own = state();
  for (auto& [name, tensor] : own) {
    if (name == "embeddings") tensor = rows;
  }
  load_state(own);
}

Tensor TextClassifier::words_kept(const SequenceBatch& batch) const {
  Tensor kept;
  if (batch.has_placeholders) {
    std::vector<float> words;
    for (const std::int32_t word : batch.words.to_vector<std::int32_t>()) {
      words.push_back(word == WordTable::placeholder ? 0.0f : 1.0f);
    }
    kept = Tensor::from_vector(words, {std::ssize(words), 1}).to(embeddings.device());
  }
  if (!word_dropout_.active()) return kept;
  if (!kept.defined()) kept = ones({batch.words.size(0), 1}, {.device = embeddings.device()});
  return word_dropout_.forward(kept) * (1 - options_.word_dropout);  // dropout scales what it keeps up
}

Tensor TextClassifier::embed(const SequenceBatch& batch) const {
  Tensor rows = gather_rows(embeddings, batch.words);
  if (const Tensor kept = words_kept(batch); kept.defined()) rows = rows * kept;
  if (projection_ != nullptr) rows = projection_->forward(rows);
  return input_.forward(rows, batch.positions);
}

Tensor TextClassifier::recurrent_states(const SequenceBatch& batch) const {
  Tensor x = embed(batch);
  if (batch.token_nodes.defined()) x = scatter_add_rows(x, batch.token_nodes, batch.recurrent_graph.num_nodes());
  return gather_rows(recurrent_->forward(batch.recurrent_graph, x), batch.readout_rows);
}

Tensor TextClassifier::sequence_vectors(const SequenceBatch& batch) const {
  Tensor nodes = recurrent_ == nullptr ? transformer_->forward(batch.schedule, embed(batch)) : recurrent_states(batch);
  if (!batch.readout_offsets.defined()) return nodes;
  return segment_reduce(nodes, batch.readout_offsets, batch.maximum ? ReduceOp::max : ReduceOp::mean);
}

Tensor TextClassifier::forward(const SequenceBatch& batch) const {
  Tensor read = sequence_vectors(batch);
  if (options_.sequences_per_text == 2) {
    const std::int64_t dim = vector_width(options_), texts = batch.num_sequences / 2;
    const Tensor pairs = read.reshape({texts, 2 * dim});
    const Tensor u = slice(pairs, 1, 0, dim), v = slice(pairs, 1, dim, 2 * dim);
    read = concatenate({pairs, abs(u - v), u * v}, 1);
  }
  read = output_dropout_.forward(read);
  if (hidden_ != nullptr) read = output_dropout_.forward(hidden_->forward(read));
  return output_.forward(read);
}

}  // namespace bough
