#include "tasks/language_model/char_lm.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/losses.h"
#include "bough/nn/options_json.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cross_entropy.h"
#include "tasks/language_model/text_corpus.h"
#include "tasks/language_model/windows.h"
#include "tasks/machine.h"

namespace bough {
namespace {

using nlohmann::json;

/// Pre-norm, unlike in C++, because experiments compare patterns at one learning rate and a short warm-up.
nn::GraphTransformerOptions default_transformer() {
  return {.layers = 4, .layer = {.dim = 128, .heads = 4, .pre_norm = true, .dropout = 0.1}};
}

class CharLmRun : public tasks::TrainingRun {
 public:
  CharLmRun(const tasks::RunSettings& settings, const TextSplits& splits);

  tasks::RunFacts facts() const override;
  nn::Module& model() override { return model_; }
  std::int64_t steps_per_epoch() const override { return windows_.windows().steps_per_epoch(); }
  tasks::Batch batch(std::int64_t step, std::int64_t part) override;
  Tensor loss(const tasks::Batch& batch, tasks::StepPosition at) override;
  double count(const tasks::Batch& batch) const override { return static_cast<double>(batch[1].elements()); }
  /// Weights of auxiliary losses change from step to step.
  bool can_replay(tasks::StepPosition at) const override { return !auxiliary_losses(at).active(at.step); }
  json evaluate(tasks::Split split) override;
  std::map<std::string, std::string> notes() const override {
    return {{vocabulary_note, to_hexadecimal(vocabulary_.bytes())}};
  }

 private:
  /// Of a micro-batch.
  static WindowShape window_shape(const tasks::RunSettings& settings) {
    const std::int64_t length = settings.task.integer("length");
    return {length,
            settings.train.integer("tokens_per_batch") / length / settings.train.integer("gradient_accumulation")};
  }
  static EncodedText encoded(const CharacterVocabulary& vocabulary, const std::string& text) {
    return std::make_shared<const std::vector<std::int32_t>>(vocabulary.encode(text));
  }
  nn::AuxiliaryLosses auxiliary_losses(tasks::StepPosition at) const;
  Tensor prediction_loss(const tasks::Batch& batch, tasks::StepPosition at) const;
  double bits_per_character(const EvaluationWindows& windows);

  // Dropout and the first weights draw from the thread's generator: seeded before the model is made.
  struct Seeded {
    explicit Seeded(std::uint64_t seed) { manual_seed(seed); }
  };

  Settings train_;
  WindowShape shape_;
  Device device_;
  CharacterVocabulary vocabulary_;
  Seeded seeded_;
  std::unique_ptr<GraphGenerator> generator_;
  TokenGraph graph_;
  CharacterModelOptions model_options_;
  CharacterModel model_;
  DeviceWindows windows_;
  EvaluationWindows valid_, test_;
};

CharLmRun::CharLmRun(const tasks::RunSettings& settings, const TextSplits& splits)
    : train_(settings.train),
      shape_(window_shape(settings)),
      device_(settings.device),
      vocabulary_(CharacterVocabulary::of({splits.train, splits.valid, splits.test})),
      seeded_(static_cast<std::uint64_t>(settings.train.integer("seed"))),
      generator_(generators().make(settings.graph)),
      graph_(*generator_, shape_.length, shape_.count, settings.model.integer("layers"), device_),
      model_options_(character_model_options(settings.model, vocabulary_.size(), *generator_, shape_.length)),
      model_(model_options_),
      windows_({encoded(vocabulary_, splits.train), shape_, static_cast<std::uint64_t>(train_.integer("seed")),
                train_.integer("gradient_accumulation")},
               device_),
      valid_(encoded(vocabulary_, splits.valid), shape_),
      test_(encoded(vocabulary_, splits.test), shape_) {
  model_.to(device_);
}

tasks::RunFacts CharLmRun::facts() const {
  const auto& layer = model_options_.transformer.layer;
  const double dim = static_cast<double>(layer.dim), hidden = static_cast<double>(layer.feed_forward);
  const double nodes = static_cast<double>(graph_.computed_nodes());
  const double edges = static_cast<double>(graph_.followed_edges());
  const double tokens = static_cast<double>(shape_.tokens()), vocabulary = static_cast<double>(vocabulary_.size());
  // Two operations for each multiplication with a weight: four projections, two of the feed-forward, the scores; for
  // each edge q.k, q.r and p.v. Backward is twice the forward pass.
  const double forward = 2 * (nodes * (4 * dim * dim + 2 * dim * hidden) + tokens * dim * vocabulary + 3 * edges * dim);
  // Kept for backward, in floats: about eight vectors of a node's width and the hidden layer twice, or few of these,
  // and scores and their gradient. Every parameter has a gradient and two moments.
  const auto policy =
      nn::activation_policy(model_options_.transformer, graph_.num_nodes() * shape_.count, shape_.tokens());
  const bool few = policy == nn::ActivationPolicy::recompute_cheap;
  const bool checkpointed = policy == nn::ActivationPolicy::checkpoint_layers;
  const double layers_at_once = checkpointed ? 1.0 / static_cast<double>(model_options_.transformer.layers) : 1;
  const double activations =
      nodes * dim + layers_at_once * nodes * (few ? 5 * dim : 7 * dim + 2 * hidden) + 2 * tokens * vocabulary;
  const auto parameters = model_.parameter_count();
  const std::int64_t parts = train_.integer("gradient_accumulation");
  const double forward_passes_of_a_step = 3 * static_cast<double>(parts);
  return {.attention_degree = graph_.attention_degree(),
          .num_nodes = graph_.num_nodes(),
          .num_edges = graph_.num_edges(),
          .length = shape_.length,
          .parameters = parameters,
          .tokens_per_step = shape_.tokens() * parts,
          .operations_per_step = (checkpointed ? 4 : 3) * forward * static_cast<double>(parts),
          .validation_steps = static_cast<double>(valid_.num_batches()) / forward_passes_of_a_step,
          .test_steps = static_cast<double>(test_.num_batches()) / forward_passes_of_a_step,
          .memory_bytes = static_cast<std::int64_t>(4 * activations) + 16 * parameters};
}

tasks::Batch CharLmRun::batch(std::int64_t step, std::int64_t part) {
  const WindowBatch batch = windows_.batch(step, part);
  return {batch.inputs, batch.targets};
}

Tensor CharLmRun::loss(const tasks::Batch& batch, tasks::StepPosition at) {
  const Tensor loss = prediction_loss(batch, at);
  const double weight = train_.number("span_weight");
  if (!model_options_.transformer.layer.soft_span || weight == 0) return loss;
  return loss + model_.transformer().span_penalty() * weight;
}

nn::AuxiliaryLosses CharLmRun::auxiliary_losses(tasks::StepPosition at) const {
  return nn::AuxiliaryLosses({.layers = model_options_.transformer.layers,
                              .steps = at.steps,
                              .weight = train_.number("auxiliary_weight"),
                              .until = train_.number("auxiliary_until")});
}

Tensor CharLmRun::prediction_loss(const tasks::Batch& batch, tasks::StepPosition at) const {
  const nn::AuxiliaryLosses auxiliary = auxiliary_losses(at);
  const Tensor &inputs = batch[0], &targets = batch[1];
  if (!auxiliary.active(at.step)) return cross_entropy(model_.forward(graph_, inputs), targets);
  const std::vector<Tensor> scores = model_.forward_every_layer(graph_, inputs);
  std::vector<Tensor> losses;
  for (const Tensor& layer : scores) losses.push_back(cross_entropy(layer, targets));
  const Tensor main = losses.back();
  losses.pop_back();
  return auxiliary.total(main, losses, at.step);
}

json CharLmRun::evaluate(tasks::Split split) {
  if (split == tasks::Split::valid) return {{"bpc", bits_per_character(valid_)}};
  json metrics = {{"bpc", bits_per_character(test_)}};
  if (!model_options_.transformer.layer.soft_span) return metrics;
  for (std::int64_t layer = 0; layer < model_options_.transformer.layers; ++layer) {
    metrics["spans"].push_back(model_.transformer().layer(layer).attention.spans());
  }
  return metrics;
}

double CharLmRun::bits_per_character(const EvaluationWindows& windows) {
  const NoGrad no_grad;
  model_.eval();
  double nats = 0;
  for (std::int64_t i = 0; i < windows.num_batches(); ++i) {
    const WindowBatch batch = windows.batch(i);
    const Tensor losses = cross_entropy(model_.forward(graph_, batch.inputs.to(device_)), batch.targets.to(device_),
                                        {.ignore_index = not_scored, .reduction = Reduction::none});
    for (const double loss : losses.to_vector<double>()) nats += loss;
  }
  model_.train();
  return nats / std::numbers::ln2 / static_cast<double>(windows.scored());
}

/// Says which part of the text is too short, and what decides how long it is.
void require_windows(const TextSplits& splits, std::int64_t length) {
  const auto require = [length](const char* name, const std::string& text) {
    if (static_cast<std::int64_t>(text.size()) > length) return;
    throw ConfigError("char_lm", fmt::format("the {} text has {} characters, a window of task.length = {} and the "
                                             "character after it need {}; use a longer text, other shares of it, or "
                                             "shorter windows",
                                             name, text.size(), length, length + 1));
  };
  require("training", splits.train);
  require("validation", splits.valid);
  require("test", splits.test);
}

/// Before anything large is made: who asks for more memory than there is, is ended without a word.
void require_memory(const tasks::RunSettings& settings) {
  const auto free_bytes = settings.device == Device::cpu() ? available_memory() : std::nullopt;
  if (!free_bytes) return;
  nn::GraphTransformerOptions options = default_transformer();
  nn::read_options(settings.model, options);
  const double dim = static_cast<double>(options.layer.dim), hidden = static_cast<double>(options.layer.feed_forward);
  const double parameters = static_cast<double>(options.layers) * dim * (4 * dim + 2 * hidden);
  const double bytes = 16 * parameters;  // each with its gradient and two moments
  if (bytes < static_cast<double>(*free_bytes)) return;
  throw ConfigError("model", fmt::format("{} layers of width {} have about {:.3g} parameters, which need {:.0f} GB to "
                                         "train; {:.1f} GB of memory are free",
                                         options.layers, options.layer.dim, parameters, bytes / 1e9,
                                         static_cast<double>(*free_bytes) / 1e9));
}

class CharLmTask : public tasks::Task {
 public:
  std::string name() const override { return "char_lm"; }
  std::string summary() const override { return "predict the next character of a text"; }
  tasks::Metric metric() const override { return {.name = "bpc", .label = "bits per character"}; }

  std::vector<Parameter> task_parameters() const override {
    return {object_parameter("corpus", "the text: {\"kind\": \"turn_taking\"} or {\"kind\": \"text\", \"path\": ...}"),
            integer_parameter("length", "characters of a window; the second half is scored given the first",
                              {.initial = 256, .smallest = 2, .largest = max_sequence_length})};
  }

  std::vector<Parameter> model_parameters() const override {
    std::vector<Parameter> parameters = nn::parameters_of(default_transformer());
    // The graph decides the first four; the others follow from the rest.
    std::erase_if(parameters, [](const Parameter& parameter) {
      const std::set<std::string> decided{"num_relations", "ignore_relations", "stages",
                                          "soft_span",     "trained_start",    "output_gain"};
      return decided.contains(parameter.name);
    });
    parameters.push_back(boolean_parameter("tied", "the output projection is the embedding", true));
    parameters.push_back(number_parameter("input_scale", "embeddings are multiplied by this times the root of dim",
                                          {.initial = 1.0, .minimum = 0}));
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
        number_parameter("auxiliary_weight",
                         "weight of the losses of the layers below the last at the first step; 0 = none",
                         {.initial = 0.0, .minimum = 0}),
        number_parameter("auxiliary_until", "share of the steps after which the losses of lower layers have faded away",
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
    const std::int64_t dim = settings.model.integer("dim"), heads = settings.model.integer("heads");
    if (dim % heads != 0) {
      throw ConfigError("model", fmt::format("dim must be a multiple of heads, {} is not one of {}", dim, heads));
    }
    generators().make(settings.graph);
  }

  std::string why_length_is_fixed(const tasks::RunSettings& settings) const override {
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
    require_memory(settings);
    const TextSplits splits = load_corpus(corpus, settings.data_folders, seed);
    require_windows(splits, settings.task.integer("length"));
    return std::make_unique<CharLmRun>(settings, splits);
  }
};

}  // namespace

const tasks::Task& char_lm_task() {
  static const CharLmTask task;
  return task;
}

CharacterModelOptions character_model_options(const Settings& model, std::int64_t vocabulary,
                                              const GraphGenerator& generator, std::int64_t length) {
  nn::GraphTransformerOptions options = default_transformer();
  nn::read_options(model, options);
  options = nn::GraphTransformerOptions::for_graph(generator, length, options);
  if (options.layer.pre_norm) options.layer.output_gain = 1 / std::sqrt(2.0 * static_cast<double>(options.layers));
  return {.vocabulary = vocabulary,
          .transformer = options,
          .input_scale = model.number("input_scale"),
          .tied = model.boolean("tied")};
}

std::string to_hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string from_hexadecimal(const std::string& text) {
  const auto digit = [&](char c) {
    const auto place = std::string_view("0123456789abcdef").find(c);
    if (place == std::string_view::npos) throw IoError("checkpoint", "the vocabulary is not hexadecimal");
    return static_cast<int>(place);
  };
  if (text.size() % 2 != 0) throw IoError("checkpoint", "the vocabulary is not hexadecimal");
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(16 * digit(text[i]) + digit(text[i + 1]));
  }
  return bytes;
}

}  // namespace bough
