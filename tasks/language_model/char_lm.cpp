#include "tasks/language_model/char_lm.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/losses.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "tasks/language_model/evaluation.h"
#include "tasks/language_model/model_costs.h"
#include "tasks/language_model/text_corpus.h"
#include "tasks/language_model/text_graphs.h"
#include "tasks/language_model/tokenized_corpus.h"
#include "tasks/language_model/windows.h"
#include "tasks/model_kind.h"
#include "tasks/transformer_settings.h"

namespace bough {
namespace {

using nlohmann::json;

std::int64_t evaluation_length(const Settings& task) {
  return task.optional_integer("evaluation_length").value_or(task.integer("length"));
}

/// Values of train.auxiliary.
constexpr const char *weighted = "weighted", *fade_by_layer = "fade_by_layer";

class CharLmRun : public tasks::TrainingRun {
 public:
  CharLmRun(const tasks::RunSettings& settings, TokenizedCorpus corpus);

  tasks::RunFacts facts() const override;
  nn::Module& model() override { return model_; }
  std::int64_t steps_per_epoch() const override { return windows_.windows().steps_per_epoch(); }
  tasks::Batch batch(std::int64_t step, std::int64_t part) override;
  Tensor loss(const tasks::Batch& batch, tasks::StepPosition at) override;
  double count(const tasks::Batch& batch) const override { return static_cast<double>(batch[1].elements()); }
  /// Weights of auxiliary losses change from step to step.
  bool can_replay(tasks::StepPosition at) const override { return !auxiliary_losses(at).active(at.step); }
  json evaluate(tasks::Split split) override;
  /// What is remembered of the text before the next step, by part and layer.
  nn::Module::NamedTensors state() const override;
  void load_state(const nn::Module::NamedTensors& state) override;
  std::map<std::string, std::string> notes() const override {
    return {{vocabulary_note, vocabulary_text(*vocabulary_)}};
  }

 private:
  /// Of a micro-batch.
  static WindowShape window_shape(const tasks::RunSettings& settings) {
    const std::int64_t length = settings.task.integer("length");
    return {length,
            settings.train.integer("tokens_per_batch") / length / settings.train.integer("gradient_accumulation")};
  }
  /// Of evaluation. A text whose memory is carried is read in one stream.
  WindowShape evaluation_shape(const Settings& task) const {
    const std::int64_t length = evaluation_length(task);
    return {length, graphs_->carries() ? 1 : std::max<std::int64_t>(1, shape_.tokens() / length)};
  }
  std::shared_ptr<TextGraphs> evaluation_graphs(const tasks::RunSettings& settings) const;
  /// Of a part, as it is before the step; null where windows stand alone.
  nn::SegmentMemory* memory_at(tasks::StepPosition at);
  nn::AuxiliaryLosses auxiliary_losses(tasks::StepPosition at) const;
  Tensor prediction_loss(const tasks::Batch& batch, tasks::StepPosition at);

  // Dropout and the first weights draw from the thread's generator: seeded before the model is made.
  struct Seeded {
    explicit Seeded(std::uint64_t seed) { manual_seed(seed); }
  };

  Settings train_;
  WindowShape shape_;
  Device device_;
  std::unique_ptr<const Vocabulary> vocabulary_;
  Seeded seeded_;
  std::unique_ptr<GraphGenerator> generator_;
  std::shared_ptr<TextGraphs> graphs_, evaluation_graphs_;
  CharacterModelOptions model_options_;
  CharacterModel model_;
  DeviceWindows windows_;
  std::vector<nn::SegmentMemory> memories_;  ///< by part of a step
  Evaluation valid_, test_;
};

CharLmRun::CharLmRun(const tasks::RunSettings& settings, TokenizedCorpus corpus)
    : train_(settings.train),
      shape_(window_shape(settings)),
      device_(settings.device),
      vocabulary_(std::move(corpus.vocabulary)),
      seeded_(static_cast<std::uint64_t>(settings.train.integer("seed"))),
      generator_(generators().make(settings.graph)),
      graphs_(std::make_shared<TextGraphs>(*generator_, shape_, settings.model.integer("layers"),
                                           settings.task.boolean("carry_memory"), device_)),
      evaluation_graphs_(evaluation_graphs(settings)),
      model_options_(character_model_options(settings.model, vocabulary_->size(), *generator_,
                                             std::max(shape_.length, evaluation_length(settings.task)))),
      model_(model_options_),
      windows_(
          {std::move(corpus.train), shape_, static_cast<std::uint64_t>(train_.integer("seed")),
           train_.integer("gradient_accumulation"), graphs_->carries() ? WindowOrder::streams : WindowOrder::random},
          device_),
      memories_(static_cast<std::size_t>(train_.integer("gradient_accumulation"))),
      valid_(std::move(corpus.valid), evaluation_graphs_, settings.task.optional_integer("evaluation_stride")),
      test_(std::move(corpus.test), evaluation_graphs_, settings.task.optional_integer("evaluation_stride")) {
  if (graphs_->carries() && train_.boolean("captured")) {
    throw ConfigError("char_lm",
                      "captured steps have one graph, but what is remembered of a text grows over its first "
                      "segments; set train.captured or task.carry_memory to false");
  }
  const nn::InputLayerOptions& input = model_options_.input;
  const bool adds_positions = (input.positions != nn::Positions::relations && input.positions != nn::Positions::none) ||
                              input.block_positions > 0;
  if (graphs_->carries() && adds_positions) {
    throw ConfigError("char_lm",
                      "positions that are added to the inputs begin anew in each window, so they would put what is "
                      "remembered of the windows before among its own tokens; set model.positions to \"relations\", "
                      "without block_positions, or task.carry_memory to false");
  }
  model_.to(device_);
}

std::shared_ptr<TextGraphs> CharLmRun::evaluation_graphs(const tasks::RunSettings& settings) const {
  const WindowShape shape = evaluation_shape(settings.task);
  if (shape == shape_) return graphs_;
  return std::make_shared<TextGraphs>(*generator_, shape, settings.model.integer("layers"), graphs_->carries(),
                                      device_);
}

tasks::RunFacts CharLmRun::facts() const {
  const TokenGraph& graph = graphs_->usual();
  const std::int64_t parts = train_.integer("gradient_accumulation"), parameters = model_.parameter_count();
  const double training = training_operations(model_, *graphs_);
  // A part of a training step is about three forward passes.
  const double evaluation_steps = forward_operations(model_, *evaluation_graphs_) /
                                  forward_operations(model_, *graphs_) / (3 * static_cast<double>(parts));
  const std::int64_t predicting = model_options_.layers() - auxiliary_losses({}).first_layer(1);
  const double floats =
      std::max(saved_floats(model_, *graphs_, predicting), evaluation_floats(model_, *evaluation_graphs_));
  return {.attention_degree = graph.attention_degree(),
          .num_nodes = graph.num_nodes(),
          .num_edges = graph.num_edges(),
          .length = shape_.length,
          .parameters = parameters,
          .tokens_per_step = shape_.tokens() * parts,
          .operations_per_step = training * static_cast<double>(parts),
          .validation_steps = static_cast<double>(valid_.num_batches()) * evaluation_steps,
          .test_steps = static_cast<double>(test_.num_batches()) * evaluation_steps,
          // Every parameter has a gradient and two moments.
          .memory_bytes = static_cast<std::int64_t>(4 * floats) + 16 * parameters};
}

tasks::Batch CharLmRun::batch(std::int64_t step, std::int64_t part) {
  const WindowBatch batch = windows_.batch(step, part);
  return {batch.inputs, batch.targets};
}

Tensor CharLmRun::loss(const tasks::Batch& batch, tasks::StepPosition at) {
  Tensor loss = prediction_loss(batch, at);
  const double weight = train_.number("span_weight");
  if (!model_options_.transformer.layer.soft_span || weight == 0) return loss;
  return loss + model_.transformer().span_penalty() * weight;
}

nn::AuxiliaryLosses CharLmRun::auxiliary_losses(tasks::StepPosition at) const {
  const bool by_layer = train_.string("auxiliary") == fade_by_layer;
  return nn::AuxiliaryLosses({.layers = model_options_.layers(),
                              .steps = at.steps,
                              .weight = train_.number("auxiliary_weight"),
                              .until = train_.number("auxiliary_until"),
                              .fade = by_layer ? nn::Fade::mean_by_layer : nn::Fade::linear});
}

nn::SegmentMemory* CharLmRun::memory_at(tasks::StepPosition at) {
  if (!graphs_->carries()) return nullptr;
  nn::SegmentMemory& memory = memories_.at(static_cast<std::size_t>(at.part));
  if (windows_.windows().windows_before(at.step) == 0) {
    memory.layers.clear();
  } else if (memory.layers.empty()) {
    throw IoError("resume",
                  fmt::format("the checkpoint does not hold what is remembered of the text before step {}; it "
                              "was made without task.carry_memory",
                              at.step));
  }
  return &memory;
}

nn::Module::NamedTensors CharLmRun::state() const {
  nn::Module::NamedTensors state;
  for (std::size_t part = 0; part < memories_.size(); ++part) {
    for (std::size_t layer = 0; layer < memories_[part].layers.size(); ++layer) {
      state.emplace_back(fmt::format("memory.{}.{}", part, layer), memories_[part].layers[layer]);
    }
  }
  return state;
}

void CharLmRun::load_state(const nn::Module::NamedTensors& state) {
  const auto layers = static_cast<std::size_t>(graphs_->carries() ? model_options_.transformer.layers : 0);
  if (!state.empty() && state.size() != layers * memories_.size()) {
    throw IoError("resume", fmt::format("the checkpoint remembers {} tensors of the text before it, this run {}",
                                        state.size(), layers * memories_.size()));
  }
  for (nn::SegmentMemory& memory : memories_) memory.layers.clear();
  for (std::size_t i = 0; i < state.size(); ++i) {
    memories_[i / layers].layers.push_back(state[i].second.to(device_));
  }
}

Tensor CharLmRun::prediction_loss(const tasks::Batch& batch, tasks::StepPosition at) {
  const nn::AuxiliaryLosses auxiliary = auxiliary_losses(at);
  const Tensor &inputs = batch[0], &targets = batch[1];
  const TokenGraph& graph = graphs_->after(windows_.windows().windows_before(at.step));
  nn::SegmentMemory* const memory = memory_at(at);
  if (!auxiliary.active(at.step)) return cross_entropy(model_.forward(graph, inputs, memory), targets);
  const std::int64_t first = auxiliary.first_layer(at.step);
  const std::vector<Tensor> scores = model_.forward_every_layer(graph, inputs, first, memory);
  std::vector<Tensor> losses(static_cast<std::size_t>(first));  // of layers that do not count: undefined
  for (const Tensor& layer : scores) losses.push_back(cross_entropy(layer, targets));
  const Tensor main = losses.back();
  losses.pop_back();
  return auxiliary.total(main, losses, at.step);
}

json CharLmRun::evaluate(tasks::Split split) {
  json metrics = (split == tasks::Split::valid ? valid_ : test_).metrics(model_, device_);
  if (split == tasks::Split::valid) return metrics;
  if (!model_options_.transformer.layer.soft_span) return metrics;
  for (std::int64_t layer = 0; layer < model_options_.transformer.layers; ++layer) {
    metrics["spans"].push_back(model_.transformer().layer(layer).attention.spans());
  }
  return metrics;
}

/// Sizes of the three texts, in characters or in tokens.
struct TextSizes {
  std::size_t train, valid, test;
};

/// Says which part of the text is too short, and what decides how long it is.
void require_windows(const Settings& task, const TextSizes& sizes, const std::string& tokens) {
  const auto require = [&tokens](const char* name, std::size_t size, const char* key, std::int64_t length) {
    if (static_cast<std::int64_t>(size) > length) return;
    throw ConfigError("char_lm",
                      fmt::format("the {} text has {} {}, a window of task.{} = {} and the {} after it need "
                                  "{}; use a longer text, other shares of it, or shorter windows",
                                  name, size, tokens, key, length, tokens.substr(0, tokens.size() - 1), length + 1));
  };
  require("training", sizes.train, "length", task.integer("length"));
  const char* const key = task.has("evaluation_length") ? "evaluation_length" : "length";
  require("validation", sizes.valid, key, evaluation_length(task));
  require("test", sizes.test, key, evaluation_length(task));
}

/// ConfigError for what recurrent layers cannot do, and for graphs along which they cannot run.
void check_recurrent(const tasks::RunSettings& settings) {
  if (settings.model.boolean("bidirectional")) {
    throw ConfigError("model", "bidirectional cells would see the tokens that are to be predicted; leave it out");
  }
  const Settings& train = settings.train;
  if (train.string("auxiliary") == fade_by_layer || train.number("auxiliary_weight") > 0) {
    throw ConfigError("train",
                      "auxiliary losses are those of the layers of a graph transformer; recurrent layers have none, so "
                      "leave auxiliary and auxiliary_weight out");
  }
  if (train.number("span_weight") > 0) {
    throw ConfigError("train", "span_weight is for heads that learn how far they reach; leave it out");
  }
  const std::int64_t length = settings.task.integer("length");
  nn::check_recurrent_graph(generators().make(settings.graph)->build({.length = length, .causal = true}),
                            tasks::recurrent_options(settings.model));
}

class CharLmTask : public tasks::Task {
 public:
  std::string name() const override { return "char_lm"; }
  std::string summary() const override { return "predict the next character, word or piece of a word of a text"; }
  /// Guessing among all 256 bytes costs 8 bits.
  tasks::Metric metric() const override { return {.name = "bpc", .label = "bits per character", .hopeless = 2 * 8.0}; }
  std::vector<tasks::Metric> further_metrics() const override {
    return {{.name = "perplexity", .label = "perplexity"}};
  }

  std::vector<Parameter> task_parameters() const override {
    std::vector<Parameter> parameters = {
        object_parameter("corpus", "the text: {\"kind\": \"turn_taking\"} or {\"kind\": \"text\", \"path\": ...}"),
        integer_parameter("length", "tokens of a window; in an evaluation the second half is scored given the first",
                          {.initial = 256, .smallest = 2, .largest = max_sequence_length}),
        integer_parameter(
            "evaluation_length",
            "tokens of a window in an evaluation; default: length. Relations that only longer windows have "
            "stay untrained: see clip_levels and max_distance of the patterns",
            {.smallest = 2, .largest = max_sequence_length}),
        integer_parameter("evaluation_stride",
                          "tokens at the end of a window that are scored in an evaluation, all others being context; "
                          "default: half of them",
                          {.smallest = 1, .largest = max_sequence_length}),
        boolean_parameter(
            "carry_memory",
            "for patterns that read remembered states (memory): windows follow each other through the text, "
            "and each remembers those before; evaluations score every token. Without it, the second half of "
            "a window remembers the first",
            true)};
    std::ranges::move(token_parameters(), std::back_inserter(parameters));
    return parameters;
  }

  std::vector<Parameter> model_parameters() const override {
    std::vector<Parameter> parameters = tasks::transformer_parameters();
    parameters.push_back(boolean_parameter("tied", "the output projection is the embedding", true));
    parameters.push_back(number_parameter("input_scale", "embeddings are multiplied by this times the root of dim",
                                          {.initial = 1.0, .minimum = 0}));
    std::ranges::move(tasks::model_kind_parameters(), std::back_inserter(parameters));
    return parameters;
  }

  std::vector<Parameter> train_parameters() const override {
    return {
        integer_parameter("tokens_per_batch", "tokens of one step, in windows of the task's length",
                          {.initial = 8192, .smallest = 1}),
        number_parameter("span_weight",
                         "what each character that the heads of an adaptive_span graph reach, on average, adds to the "
                         "loss",
                         {.initial = 0.0, .minimum = 0}),
        choice_parameter("auxiliary",
                         "losses of the layers below the last: weighted by auxiliary_weight; fade_by_layer: the mean "
                         "over the layers i > n p of n after the share p of the steps",
                         {weighted, fade_by_layer}),
        number_parameter("auxiliary_weight",
                         "weight of the losses of the layers below the last at the first step; 0 = none",
                         {.initial = 0.0, .minimum = 0}),
        number_parameter("auxiliary_until", "share of the steps after which the weighted losses have faded away",
                         {.initial = 0.5, .minimum = 0, .maximum = 1}),
    };
  }

  std::map<std::string, std::vector<tasks::ObjectKind>> object_kinds() const override {
    return {{"corpus", corpus_kinds()}};
  }

  BuildOptions graph_options(const Settings& task) const override {
    return {.length = task.integer("length"), .causal = true};
  }

  void check(const tasks::RunSettings& settings) const override {
    read_corpus_settings(settings.task.json("corpus"));
    const std::int64_t length = settings.task.integer("length"), batch = settings.train.integer("tokens_per_batch");
    if (batch < length) {
      throw ConfigError("train", fmt::format("tokens_per_batch must be at least one window of task.length = {}, not {}",
                                             length, batch));
    }
    const std::int64_t parts = settings.train.integer("gradient_accumulation");
    if (batch / length % parts != 0) {
      throw ConfigError("train", fmt::format("tokens_per_batch = {} are {} windows of task.length = {}, which "
                                             "gradient_accumulation = {} does not divide",
                                             batch, batch / length, length, parts));
    }
    tasks::check_model_kind(settings.model, model_parameters());
    tasks::is_recurrent(settings.model) ? check_recurrent(settings) : tasks::check_transformer(settings.model);
    check_tokens(settings.task);
    const std::int64_t evaluated = evaluation_length(settings.task);
    if (const auto stride = settings.task.optional_integer("evaluation_stride"); stride && *stride > evaluated) {
      throw ConfigError(
          "task", fmt::format("evaluation_stride = {} is more than a window of {} tokens has", *stride, evaluated));
    }
    const auto fixed = generators().make(settings.graph)->fixed_length();
    if (fixed && evaluated != *fixed) {
      throw ConfigError("task", fmt::format("the pattern has graphs of {} tokens only, not of evaluation_length = {}",
                                            *fixed, evaluated));
    }
  }

  std::string why_length_is_fixed(const tasks::RunSettings& settings) const override {
    if (settings.train.string("auxiliary") == fade_by_layer) {
      return "its auxiliary losses fade layer by layer over all steps (auxiliary)";
    }
    return settings.train.number("auxiliary_weight") == 0
               ? ""
               : "its auxiliary losses fade over a share of all steps (auxiliary_until)";
  }

  std::vector<tasks::Bound> bounds(const tasks::RunSettings& settings) const override {
    return corpus_bounds(read_corpus_settings(settings.task.json("corpus")));
  }

  std::unique_ptr<tasks::TrainingRun> start(const tasks::RunSettings& settings) const override {
    const auto seed = static_cast<std::uint64_t>(settings.train.integer("seed"));
    const Settings corpus = read_corpus_settings(settings.task.json("corpus"));
    tasks::require_memory_for(settings.model, settings.device);
    const TextSplits splits = load_corpus(corpus, settings.data_folders, seed);
    require_windows(settings.task, {splits.train.size(), splits.valid.size(), splits.test.size()}, "characters");
    TokenizedCorpus tokens = tokenize_corpus(settings.task, splits, settings.data_folders, settings.checkpoint);
    require_windows(settings.task, {tokens.train->size(), tokens.valid.tokens->size(), tokens.test.tokens->size()},
                    token_name(settings.task));
    return std::make_unique<CharLmRun>(settings, std::move(tokens));
  }
};

}  // namespace

const tasks::Task& char_lm_task() {
  static const CharLmTask task;
  return task;
}

CharacterModelOptions character_model_options(const Settings& model, std::int64_t vocabulary,
                                              const GraphGenerator& generator, std::int64_t length) {
  CharacterModelOptions options{
      .vocabulary = vocabulary,
      .input_scale = model.number("input_scale"),
      .tied = model.boolean("tied"),
      .input = tasks::input_layer_options(model, length),
      // Checkpoints of earlier versions have no such key.
      .output_dropout = model.values().contains("output_dropout") ? model.number("output_dropout") : 0};
  if (tasks::is_recurrent(model)) {
    options.recurrent = tasks::recurrent_options(model);
  } else {
    options.transformer = tasks::transformer_options(model, generator, length);
  }
  return options;
}

}  // namespace bough
