#include "tasks/translation/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/transformer_settings.h"
#include "tasks/translation/translation_run.h"

namespace bough::tasks {
namespace {

using nlohmann::json;

class TranslationTask : public Task {
 public:
  std::string name() const override { return "translation"; }
  std::string summary() const override { return "translate sentences, alone or in their document"; }
  Metric metric() const override { return {.name = "bleu", .label = "BLEU", .lower_is_better = false}; }
  Metric selection(const RunSettings& settings) const override {
    if (settings.train.string("best_by") == "bleu") return metric();
    return {.name = "loss", .label = "cross entropy"};
  }

  std::vector<Parameter> task_parameters() const override {
    std::vector<Parameter> parameters = translation_corpus_parameters();
    parameters.push_back(integer_parameter(
        "degree_length",
        "tokens of the sentence for whose graph, with its context, attention degree, nodes and edges are "
        "reported, and a wanted degree is solved",
        {.initial = 32, .smallest = 1, .largest = 1 << 16}));
    parameters.push_back(integer_parameter("beam", "hypotheses that the search keeps on the test data; 1 is greedy",
                                           {.initial = 5, .smallest = 1, .largest = 1024}));
    parameters.push_back(number_parameter(
        "length_penalty", "scores of hypotheses are divided by ((5 + length) / 6) to this power", {.initial = 0.6}));
    parameters.push_back(choice_parameter("tokenize", "how BLEU cuts translations into words, as sacreBLEU names it",
                                          {"13a", "intl", "zh", "char", "none"}));
    return parameters;
  }

  std::vector<Parameter> model_parameters() const override {
    std::vector<Parameter> parameters = transformer_parameters();
    for (Parameter& parameter : parameters) {
      if (parameter.name == "layers") parameter.help = "layers of the encoder, and of the decoder unless that is given";
    }
    parameters.push_back(integer_parameter("decoder_layers", "layers of the decoder; default: layers",
                                           {.smallest = 1, .largest = 10000}));
    parameters.push_back(
        object_parameter("encoder_graph", "the pattern of the encoder, with its \"kind\"; none: the graph of the run"));
    parameters.push_back(
        object_parameter("decoder_graph", "the pattern of the decoder, with its \"kind\"; none: the graph of the run"));
    parameters.push_back(boolean_parameter("tied", "the output projection is the target embedding", true));
    parameters.push_back(boolean_parameter(
        "shared_embeddings", "with a joint vocabulary, source and target have one embedding table", true));
    parameters.push_back(number_parameter("input_scale", "embeddings are multiplied by this times the root of dim",
                                          {.initial = 1.0, .minimum = 0}));
    return parameters;
  }

  std::vector<Parameter> train_parameters() const override {
    return {
        integer_parameter("tokens_per_batch", "source and target tokens of one step with their context, about",
                          {.initial = 8192, .smallest = 1}),
        integer_parameter("length_buckets",
                          "pairs are divided by length into at most so many parts, and a batch is of one of them: its "
                          "sentences take about equal time. 1 mixes all lengths",
                          {.initial = 16, .smallest = 1, .largest = 1024}),
        choice_parameter("best_by", "which number of the validation text decides between checkpoints",
                         {"bleu", "loss"}),
        integer_parameter(
            "valid_sentences",
            "sentences of the validation text, its first ones, that an evaluation translates greedily for "
            "their BLEU; its loss is that of all",
            {.initial = 500, .smallest = 1}),
        number_parameter("label_smoothing", "share of the target that is spread evenly over all tokens",
                         {.initial = 0.1, .minimum = 0, .maximum = 0.999})};
  }

  BuildOptions graph_options(const Settings& task) const override {
    return {.length = task.integer("degree_length") + task.integer("context")};
  }

  void check(const RunSettings& settings) const override {
    check_translation_corpus(settings.task);
    check_transformer(settings.model);
    const TranslationPatterns patterns = translation_patterns(settings.model, settings.graph);
    const TranslationGraphBuilder usable(patterns.encoder, patterns.decoder);
    if (settings.train.boolean("captured")) {
      throw ConfigError("train",
                        "captured steps have one graph, but sentences have different lengths; set captured to false");
    }
  }

  std::vector<Bound> bounds(const RunSettings&) const override { return {}; }

  std::unique_ptr<TrainingRun> start(const RunSettings& settings) const override {
    require_memory_for(settings.model, settings.device);
    return start_translation_run(settings);
  }
};

}  // namespace

const Task& translation_task() {
  static const TranslationTask task;
  return task;
}

TranslationPatterns translation_patterns(const Settings& model, const json& graph) {
  std::shared_ptr<const GraphGenerator> both = generators().make(graph);
  const auto own = [&](const char* key) -> std::shared_ptr<const GraphGenerator> {
    const json& given = model.json(key);
    if (!given.is_object() || given.empty()) return both;
    return generators().make(given);
  };
  return {.encoder = own("encoder_graph"), .decoder = own("decoder_graph")};
}

std::int64_t longest_sequence(const Settings& task) { return task.integer("context") + task.integer("max_length"); }

TranslationModelOptions translation_model_options(const Settings& model, const TranslationPatterns& patterns,
                                                  const TranslationVocabulary& vocabulary, std::int64_t longest) {
  const nn::GraphTransformerOptions decoder = transformer_options(model, *patterns.decoder, longest);
  return {.source_vocabulary = vocabulary.source.size(),
          .target_vocabulary = vocabulary.target.size(),
          .encoder = transformer_options(model, *patterns.encoder, longest),
          .decoder = {.layers = model.optional_integer("decoder_layers").value_or(decoder.layers),
                      .layer = decoder.layer,
                      .activations = decoder.activations},
          .input = input_layer_options(model, longest),
          .input_scale = model.number("input_scale"),
          .shared_embeddings = vocabulary.joint && model.boolean("shared_embeddings"),
          .tied = model.boolean("tied"),
          .output_dropout = model.number("output_dropout")};
}

TranslationGraphOptions translation_graph_options(const TranslationModelOptions& model, Device device) {
  return {.encoder_layers = model.encoder.layers,
          .decoder_layers = model.decoder.layers,
          .with_relations = !model.encoder.layer.ignore_relations,
          .device = device};
}

}  // namespace bough::tasks
