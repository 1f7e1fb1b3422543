#include "tasks/language_model/tokenized_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/character_vocabulary.h"
#include "src/core/files.h"
#include "tasks/data/data_path.h"
#include "tasks/data/hexadecimal.h"
#include "tasks/language_model/sentencepiece_vocabulary.h"
#include "tasks/language_model/word_vocabulary.h"

namespace bough {
namespace {

EncodedText shared(std::vector<std::int32_t> tokens) {
  return std::make_shared<const std::vector<std::int32_t>>(std::move(tokens));
}

ScoredText scored(TokenizedText tokenized) {
  return {.tokens = shared(std::move(tokenized.tokens)), .ends = std::move(tokenized.ends)};
}

TokenizedCorpus without_unknown(std::unique_ptr<const Vocabulary> vocabulary, const TextSplits& splits) {
  EncodedText train = shared(vocabulary->encode(splits.train));
  ScoredText valid = scored(vocabulary->tokenize(splits.valid)), test = scored(vocabulary->tokenize(splits.test));
  return {std::move(vocabulary), std::move(train), std::move(valid), std::move(test)};
}

TokenizedCorpus in_words(const Settings& options, const TextSplits& splits) {
  WordVocabularyOptions limits{.min_count = options.integer("min_count")};
  limits.size = options.optional_integer("size").value_or(limits.size);
  auto vocabulary = std::make_unique<const WordVocabulary>(WordVocabulary::of(splits.train, limits));
  TokenizedText train = vocabulary->tokenize(splits.train);
  const UnknownWordSpelling spelling(splits.train, train);
  const auto with_unknown = [&](const std::string& text) {
    TokenizedText tokenized = vocabulary->tokenize(text);
    std::vector<ScoredText::Unknown> unknown;
    for (const std::int64_t position : tokenized.unknown) {
      unknown.push_back({position, spelling.nats(text, tokenized, position)});
    }
    ScoredText result = scored(std::move(tokenized));
    result.unknown = std::move(unknown);
    result.can_have_unknown = true;
    return result;
  };
  ScoredText valid = with_unknown(splits.valid), test = with_unknown(splits.test);
  return {std::move(vocabulary), shared(std::move(train.tokens)), std::move(valid), std::move(test)};
}

std::unique_ptr<const Vocabulary> vocabulary_of_pieces(std::string bytes, const std::string& origin) {
  return std::make_unique<const SentencePieceVocabulary>(SentencePieceModel::from_bytes(std::move(bytes), origin));
}

std::unique_ptr<const Vocabulary> vocabulary_of_pieces(const Settings& task, const std::string& training_text,
                                                       const std::vector<std::string>& folders,
                                                       const std::string& checkpoint) {
  if (!checkpoint.empty()) {
    const auto notes = nn::load_tensors(checkpoint).metadata;
    if (const auto note = notes.find(vocabulary_note); note != notes.end()) return read_vocabulary(task, note->second);
  }
  const Settings options = task.object("vocabulary");
  if (const std::string path = options.string("model"); !path.empty()) {
    const std::string found = find_data_file(path, folders);
    return vocabulary_of_pieces(read_file(found, std::numeric_limits<std::int32_t>::max()), "'" + found + "'");
  }
  SentencePieceOptions training{.kind = options.string("kind")};
  training.size = options.optional_integer("size").value_or(training.size);
  return std::make_unique<const SentencePieceVocabulary>(SentencePieceModel::train(training_text, training));
}

}  // namespace

nlohmann::json ScoredText::metrics(std::int64_t first, double nats) const {
  const std::int64_t count = std::ssize(*tokens) - first;
  const std::int64_t bytes =
      ends.empty() ? count : ends.back() - (first == 0 ? 0 : ends[static_cast<std::size_t>(first) - 1]);
  const auto begin = std::ranges::lower_bound(unknown, first, {}, &Unknown::position);
  double spelling = 0;
  for (auto one = begin; one != unknown.end(); ++one) spelling += one->spelling_nats;
  const auto bits_per_byte = [bytes](double cost) { return cost / std::numbers::ln2 / static_cast<double>(bytes); };
  nlohmann::json metrics = {
      {"bpc", bits_per_byte(nats + spelling)},
      // Of a model that has diverged it overflows before the bits do, which tell so.
      {"perplexity", std::min(std::exp(nats / static_cast<double>(count)), std::numeric_limits<double>::max())}};
  if (!can_have_unknown) return metrics;
  metrics["unknown"] = static_cast<double>(unknown.end() - begin) / static_cast<double>(count);
  metrics["spelling_bpc"] = bits_per_byte(spelling);
  return metrics;
}

std::vector<Parameter> token_parameters() {
  return {
      choice_parameter("tokens",
                       "what the text is cut into: bytes; words between white space; or pieces of words, which "
                       "SentencePiece learns from the training text",
                       {"characters", "words", "sentencepiece"}),
      object_parameter("vocabulary", "of words or sentencepiece",
                       {choice_parameter("kind", "how SentencePiece learns pieces", {"bpe", "unigram"}),
                        integer_parameter("size", "most tokens; default: 30000 words, 8000 pieces",
                                          {.smallest = 2, .largest = std::int64_t{1} << 24}),
                        integer_parameter("min_count", "words that the training text has less often are unknown",
                                          {.initial = 2, .smallest = 1}),
                        string_parameter("model", "file of a SentencePiece model to use; none = one is trained", "")})};
}

void check_tokens(const Settings& task) {
  const Settings vocabulary = task.object("vocabulary");
  const std::string tokens = task.string("tokens");
  if (tokens == "characters" && vocabulary.has("size")) {
    throw ConfigError("task", fmt::format("vocabulary.size = {} is for words and sentencepiece; a vocabulary of "
                                          "characters has those of the text",
                                          vocabulary.integer("size")));
  }
  const std::string model = vocabulary.string("model");
  if (tokens != "sentencepiece" && !model.empty()) {
    throw ConfigError(
        "task", fmt::format("vocabulary.model = \"{}\" is for tokens \"sentencepiece\", not \"{}\"", model, tokens));
  }
  if (!model.empty() && vocabulary.has("size")) {
    throw ConfigError("task", fmt::format("vocabulary.size = {} and vocabulary.model = \"{}\" are both given, but a "
                                          "model has its size; leave one out",
                                          vocabulary.integer("size"), model));
  }
  if (tokens == "sentencepiece" && !has_sentencepiece()) SentencePieceModel::train("", {});
}

std::string token_name(const Settings& task) {
  const std::string tokens = task.string("tokens");
  return tokens == "sentencepiece" ? "pieces" : tokens;
}

TokenizedCorpus tokenize_corpus(const Settings& task, const TextSplits& splits, const std::vector<std::string>& folders,
                                const std::string& checkpoint) {
  const std::string tokens = task.string("tokens");
  if (tokens == "words") return in_words(task.object("vocabulary"), splits);
  if (tokens == "sentencepiece") {
    return without_unknown(vocabulary_of_pieces(task, splits.train, folders, checkpoint), splits);
  }
  auto characters = CharacterVocabulary::of({splits.train, splits.valid, splits.test});
  return without_unknown(std::make_unique<const CharacterVocabulary>(std::move(characters)), splits);
}

std::string vocabulary_text(const Vocabulary& vocabulary) { return to_hexadecimal(vocabulary.bytes()); }

std::unique_ptr<const Vocabulary> read_vocabulary(const Settings& task, const std::string& note) {
  std::string bytes = from_hexadecimal(note);
  const std::string tokens = task.string("tokens");
  if (tokens == "characters") return std::make_unique<const CharacterVocabulary>(bytes);
  if (tokens == "words") return std::make_unique<const WordVocabulary>(WordVocabulary::from_bytes(std::move(bytes)));
  return vocabulary_of_pieces(std::move(bytes), "the vocabulary of the checkpoint");
}

}  // namespace bough
