#include "bough/tasks/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "tasks/checkpoint_notes.h"
#include "tasks/translation/translation.h"
#include "tasks/translation/translator.h"

namespace bough {
namespace {

const nlohmann::json& translation_config(const tasks::CheckpointNotes& notes, const std::string& path) {
  const std::string kind = notes.config().at("task").at("kind");
  if (kind == tasks::translation_task().name()) return notes.config();
  throw IoError("translate", fmt::format("'{}' is a model of the task {}, which translates nothing; translation trains "
                                         "models that do",
                                         path, kind));
}

std::int64_t context_of(const Settings& task, std::optional<std::int64_t> wanted) {
  const std::int64_t trained = task.integer("context"), context = wanted.value_or(trained);
  if (context >= 0 && context <= trained) return context;
  throw ConfigError("translate", fmt::format("context must be from 0 to {}, the tokens of the document that the model "
                                             "was trained to read with a sentence, not {}",
                                             trained, context));
}

/// The model with the parameters of the checkpoint, on the device.
const TranslationModel& loaded(TranslationModel& model, const std::string& path, Device device) {
  nn::load_checkpoint(path, model);
  model.to(device);
  model.eval();
  return model;
}

void require_possible(const TranslateOptions& options) {
  if (options.beam < 1 || options.beam > 1024) {
    throw ConfigError("translate", fmt::format("beam must be from 1 to 1024, not {}", options.beam));
  }
  if (options.nbest >= 1 && options.nbest <= options.beam) return;
  throw ConfigError("translate", fmt::format("nbest must be from 1 to the {} hypotheses of the beam, not {}",
                                             options.beam, options.nbest));
}

}  // namespace

struct TrainedTranslator::Trained {
  Trained(const std::string& path, const tasks::CheckpointNotes& notes, Device device,
          std::optional<std::int64_t> wanted_context)
      : config(translation_config(notes, path)),
        task("task", config.at("task")),
        settings("model", config.at("model")),
        vocabulary(vocabulary_from_notes(notes.all())),
        patterns(tasks::translation_patterns(settings, config.at("graph"))),
        context(context_of(task, wanted_context)),
        max_length(task.integer("max_length")),
        model(tasks::translation_model_options(settings, patterns, vocabulary, tasks::longest_sequence(task))),
        graphs(patterns.encoder, patterns.decoder, tasks::translation_graph_options(model.options(), device)),
        translator(loaded(model, path, device), graphs, vocabulary.target, context, max_length) {}

  /// Sentences of documents that begin with those of `open`, which afterwards has what the next sentence reads.
  std::vector<TranslatedSentence> translate(std::span<const SourceSentence> sentences, const TranslateOptions& options,
                                            DocumentContext& open);

  nlohmann::json config;
  Settings task, settings;
  TranslationVocabulary vocabulary;
  tasks::TranslationPatterns patterns;
  std::int64_t context, max_length;
  TranslationModel model;
  TranslationGraphBuilder graphs;
  Translator translator;
  std::mutex computing;  ///< the translator keeps hypotheses while it searches
};

std::vector<TranslatedSentence> TrainedTranslator::Trained::translate(std::span<const SourceSentence> sentences,
                                                                      const TranslateOptions& options,
                                                                      DocumentContext& open) {
  require_possible(options);
  const std::lock_guard lock(computing);
  const auto most = static_cast<std::size_t>(max_length - 1);
  TokenSentences source;
  std::vector<std::int32_t> documents;
  std::vector<TranslatedSentence> results;
  for (const SourceSentence& sentence : sentences) {
    std::vector<std::int32_t> tokens = vocabulary.source.encode(sentence.text);
    results.push_back({.hypotheses = {}, .cut = tokens.size() > most});
    tokens.resize(std::min(tokens.size(), most));
    tokens.push_back(vocabulary.source.end());
    source.add(tokens);
    const bool begins = sentence.begins_document;
    if (begins && documents.empty()) open.clear();
    documents.push_back(documents.empty() ? 0 : documents.back() + (begins ? 1 : 0));
  }
  const auto found = translator.translate(
      source, documents, {.beam = options.beam, .length_penalty = options.length_penalty, .nbest = options.nbest},
      open);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const TokenHypothesis& hypothesis : found[i]) {
      results[i].hypotheses.push_back({vocabulary.target.decode(hypothesis.tokens), hypothesis.score});
    }
  }
  return results;
}

TrainedTranslator::TrainedTranslator(const std::string& checkpoint, Device device, std::optional<std::int64_t> context)
    : trained_(std::make_unique<Trained>(checkpoint, tasks::CheckpointNotes(checkpoint, "a translation model"), device,
                                         context)) {}

TrainedTranslator::~TrainedTranslator() = default;
TrainedTranslator::TrainedTranslator(TrainedTranslator&&) noexcept = default;
TrainedTranslator& TrainedTranslator::operator=(TrainedTranslator&&) noexcept = default;

std::int64_t TrainedTranslator::context() const { return trained_->context; }
std::int64_t TrainedTranslator::max_length() const { return trained_->max_length; }
std::string TrainedTranslator::documents() const { return trained_->task.string("documents"); }

std::vector<TranslatedSentence> TrainedTranslator::translate(std::span<const SourceSentence> sentences,
                                                             const TranslateOptions& options) const {
  DocumentContext open(trained_->context);
  return trained_->translate(sentences, options, open);
}

std::vector<TranslatedSentence> TrainedTranslator::translate(std::span<const std::string> sentences,
                                                             const TranslateOptions& options) const {
  std::vector<SourceSentence> alone;
  for (const std::string& sentence : sentences) alone.push_back({.text = sentence, .begins_document = true});
  return translate(std::span<const SourceSentence>(alone), options);
}

struct TranslationStream::State {
  DocumentContext open;
};

TranslationStream::TranslationStream(const TrainedTranslator& translator, const TranslateOptions& options)
    : translator_(&translator),
      options_(options),
      state_(std::make_unique<State>(State{DocumentContext(translator.context())})) {
  require_possible(options);
}

TranslationStream::~TranslationStream() = default;

std::vector<TranslatedSentence> TranslationStream::translate(std::span<const SourceSentence> sentences) {
  return translator_->trained_->translate(sentences, options_, state_->open);
}

}  // namespace bough
