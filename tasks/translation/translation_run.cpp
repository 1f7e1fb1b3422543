#include "tasks/translation/translation_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/ops/cross_entropy.h"
#include "bough/tasks/translation_scores.h"
#include "tasks/texts/batch_order.h"
#include "tasks/texts/made_ahead.h"
#include "tasks/transformer_settings.h"
#include "tasks/translation/translation.h"
#include "tasks/translation/translation_corpus.h"
#include "tasks/translation/translator.h"

namespace bough::tasks {
namespace {

using nlohmann::json;

/// Pairs, prepared for a model, and what should follow each token of their last sentences.
struct TranslationBatch {
  TranslationGraph graph = {};
  Tensor source = {}, target = {}, next = {};
};

std::vector<std::int64_t> window_lengths(const TranslationPairs& pairs, std::int64_t context) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < pairs.size(); ++i) lengths.push_back(pairs.window_length(i, context));
  return lengths;
}

double tokens_of(const std::vector<std::int64_t>& lengths) {
  return static_cast<double>(std::reduce(lengths.begin(), lengths.end()));
}

/// What is known of the graphs of sentences of task.degree_length tokens with their context.
struct TypicalGraphs {
  AttentionGraph encoder, decoder;
  double cross_edges = 0;
};

class TranslationRun : public TrainingRun {
 public:
  TranslationRun(const RunSettings& settings, TranslationCorpus corpus);

  RunFacts facts() const override;
  nn::Module& model() override { return model_; }
  std::int64_t steps_per_epoch() const override { return order_.batches_per_epoch(); }
  Batch batch(std::int64_t step, std::int64_t part) override;
  Tensor loss(const Batch& batch, StepPosition at) override;
  double count(const Batch& batch) const override { return static_cast<double>(batch[2].elements()); }
  json evaluate(Split split) override;
  std::map<std::string, std::string> notes() const override { return notes_of(corpus_.vocabulary); }
  std::vector<std::string> remarks() const override { return corpus_.remarks; }

 private:
  struct Seeded {
    explicit Seeded(std::uint64_t seed) { manual_seed(seed); }
  };

  TranslationBatch make(const TranslationPairs& pairs, std::span<const std::int32_t> chosen) const;
  TranslationBatch training_batch(const PartOfStep& key) const;
  double pairs_per_step() const {
    return static_cast<double>(corpus_.train.size()) / static_cast<double>(order_.batches_per_epoch());
  }
  /// Operations of one forward pass over the typical pair, and numbers that a training step keeps of it.
  double operations_of_a_pair() const;
  double numbers_kept_of_a_pair() const;
  TypicalGraphs typical_graphs() const;
  /// Mean cross entropy of the target tokens, in nats.
  double mean_loss(const TranslationPairs& pairs) const;
  json bleu(const TranslationPairs& pairs, const ParallelText& text, const SearchOptions& options) const;

  RunSettings settings_;
  TranslationCorpus corpus_;
  std::int64_t context_, parts_;
  double label_smoothing_;
  TranslationPatterns patterns_;
  Seeded seeded_;
  TranslationModel model_;
  TranslationGraphBuilder graphs_;
  TypicalGraphs typical_;
  BatchOrder order_;
  TranslationGraph current_;                       ///< of the batch that was given last
  MadeAhead<PartOfStep, TranslationBatch> ahead_;  ///< the last member: it waits for what reads the others
};

TranslationRun::TranslationRun(const RunSettings& settings, TranslationCorpus corpus)
    : settings_(settings),
      corpus_(std::move(corpus)),
      context_(settings.task.integer("context")),
      parts_(settings.train.integer("gradient_accumulation")),
      label_smoothing_(settings.train.number("label_smoothing")),
      patterns_(translation_patterns(settings.model, settings.graph)),
      seeded_(static_cast<std::uint64_t>(settings.train.integer("seed"))),
      model_(translation_model_options(settings.model, patterns_, corpus_.vocabulary, longest_sequence(settings.task))),
      graphs_(patterns_.encoder, patterns_.decoder, translation_graph_options(model_.options(), settings.device)),
      typical_(typical_graphs()),
      order_(window_lengths(corpus_.train, context_),
             {.tokens_per_batch = settings.train.integer("tokens_per_batch"),
              .length_buckets = settings.train.integer("length_buckets"),
              .seed = static_cast<std::uint64_t>(settings.train.integer("seed"))}),
      ahead_([this](const PartOfStep& key) { return training_batch(key); }) {
  if (order_.smallest_batch() < parts_) {
    throw ConfigError("train", fmt::format("gradient_accumulation = {} is more than the {} pairs of the smallest batch",
                                           parts_, order_.smallest_batch()));
  }
  model_.to(settings_.device);
}

TypicalGraphs TranslationRun::typical_graphs() const {
  const std::int64_t wanted = settings_.task.integer("degree_length");
  const auto graph = [&](const GraphGenerator& generator, bool causal) {
    return build_checked(generator, {.length = generator.fixed_length().value_or(wanted + context_), .causal = causal});
  };
  return {.encoder = graph(*graphs_.encoder_generator(), false),
          .decoder = graph(*graphs_.decoder_generator(), true),
          .cross_edges = static_cast<double>(wanted * (wanted + context_))};
}

double TranslationRun::operations_of_a_pair() const {
  const TranslationModelOptions& options = model_.options();
  const auto of = [](const AttentionGraph& graph, const nn::GraphTransformerLayerOptions& layer, std::int64_t layers) {
    return static_cast<double>(layers) * layer_operations(layer, static_cast<double>(graph.graph.num_nodes()),
                                                          static_cast<double>(graph.graph.num_edges()));
  };
  const double dim = static_cast<double>(options.encoder.layer.dim);
  const double source = static_cast<double>(typical_.encoder.num_tokens()),
               target = static_cast<double>(typical_.decoder.num_tokens());
  // Four projections, half of them of the source; q.k and p.v of each edge.
  const double cross = 2 * (2 * (source + target) * dim * dim + 2 * typical_.cross_edges * dim);
  return of(typical_.encoder, options.encoder.layer, options.encoder.layers) +
         of(typical_.decoder, options.decoder.layer, options.decoder.layers) +
         static_cast<double>(options.decoder.layers) * cross +
         2 * dim * static_cast<double>(options.target_vocabulary * settings_.task.integer("degree_length"));
}

double TranslationRun::numbers_kept_of_a_pair() const {
  const TranslationModelOptions& options = model_.options();
  const double dim = static_cast<double>(options.encoder.layer.dim);
  const auto hidden = static_cast<double>(options.encoder.layer.feed_forward);
  const auto of = [&](const AttentionGraph& graph, std::int64_t layers, double rows) {
    return static_cast<double>(graph.graph.num_nodes()) *
           (dim + static_cast<double>(layers) * (rows * dim + 2 * hidden));
  };
  return of(typical_.encoder, options.encoder.layers, 7) + of(typical_.decoder, options.decoder.layers, 12) +
         2 * static_cast<double>(options.target_vocabulary * settings_.task.integer("degree_length"));
}

RunFacts TranslationRun::facts() const {
  const std::int64_t parameters = model_.parameter_count();
  const double step = pairs_per_step();
  const double target_tokens =
      static_cast<double>(std::ssize(corpus_.train.target.tokens)) / static_cast<double>(corpus_.train.size());
  // The typical pair stands for all, in proportion to their tokens.
  const double typical_tokens = static_cast<double>(typical_.encoder.num_tokens() + typical_.decoder.num_tokens());
  const double train_tokens = tokens_of(window_lengths(corpus_.train, context_));
  const double pairs_like_it = train_tokens / typical_tokens / static_cast<double>(order_.batches_per_epoch());
  const auto evaluation = [&](const TranslationPairs& pairs, std::int64_t hypotheses) {
    const double share =
        tokens_of(window_lengths(pairs, context_)) / train_tokens * static_cast<double>(order_.batches_per_epoch());
    return share * (1 + static_cast<double>(hypotheses)) / 3;
  };
  return {.attention_degree = attention_degree(typical_.encoder),
          .num_nodes = typical_.encoder.graph.num_nodes(),
          .num_edges = typical_.encoder.graph.num_edges(),
          .length = typical_.encoder.num_tokens(),
          .parameters = parameters,
          .tokens_per_step = std::llround(step * target_tokens),
          .operations_per_step = 3 * pairs_like_it * operations_of_a_pair(),
          .validation_steps = evaluation(corpus_.valid, 1),
          .test_steps = evaluation(corpus_.test, settings_.task.integer("beam")),
          .memory_bytes =
              static_cast<std::int64_t>(4 * numbers_kept_of_a_pair() * pairs_like_it / static_cast<double>(parts_)) +
              16 * parameters};
}

TranslationBatch TranslationRun::make(const TranslationPairs& pairs, std::span<const std::int32_t> chosen) const {
  std::vector<SentenceLengths> lengths;
  std::vector<std::int32_t> source, target, next;
  for (const std::int32_t pair : chosen) {
    TranslationWindow window = pairs.window(pair, context_);
    source.insert(source.end(), window.source.begin(), window.source.end());
    target.insert(target.end(), window.target.begin(), window.target.end());
    append_targets(pairs.target.sentence(pair), corpus_.vocabulary.target.end(), next);
    lengths.push_back(std::move(window.lengths));
  }
  const auto tensor = [this](const std::vector<std::int32_t>& ids) {
    return Tensor::from_vector(ids, {std::ssize(ids)}).to(settings_.device);
  };
  return {.graph = graphs_.build(lengths), .source = tensor(source), .target = tensor(target), .next = tensor(next)};
}

TranslationBatch TranslationRun::training_batch(const PartOfStep& key) const {
  return make(corpus_.train, order_.batch(key, parts_));
}

Batch TranslationRun::batch(std::int64_t step, std::int64_t part) {
  const PartOfStep key{step, part};
  TranslationBatch made = ahead_.take(key);
  ahead_.begin(key.next(parts_));
  current_ = std::move(made.graph);
  return {made.source, made.target, made.next};
}

Tensor TranslationRun::loss(const Batch& batch, StepPosition) {
  return cross_entropy(model_.forward(current_, batch[0], batch[1]), batch[2], {.label_smoothing = label_smoothing_});
}

double TranslationRun::mean_loss(const TranslationPairs& pairs) const {
  // An evaluation keeps nothing for backward, so its batches may be larger.
  const std::int64_t tokens = 2 * settings_.train.integer("tokens_per_batch") / parts_;
  const auto batches = evaluation_batches(window_lengths(pairs, context_), tokens);
  MadeAhead<std::size_t, TranslationBatch> ahead([&](std::size_t place) { return make(pairs, batches[place]); });
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const TranslationBatch batch = ahead.take(i);
    if (i + 1 < batches.size()) ahead.begin(i + 1);
    const Tensor scores = model_.forward(batch.graph, batch.source, batch.target);
    sum += cross_entropy(scores, batch.next, {.reduction = Reduction::sum}).item<double>();
    count += static_cast<double>(batch.next.elements());
  }
  return sum / count;
}

json TranslationRun::bleu(const TranslationPairs& pairs, const ParallelText& text, const SearchOptions& options) const {
  Translator translator(model_, graphs_, corpus_.vocabulary.target, context_, settings_.task.integer("max_length"));
  DocumentContext open(context_);
  const auto found = translator.translate(pairs.source, pairs.documents, options, open);
  std::vector<std::string> translations;
  for (const std::vector<TokenHypothesis>& hypotheses : found) {
    translations.push_back(corpus_.vocabulary.target.decode(hypotheses.front().tokens));
  }
  const std::vector<std::string> references(text.target.begin(), text.target.begin() + pairs.size());
  const BleuScore score = corpus_bleu(translations, references, {.tokenize = settings_.task.string("tokenize")});
  return {{"bleu", score.score}, {"signature", score.signature}, {"brevity_penalty", score.brevity_penalty}};
}

json TranslationRun::evaluate(Split split) {
  const NoGrad no_grad;
  model_.eval();
  const bool test = split == Split::test;
  const TranslationPairs& pairs = test ? corpus_.test : corpus_.valid;
  const double loss = mean_loss(pairs);
  json metrics =
      test ? bleu(pairs, corpus_.test_text,
                  {.beam = settings_.task.integer("beam"), .length_penalty = settings_.task.number("length_penalty")})
           : bleu(pairs.first(settings_.train.integer("valid_sentences")), corpus_.valid_text, {.beam = 1});
  if (!test) metrics.erase("signature");  // it would stand at every point of the curve
  metrics["loss"] = loss;
  // Of a model that has diverged it overflows before the loss does, which tells so.
  metrics["perplexity"] = std::min(std::exp(loss), std::numeric_limits<double>::max());
  model_.train();
  return metrics;
}

}  // namespace

std::unique_ptr<TrainingRun> start_translation_run(const RunSettings& settings) {
  std::optional<TranslationVocabulary> vocabulary;
  if (!settings.checkpoint.empty()) {
    vocabulary = vocabulary_from_notes(nn::load_tensors(settings.checkpoint).metadata);
  }
  return std::make_unique<TranslationRun>(
      settings, load_translation_corpus(settings.task, settings.data_folders, std::move(vocabulary)));
}

}  // namespace bough::tasks
