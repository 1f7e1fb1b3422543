#include "tasks/translation/translation_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "bough/core/errors.h"
#include "src/core/files.h"
#include "tasks/data/data_path.h"
#include "tasks/data/hexadecimal.h"

namespace bough {
namespace {

constexpr const char *joint_note = "vocabulary", *source_note = "source_vocabulary", *target_note = "target_vocabulary";

SentencePieceModel model_from_file(const std::string& path, const std::vector<std::string>& folders) {
  const std::string found = find_data_file(path, folders);
  return SentencePieceModel::from_bytes(read_file(found, std::numeric_limits<std::int32_t>::max()), "'" + found + "'");
}

}  // namespace

Parameter translation_vocabulary_parameter() {
  return object_parameter(
      "vocabulary", "pieces of words that SentencePiece learns from the training text",
      {choice_parameter("kind", "how SentencePiece learns pieces", {"bpe", "unigram"}),
       integer_parameter("size", "pieces, of each language unless joint; default: 8000",
                         {.smallest = 2, .largest = std::int64_t{1} << 24}),
       number_parameter("character_coverage",
                        "share of the characters of the text that get a piece of their own; the rarest others are "
                        "unknown",
                        {.initial = 0.9995, .minimum = 0.9, .maximum = 1}),
       boolean_parameter("joint", "one vocabulary for both languages, and one embedding table", true),
       string_parameter("model", "file of a SentencePiece model to use for both languages; none = one is trained", ""),
       string_parameter("source_model", "the same for the source alone, unless joint", ""),
       string_parameter("target_model", "the same for the target alone, unless joint", "")});
}

void check_translation_vocabulary(const Settings& vocabulary) {
  const auto refuse = [](const std::string& text) { throw ConfigError("task", text); };
  const bool joint = vocabulary.boolean("joint");
  const bool one = !vocabulary.string("model").empty();
  const bool source = !vocabulary.string("source_model").empty(), target = !vocabulary.string("target_model").empty();
  if (joint && (source || target)) {
    refuse(
        "vocabulary.source_model and target_model are for two vocabularies; set vocabulary.joint to false, or name "
        "one file with vocabulary.model");
  }
  if (!joint && one) {
    refuse(
        "vocabulary.model is one file for both languages; set vocabulary.joint to true, or name two files with "
        "source_model and target_model");
  }
  if (source != target) refuse("vocabulary.source_model and target_model must both be given, or none");
  if ((one || source) && vocabulary.has("size")) {
    refuse(
        fmt::format("vocabulary.size = {} and a file of a model are both given, but a model has its size; leave one "
                    "out",
                    vocabulary.integer("size")));
  }
}

TranslationVocabulary make_translation_vocabulary(const Settings& vocabulary, const ParallelText& train,
                                                  const std::vector<std::string>& folders) {
  SentencePieceTraining options{.kind = vocabulary.string("kind"),
                                .character_coverage = vocabulary.number("character_coverage")};
  options.size = vocabulary.optional_integer("size").value_or(options.size);
  if (vocabulary.boolean("joint")) {
    const std::string path = vocabulary.string("model");
    if (!path.empty()) {
      const SentenceTokens both(model_from_file(path, folders));
      return {.source = both, .target = both, .joint = true};
    }
    std::vector<std::string> lines = train.source;
    lines.insert(lines.end(), train.target.begin(), train.target.end());
    const SentenceTokens both(train_sentencepiece(lines, options));
    return {.source = both, .target = both, .joint = true};
  }
  const auto own = [&](const char* key, const std::vector<std::string>& sentences) {
    const std::string path = vocabulary.string(key);
    return SentenceTokens(path.empty() ? train_sentencepiece(sentences, options) : model_from_file(path, folders));
  };
  return {.source = own("source_model", train.source), .target = own("target_model", train.target), .joint = false};
}

std::map<std::string, std::string> notes_of(const TranslationVocabulary& vocabulary) {
  if (vocabulary.joint) return {{joint_note, to_hexadecimal(vocabulary.source.model().bytes())}};
  return {{source_note, to_hexadecimal(vocabulary.source.model().bytes())},
          {target_note, to_hexadecimal(vocabulary.target.model().bytes())}};
}

TranslationVocabulary vocabulary_from_notes(const std::map<std::string, std::string>& notes) {
  const auto read = [&notes](const char* name) {
    const auto note = notes.find(name);
    if (note == notes.end()) throw IoError("checkpoint", fmt::format("it has no {} of a translation", name));
    return SentenceTokens(SentencePieceModel::from_bytes(from_hexadecimal(note->second),
                                                         "the vocabulary of the "
                                                         "checkpoint"));
  };
  if (notes.contains(joint_note)) {
    const SentenceTokens both = read(joint_note);
    return {.source = both, .target = both, .joint = true};
  }
  return {.source = read(source_note), .target = read(target_note), .joint = false};
}

SentenceTokens::SentenceTokens(SentencePieceModel model)
    : model_(std::move(model)), size_(model_.size()), begin_(model_.special().begin), end_(model_.special().end) {
  if (begin_ < 0) begin_ = static_cast<std::int32_t>(size_++);
  if (end_ < 0) end_ = static_cast<std::int32_t>(size_++);
}

std::string SentenceTokens::decode(std::span<const std::int32_t> tokens) const {
  std::vector<std::int32_t> pieces;
  std::ranges::copy_if(tokens, std::back_inserter(pieces),
                       [this](std::int32_t token) { return token != begin_ && token != end_; });
  std::string text = model_.decode(pieces);
  // Models that write single bytes can write these.
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return text;
}

}  // namespace bough
