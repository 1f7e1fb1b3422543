#pragma once

#include "bough/tasks/translation_model.h"
#include "tasks/task.h"
#include "tasks/translation/translation_corpus.h"

namespace bough::tasks {

/// Translates sentences, alone or in their document.
const Task& translation_task();

/// What the settings of a run say of encoder and decoder.
struct TranslationPatterns {
  std::shared_ptr<const GraphGenerator> encoder, decoder;
};
/// model.encoder_graph and model.decoder_graph, by default both the graph of the run. ConfigError for patterns that
/// cannot be used.
TranslationPatterns translation_patterns(const Settings& model, const nlohmann::json& graph);

/// Tokens of the longest sequence that encoder and decoder read.
std::int64_t longest_sequence(const Settings& task);
/// For a vocabulary and sequences of up to `longest` tokens.
TranslationModelOptions translation_model_options(const Settings& model, const TranslationPatterns& patterns,
                                                  const TranslationVocabulary& vocabulary, std::int64_t longest);
/// Of the graphs of that model.
TranslationGraphOptions translation_graph_options(const TranslationModelOptions& model, Device device);

}  // namespace bough::tasks
