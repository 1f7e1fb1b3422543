#include "tasks/texts/classification_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/cross_entropy.h"
#include "tasks/model_kind.h"
#include "tasks/texts/baselines.h"
#include "tasks/texts/batch_order.h"
#include "tasks/texts/class_scores.h"
#include "tasks/texts/made_ahead.h"
#include "tasks/transformer_settings.h"

namespace bough::tasks {
namespace {

using nlohmann::json;

/// An evaluation keeps nothing for backward, so its batches may be larger.
constexpr std::int64_t evaluation_factor = 2;

std::vector<std::int64_t> lengths_of(const EncodedTexts& texts) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t text = 0; text < texts.num_texts(); ++text) lengths.push_back(texts.length(text));
  return lengths;
}

/// Places in a course of training; ordered for MadeAhead.
struct BatchKey {
  std::int64_t step = 1, part = 0;
  auto operator<=>(const BatchKey&) const = default;
};

/// Graph and labels of some texts.
struct LabelledBatch {
  SequenceBatch sequences;
  std::vector<std::int32_t> labels;
};

/// What an evaluation reads, in an order that suits it.
struct EvaluationTexts {
  const EncodedTexts* texts;
  std::vector<std::vector<std::int32_t>> batches;
};

class ClassificationRun : public TrainingRun {
 public:
  ClassificationRun(const RunSettings& settings, LabelledCorpus corpus);
  ~ClassificationRun() override { ahead_.clear(); }
  ClassificationRun(const ClassificationRun&) = delete;
  ClassificationRun& operator=(const ClassificationRun&) = delete;

  RunFacts facts() const override;
  nn::Module& model() override { return model_; }
  std::int64_t steps_per_epoch() const override { return order_.batches_per_epoch(); }
  Batch batch(std::int64_t step, std::int64_t part) override;
  Tensor loss(const Batch& batch, StepPosition at) override;
  double count(const Batch& batch) const override { return static_cast<double>(batch[0].elements()); }
  json evaluate(Split split) override;
  std::map<std::string, std::string> notes() const override;
  std::vector<std::string> remarks() const override { return corpus_.remarks; }
  std::vector<Bound> bounds() const override;

 private:
  struct Seeded {
    explicit Seeded(std::uint64_t seed) { manual_seed(seed); }
  };

  ClassifierSize model_size() const;
  RunFacts recurrent_facts() const;
  /// On average.
  double tokens_per_step() const {
    return static_cast<double>(corpus_.train.words.size()) / static_cast<double>(order_.batches_per_epoch());
  }
  /// What it costs to score these texts, in training steps.
  double evaluation_steps(const EncodedTexts& texts) const {
    return static_cast<double>(texts.words.size()) / tokens_per_step() / 3;
  }
  LabelledBatch make_batch(const EncodedTexts& texts, std::span<const std::int32_t> chosen,
                           std::int64_t placeholders) const;
  LabelledBatch training_batch(const BatchKey& key) const;
  BatchKey after(const BatchKey& key) const;
  ClassScores score(const EvaluationTexts& texts, std::int64_t placeholders);
  EvaluationTexts evaluation_of(const EncodedTexts& texts) const;

  RunSettings settings_;
  LabelledCorpus corpus_;
  std::int64_t parts_, tokens_per_batch_, shifts_;
  double label_smoothing_;
  Seeded seeded_;
  std::shared_ptr<const GraphGenerator> generator_;
  SequenceBatcher batcher_;
  TextClassifierOptions model_options_;
  TextClassifier model_;
  BatchOrder order_;
  EvaluationTexts valid_, test_;
  AttentionGraph typical_;  ///< of a text of task.degree_length words
  SequenceBatch current_;   ///< of the batch that was given last
  MadeAhead<BatchKey, LabelledBatch> ahead_;
};

bool are_pairs(const LabelledCorpus& corpus) { return corpus.train.sequences_per_text == 2; }

BatchOrderOptions order_options(const RunSettings& settings) {
  return {.tokens_per_batch = settings.train.integer("tokens_per_batch"),
          .texts_per_batch = settings.train.optional_integer("texts_per_batch"),
          .length_buckets = settings.train.integer("length_buckets"),
          .seed = static_cast<std::uint64_t>(settings.train.integer("seed"))};
}

ClassificationRun::ClassificationRun(const RunSettings& settings, LabelledCorpus corpus)
    : settings_(settings),
      corpus_(std::move(corpus)),
      parts_(settings.train.integer("gradient_accumulation")),
      tokens_per_batch_(settings.train.integer("tokens_per_batch")),
      shifts_(settings.task.values().contains("shifts") ? settings.task.integer("shifts") : 0),
      label_smoothing_(settings.train.number("label_smoothing")),
      seeded_(static_cast<std::uint64_t>(settings.train.integer("seed"))),
      generator_(generators().make(settings.graph)),
      batcher_(generator_, batcher_options(settings.model, are_pairs(corpus_), settings.device)),
      model_options_(classifier_options(settings.model, *generator_, model_size())),
      model_(model_options_),
      order_(lengths_of(corpus_.train), order_options(settings)),
      valid_(evaluation_of(corpus_.valid)),
      test_(evaluation_of(corpus_.test)),
      typical_(batcher_.generator().build(
          {.length = generator_->fixed_length().value_or(settings.task.integer("degree_length"))})),
      ahead_([this](const BatchKey& key) { return training_batch(key); }) {
  if (order_.smallest_batch() < parts_) {
    throw ConfigError("train", fmt::format("gradient_accumulation = {} is more than the {} texts of the smallest batch",
                                           parts_, order_.smallest_batch()));
  }
  if (corpus_.vectors.defined()) model_.set_embeddings(corpus_.vectors);
  model_.to(settings_.device);
}

ClassifierSize ClassificationRun::model_size() const {
  return {.words = corpus_.words.size(),
          .embedding_dim = corpus_.vectors.defined() ? corpus_.vectors.size(1) : embedding_width(settings_.model),
          .longest = corpus_.longest + shifts_,
          .classes = std::ssize(corpus_.labels),
          .pairs = are_pairs(corpus_),
          .published = corpus_.vectors.defined()};
}

EvaluationTexts ClassificationRun::evaluation_of(const EncodedTexts& texts) const {
  return {&texts, evaluation_batches(lengths_of(texts), evaluation_factor * tokens_per_batch_ / parts_)};
}

RunFacts ClassificationRun::facts() const {
  if (model_options_.recurrent) return recurrent_facts();
  const auto& layer = model_options_.transformer.layer;
  const auto layers = static_cast<double>(model_options_.transformer.layers);
  const double tokens = tokens_per_step();
  const double per_token = 1 / static_cast<double>(typical_.num_tokens());
  const double nodes = tokens * per_token * static_cast<double>(typical_.graph.num_dst());
  const double edges = tokens * per_token * static_cast<double>(typical_.graph.num_edges());
  const auto stages = static_cast<double>(model_options_.transformer.stages);
  const double forward = layers * layer_operations(layer, stages * nodes, edges) +
                         2 * tokens * static_cast<double>(model_options_.embedding_dim * layer.dim);
  const double dim = static_cast<double>(layer.dim), hidden = static_cast<double>(layer.feed_forward);
  const double activations = nodes / static_cast<double>(parts_) * (dim + layers * stages * (7 * dim + 2 * hidden));
  const std::int64_t parameters = model_.parameter_count();
  return {.attention_degree = attention_degree(typical_),
          .num_nodes = typical_.graph.num_dst(),
          .num_edges = typical_.graph.num_edges(),
          .length = typical_.num_tokens(),
          .parameters = parameters,
          .tokens_per_step = std::llround(tokens),
          .operations_per_step = 3 * forward,
          .validation_steps = evaluation_steps(corpus_.valid),
          .test_steps = static_cast<double>(1 + shifts_) * evaluation_steps(corpus_.test),
          .memory_bytes = static_cast<std::int64_t>(4 * activations) + 16 * parameters};
}

RunFacts ClassificationRun::recurrent_facts() const {
  const double tokens = tokens_per_step();
  // Each weight of the layers meets each token once; gates and states of each are kept.
  const auto& recurrent = *model_options_.recurrent;
  const double weights = static_cast<double>(recurrent.layers * recurrent.dim * recurrent.dim) * 8;
  const double kept = tokens / static_cast<double>(parts_) * static_cast<double>(recurrent.layers * recurrent.dim) * 24;
  const std::int64_t parameters = model_.parameter_count();
  return {.attention_degree = attention_degree(typical_),
          .num_nodes = typical_.graph.num_dst(),
          .num_edges = typical_.graph.num_edges(),
          .length = typical_.num_tokens(),
          .parameters = parameters,
          .tokens_per_step = std::llround(tokens),
          .operations_per_step = 6 * tokens * weights,
          .validation_steps = evaluation_steps(corpus_.valid),
          .test_steps = static_cast<double>(1 + shifts_) * evaluation_steps(corpus_.test),
          .memory_bytes = static_cast<std::int64_t>(4 * kept) + 16 * parameters};
}

LabelledBatch ClassificationRun::make_batch(const EncodedTexts& texts, std::span<const std::int32_t> chosen,
                                            std::int64_t placeholders) const {
  LabelledBatch batch;
  std::vector<std::span<const std::int32_t>> sequences;
  for (const std::int32_t text : chosen) {
    for (std::int64_t i = 0; i < texts.sequences_per_text; ++i) {
      sequences.push_back(texts.sequence(text * texts.sequences_per_text + i));
    }
    batch.labels.push_back(texts.labels[static_cast<std::size_t>(text)]);
  }
  batch.sequences = batcher_.make(sequences, placeholders);
  return batch;
}

LabelledBatch ClassificationRun::training_batch(const BatchKey& key) const {
  const std::vector<std::int32_t> texts = order_.batch(key.step);
  const auto count = std::ssize(texts);
  const std::int64_t begin = count * key.part / parts_, end = count * (key.part + 1) / parts_;
  return make_batch(corpus_.train,
                    std::span(texts).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
                    0);
}

BatchKey ClassificationRun::after(const BatchKey& key) const {
  return key.part + 1 < parts_ ? BatchKey{key.step, key.part + 1} : BatchKey{key.step + 1, 0};
}

Batch ClassificationRun::batch(std::int64_t step, std::int64_t part) {
  const BatchKey key{step, part};
  LabelledBatch made = ahead_.take(key);
  ahead_.begin(after(key));
  current_ = std::move(made.sequences);
  return {Tensor::from_vector(made.labels, {std::ssize(made.labels)}).to(settings_.device)};
}

Tensor ClassificationRun::loss(const Batch& batch, StepPosition) {
  return cross_entropy(model_.forward(current_), batch[0], {.label_smoothing = label_smoothing_});
}

ClassScores ClassificationRun::score(const EvaluationTexts& texts, std::int64_t placeholders) {
  const NoGrad no_grad;
  model_.eval();
  ClassScores scores(corpus_.labels);
  MadeAhead<std::size_t, LabelledBatch> ahead(
      [&](std::size_t place) { return make_batch(*texts.texts, texts.batches[place], placeholders); });
  for (std::size_t i = 0; i < texts.batches.size(); ++i) {
    const LabelledBatch batch = ahead.take(i);
    if (i + 1 < texts.batches.size()) ahead.begin(i + 1);
    scores.add(model_.forward(batch.sequences), batch.labels);
  }
  model_.train();
  return scores;
}

json ClassificationRun::evaluate(Split split) {
  if (split == Split::valid) return score(valid_, 0).summary();
  const ClassScores scores = score(test_, 0);
  json metrics = scores.details();
  if (shifts_ == 0) return metrics;
  metrics["shifts"] = {scores.accuracy()};
  for (std::int64_t shift = 1; shift <= shifts_; ++shift) {
    metrics["shifts"].push_back(score(test_, shift).accuracy());
  }
  return metrics;
}

std::vector<Bound> ClassificationRun::bounds() const {
  const std::int64_t classes = std::ssize(corpus_.labels);
  std::vector<Bound> bounds = {{"most frequent class", majority_accuracy(corpus_.train, corpus_.test, classes)}};
  if (are_pairs(corpus_)) {
    bounds.push_back({"lexical overlap", overlap_accuracy(corpus_.train, corpus_.test, classes)});
  }
  return bounds;
}

std::map<std::string, std::string> ClassificationRun::notes() const {
  return {{words_note, corpus_.words.to_lines()},
          {labels_note, json(corpus_.labels).dump()},
          {longest_note, std::to_string(corpus_.longest + shifts_)}};
}

}  // namespace

std::vector<Parameter> classifier_parameters(bool pairs) {
  std::vector<Parameter> parameters = transformer_parameters();
  std::ranges::move(model_kind_parameters(), std::back_inserter(parameters));
  for (Parameter& parameter : parameters) {
    if (parameter.name == "output_dropout") parameter.help = "share set to zero in what the classifier's layers read";
  }
  parameters.push_back(choice_parameter("readout",
                                        "what stands for a text: summary: the pattern's root, else the mean of its "
                                        "block nodes or tokens; root; tokens: their mean; maximum: of the tokens",
                                        sequence_readout_names()));
  parameters.push_back(integer_parameter("hidden", "width of a hidden layer between read-out and classes; 0 = none",
                                         {.initial = pairs ? 200 : 0, .largest = 65536}));
  parameters.push_back(integer_parameter("embedding_dim",
                                         "width of embeddings that have no published vectors; default: dim",
                                         {.smallest = 1, .largest = 65536}));
  parameters.push_back(
      boolean_parameter("freeze_embeddings", "with published vectors, train none of the embeddings", true));
  if (pairs) {
    parameters.push_back(boolean_parameter(
        "cross", "after each layer over its own sentence, each node attends to the tokens of the other sentence",
        true));
  }
  return parameters;
}

std::vector<Parameter> classification_train_parameters() {
  return {
      integer_parameter("tokens_per_batch", "tokens of one step, about", {.initial = 4096, .smallest = 1}),
      integer_parameter("texts_per_batch", "texts of one step, instead of tokens_per_batch", {.smallest = 1}),
      integer_parameter("length_buckets",
                        "texts are divided by length into at most so many parts, and a batch is of one of them: its "
                        "texts take about equal time. 1 mixes all lengths, which trains better where the class goes "
                        "with the length, as in phrases of a tree",
                        {.initial = 16, .smallest = 1, .largest = 1024}),
      choice_parameter("best_by", "which number of the validation texts decides between checkpoints",
                       {"accuracy", "loss"}),
      number_parameter("label_smoothing", "share of the target that is spread evenly over all classes",
                       {.initial = 0.0, .minimum = 0, .maximum = 0.999})};
}

void check_classification(const RunSettings& settings) {
  check_labelled_corpus(settings.task);
  check_model_kind(settings.model, classifier_parameters(reads_pairs(settings.task)));
  if (!is_recurrent(settings.model)) check_transformer(settings.model);
  if (settings.train.boolean("captured")) {
    throw ConfigError("train",
                      "captured steps have one graph, but texts have different lengths; set captured to false");
  }
}

Metric accuracy_metric() { return {.name = "accuracy", .label = "accuracy", .lower_is_better = false}; }

Metric classification_selection(const RunSettings& settings) {
  if (settings.train.string("best_by") == "accuracy") return accuracy_metric();
  return {.name = "loss", .label = "cross entropy"};
}

std::int64_t embedding_width(const Settings& model) {
  return model.optional_integer("embedding_dim").value_or(model.integer("dim"));
}

SequenceBatcherOptions batcher_options(const Settings& model, bool pairs, Device device) {
  const bool recurrent = is_recurrent(model);
  return {.layers = model.integer("layers"),
          .readout = parse_sequence_readout(model.string("readout")),
          .cross = pairs && !recurrent && model.boolean("cross"),
          .with_relations = nn::uses_relations(input_layer_options(model, 1).positions),
          .recurrent = recurrent ? std::optional(recurrent_options(model)) : std::nullopt,
          .device = device};
}

TextClassifierOptions classifier_options(const Settings& model, const GraphGenerator& generator, ClassifierSize size) {
  TextClassifierOptions options{.words = size.words,
                                .embedding_dim = size.embedding_dim,
                                .freeze_embeddings = size.published && model.boolean("freeze_embeddings"),
                                .input = input_layer_options(model, size.longest),
                                .sequences_per_text = size.pairs ? 2 : 1,
                                .hidden = model.integer("hidden"),
                                .output_dropout = model.number("output_dropout"),
                                .classes = size.classes};
  if (is_recurrent(model)) {
    options.recurrent = recurrent_options(model);
    return options;
  }
  options.transformer = transformer_options(model, generator, size.longest);
  if (size.pairs && model.boolean("cross")) {
    ++options.transformer.stages;
    if (!options.transformer.layer.ignore_relations) ++options.transformer.layer.num_relations;
  }
  return options;
}

std::unique_ptr<TrainingRun> start_classification(const RunSettings& settings) {
  require_memory_for(settings.model, settings.device);
  return std::make_unique<ClassificationRun>(
      settings, load_labelled_corpus(settings.task, settings.data_folders,
                                     static_cast<std::uint64_t>(settings.train.integer("seed"))));
}

}  // namespace bough::tasks
