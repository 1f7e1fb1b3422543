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
#include "tasks/texts/batch_order.h"
#include "tasks/texts/class_scores.h"
#include "tasks/texts/classifier_data.h"
#include "tasks/texts/made_ahead.h"
#include "tasks/transformer_settings.h"

namespace bough::tasks {
namespace {

using nlohmann::json;

/// An evaluation keeps nothing for backward, so its batches may be larger.
constexpr std::int64_t evaluation_factor = 2;

double words_of(const BatchSource& texts) {
  const std::vector<std::int64_t> lengths = texts.lengths();
  return static_cast<double>(std::reduce(lengths.begin(), lengths.end()));
}

/// What an evaluation reads, in an order that suits it.
struct EvaluationTexts {
  const BatchSource* texts;
  std::vector<std::vector<std::int32_t>> batches;
};

class ClassificationRun : public TrainingRun {
 public:
  ClassificationRun(const RunSettings& settings, const GraphGenerator& generator, ClassifierData data);

  RunFacts facts() const override;
  nn::Module& model() override { return model_; }
  std::int64_t steps_per_epoch() const override { return order_.batches_per_epoch(); }
  Batch batch(std::int64_t step, std::int64_t part) override;
  Tensor loss(const Batch& batch, StepPosition at) override;
  double count(const Batch& batch) const override { return static_cast<double>(batch[0].elements()); }
  json evaluate(Split split) override;
  std::map<std::string, std::string> notes() const override;
  std::vector<std::string> remarks() const override { return data_.remarks; }
  std::vector<Bound> bounds() const override { return data_.bounds; }

 private:
  struct Seeded {
    explicit Seeded(std::uint64_t seed) { manual_seed(seed); }
  };

  ClassifierSize model_size() const;
  double operations_per_step() const;
  /// For backward, by one part of a step.
  double saved_numbers() const;
  /// On average.
  double tokens_per_step() const { return words_of(*data_.train) / static_cast<double>(order_.batches_per_epoch()); }
  /// Nodes of graphs for each token.
  double nodes_per_token() const {
    return static_cast<double>(data_.typical.nodes) / static_cast<double>(data_.typical.tokens);
  }
  /// What it costs to score these texts, in training steps.
  double evaluation_steps(const BatchSource& texts) const { return words_of(texts) / tokens_per_step() / 3; }
  LabelledBatch training_batch(const PartOfStep& key) const;
  ClassScores score(const EvaluationTexts& texts, std::int64_t placeholders);
  EvaluationTexts evaluation_of(const BatchSource& texts) const;

  RunSettings settings_;
  ClassifierData data_;
  std::int64_t parts_, tokens_per_batch_, shifts_;
  double label_smoothing_;
  Seeded seeded_;
  TextClassifierOptions model_options_;
  TextClassifier model_;
  BatchOrder order_;
  EvaluationTexts valid_, test_;
  SequenceBatch current_;                       ///< of the batch that was given last
  MadeAhead<PartOfStep, LabelledBatch> ahead_;  ///< the last member: it waits for what reads the others
};

BatchOrderOptions order_options(const RunSettings& settings) {
  return {.tokens_per_batch = settings.train.integer("tokens_per_batch"),
          .texts_per_batch = settings.train.optional_integer("texts_per_batch"),
          .length_buckets = settings.train.integer("length_buckets"),
          .seed = static_cast<std::uint64_t>(settings.train.integer("seed"))};
}

ClassificationRun::ClassificationRun(const RunSettings& settings, const GraphGenerator& generator, ClassifierData data)
    : settings_(settings),
      data_(std::move(data)),
      parts_(settings.train.integer("gradient_accumulation")),
      tokens_per_batch_(settings.train.integer("tokens_per_batch")),
      shifts_(settings.task.values().contains("shifts") ? settings.task.integer("shifts") : 0),
      label_smoothing_(settings.train.number("label_smoothing")),
      seeded_(static_cast<std::uint64_t>(settings.train.integer("seed"))),
      model_options_(classifier_options(settings.model, generator, model_size())),
      model_(model_options_),
      order_(data_.train->lengths(), order_options(settings)),
      valid_(evaluation_of(*data_.valid)),
      test_(evaluation_of(*data_.test)),
      ahead_([this](const PartOfStep& key) { return training_batch(key); }) {
  if (order_.smallest_batch() < parts_) {
    throw ConfigError("train", fmt::format("gradient_accumulation = {} is more than the {} texts of the smallest batch",
                                           parts_, order_.smallest_batch()));
  }
  if (data_.vectors.defined()) model_.set_embeddings(data_.vectors);
  model_.to(settings_.device);
}

ClassifierSize ClassificationRun::model_size() const {
  return {.words = data_.words.size(),
          .embedding_dim = data_.vectors.defined() ? data_.vectors.size(1) : embedding_width(settings_.model),
          .longest = data_.longest + shifts_,
          .classes = std::ssize(data_.labels),
          .pairs = data_.pairs,
          .published = data_.vectors.defined()};
}

EvaluationTexts ClassificationRun::evaluation_of(const BatchSource& texts) const {
  return {&texts, evaluation_batches(texts.lengths(), evaluation_factor * tokens_per_batch_ / parts_)};
}

double ClassificationRun::operations_per_step() const {
  const double nodes = tokens_per_step() * nodes_per_token();
  // Each weight of recurrent layers meets each node once, in two operations.
  if (model_options_.recurrent) {
    const auto& recurrent = *model_options_.recurrent;
    return 3 * 2 * nodes * static_cast<double>(recurrent.layers * recurrent.dim * recurrent.dim * 8);
  }
  const auto& layer = model_options_.transformer.layer;
  const auto layers = static_cast<double>(model_options_.transformer.layers);
  const auto stages = static_cast<double>(model_options_.transformer.stages);
  const double edges =
      tokens_per_step() * static_cast<double>(data_.typical.edges) / static_cast<double>(data_.typical.tokens);
  return 3 * (layers * layer_operations(layer, stages * nodes, edges) +
              2 * tokens_per_step() * static_cast<double>(model_options_.embedding_dim * layer.dim));
}

double ClassificationRun::saved_numbers() const {
  const double nodes = tokens_per_step() * nodes_per_token() / static_cast<double>(parts_);
  // Gates and states of each node.
  if (model_options_.recurrent) {
    return nodes * static_cast<double>(model_options_.recurrent->layers * model_options_.recurrent->dim) * 24;
  }
  const auto& options = model_options_.transformer;
  const double dim = static_cast<double>(options.layer.dim), hidden = static_cast<double>(options.layer.feed_forward);
  return nodes * (dim + static_cast<double>(options.layers * options.stages) * (7 * dim + 2 * hidden));
}

RunFacts ClassificationRun::facts() const {
  const std::int64_t parameters = model_.parameter_count();
  return {.attention_degree = data_.typical.attention_degree,
          .num_nodes = data_.typical.nodes,
          .num_edges = data_.typical.edges,
          .length = data_.typical.tokens,
          .parameters = parameters,
          .tokens_per_step = std::llround(tokens_per_step()),
          .operations_per_step = operations_per_step(),
          .validation_steps = evaluation_steps(*data_.valid),
          .test_steps = static_cast<double>(1 + shifts_) * evaluation_steps(*data_.test),
          .memory_bytes = static_cast<std::int64_t>(4 * saved_numbers()) + 16 * parameters};
}

LabelledBatch ClassificationRun::training_batch(const PartOfStep& key) const {
  return data_.train->make(order_.batch(key, parts_), 0);
}

Batch ClassificationRun::batch(std::int64_t step, std::int64_t part) {
  const PartOfStep key{step, part};
  LabelledBatch made = ahead_.take(key);
  ahead_.begin(key.next(parts_));
  current_ = std::move(made.sequences);
  return {Tensor::from_vector(made.labels, {std::ssize(made.labels)}).to(settings_.device)};
}

Tensor ClassificationRun::loss(const Batch& batch, StepPosition) {
  return cross_entropy(model_.forward(current_), batch[0], {.label_smoothing = label_smoothing_});
}

ClassScores ClassificationRun::score(const EvaluationTexts& texts, std::int64_t placeholders) {
  const NoGrad no_grad;
  model_.eval();
  ClassScores scores(data_.labels);
  MadeAhead<std::size_t, LabelledBatch> ahead(
      [&](std::size_t place) { return texts.texts->make(texts.batches[place], placeholders); });
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

std::map<std::string, std::string> ClassificationRun::notes() const {
  return {{words_note, data_.words.to_lines()},
          {labels_note, json(data_.labels).dump()},
          {longest_note, std::to_string(data_.longest + shifts_)}};
}

/// Keys of "model"; `pairs` for texts that are two sentences.
std::vector<Parameter> classifier_parameters(bool pairs) {
  std::vector<Parameter> parameters = transformer_parameters();
  std::ranges::move(model_kind_parameters(), std::back_inserter(parameters));
  if (!pairs) parameters.push_back(along_parameter());
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
  parameters.push_back(number_parameter("word_dropout", "share of the words whose whole embedding is set to zero",
                                        {.initial = 0.0, .minimum = 0, .maximum = 0.999}));
  if (pairs) {
    parameters.push_back(boolean_parameter(
        "cross", "after each layer over its own sentence, each node attends to the tokens of the other sentence",
        true));
  }
  return parameters;
}

}  // namespace

std::vector<Parameter> ClassificationTask::model_parameters() const { return classifier_parameters(pairs_); }

std::vector<Parameter> ClassificationTask::train_parameters() const {
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

void ClassificationTask::check(const RunSettings& settings) const {
  check_model_kind(settings.model, classifier_parameters(reads_pairs(settings.task)));
  runs_along_trees(settings.model) ? check_trees(settings) : check_labelled_corpus(settings.task);
  if (!is_recurrent(settings.model)) check_transformer(settings.model);
  if (settings.train.boolean("captured")) {
    throw ConfigError("train",
                      "captured steps have one graph, but texts have different lengths; set captured to false");
  }
}

Metric ClassificationTask::metric() const {
  return {.name = "accuracy", .label = "accuracy", .lower_is_better = false};
}

std::vector<Metric> ClassificationTask::further_metrics() const {
  return {{.name = "macro_f1", .label = "macro F1", .lower_is_better = false}};
}

Metric ClassificationTask::selection(const RunSettings& settings) const {
  if (settings.train.string("best_by") == "accuracy") return metric();
  return {.name = "loss", .label = "cross entropy"};
}

std::int64_t embedding_width(const Settings& model) {
  return model.optional_integer("embedding_dim").value_or(model.integer("dim"));
}

SequenceBatcherOptions batcher_options(const Settings& model, bool pairs, Device device) {
  const bool recurrent = is_recurrent(model);
  if (runs_along_trees(model)) {
    throw ConfigError("model", fmt::format("the model runs along the trees of its texts (along = {}), and here are "
                                           "texts without trees; take a model whose along is \"graph\"",
                                           model.string("along")));
  }
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
                                .word_dropout = model.number("word_dropout"),
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

std::unique_ptr<TrainingRun> ClassificationTask::start(const RunSettings& settings) const {
  require_memory_for(settings.model, settings.device);
  const std::shared_ptr<const GraphGenerator> generator = generators().make(settings.graph);
  return std::make_unique<ClassificationRun>(settings, *generator, load_classifier_data(settings, generator));
}

}  // namespace bough::tasks
