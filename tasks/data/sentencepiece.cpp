#include "tasks/data/sentencepiece.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::string_view space_mark = "\xe2\x96\x81";  // how pieces write a space
constexpr std::size_t longest_sentence = 2000;           // bytes; the library passes over lines of more than 4192
constexpr std::size_t most_training_bytes = 10'000'000;

/// Cuts a text into lines, and long lines at a space or, without one, before a character.
std::vector<std::string_view> sentences_of(std::string_view text) {
  std::vector<std::string_view> sentences;
  while (!text.empty()) {
    const std::size_t line_break = std::min(text.find('\n'), text.size());
    std::size_t end = line_break;
    if (end > longest_sentence) {
      const std::size_t space = text.rfind(' ', longest_sentence);
      end = space != std::string_view::npos && space > 0 ? space : longest_sentence;
      while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    }
    if (end > 0) sentences.push_back(text.substr(0, end));
    text.remove_prefix(end == line_break ? std::min(line_break + 1, text.size()) : end);
  }
  return sentences;
}

/// As many as training reads, spread evenly.
std::vector<std::string_view> some_of(std::vector<std::string_view> sentences, std::size_t bytes) {
  if (bytes <= most_training_bytes) return sentences;
  std::vector<std::string_view> chosen;
  const double share = static_cast<double>(most_training_bytes) / static_cast<double>(bytes);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto before = static_cast<std::size_t>(share * static_cast<double>(i));
    if (static_cast<std::size_t>(share * static_cast<double>(i + 1)) > before) chosen.push_back(sentences[i]);
  }
  return chosen;
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string_view> sentences) : sentences_(std::move(sentences)) { take(); }
  bool done() const override { return at_ >= sentences_.size(); }
  void Next() override {
    ++at_;
    take();
  }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void take() {
    if (!done()) value_ = sentences_[at_];
  }
  std::vector<std::string_view> sentences_;
  std::size_t at_ = 0;
  std::string value_;
};

std::string with_spaces(std::string text) {
  for (std::size_t at = text.find(space_mark); at != std::string::npos; at = text.find(space_mark, at + 1)) {
    text.replace(at, space_mark.size(), " ");
  }
  return text;
}

}  // namespace

struct SentencePieceModel::State {
  sentencepiece::SentencePieceProcessor processor = {};
  std::string bytes = {};
  std::vector<std::string> texts = {};                           ///< by piece
  std::map<std::string, std::int32_t, std::less<>> pieces = {};  ///< of one character or byte, by text
};

bool has_sentencepiece() { return true; }

SentencePieceModel::SentencePieceModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

SentencePieceModel SentencePieceModel::train(std::string_view text, const SentencePieceOptions& options) {
  std::vector<std::string_view> sentences = some_of(sentences_of(text), text.size());
  if (sentences.empty()) throw ConfigError("sentencepiece", "a text without any lines has no pieces");
  Sentences iterator(std::move(sentences));
  const std::unordered_map<std::string, std::string> settings{
      {"model_type", options.kind},
      {"vocab_size", std::to_string(options.size)},
      {"hard_vocab_limit", "false"},  // a small text may have fewer pieces
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"byte_fallback", "true"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"num_threads", "4"},  // decides in which order numbers are added, so it is not that of the machine
      {"minloglevel", "2"},
  };
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &iterator, &bytes);
  if (!status.ok()) {
    throw ConfigError("sentencepiece",
                      fmt::format("no {} model of {} pieces can be learned from a text of {} bytes: {}", options.kind,
                                  options.size, text.size(), status.message()));
  }
  return from_bytes(std::move(bytes), "the model just trained");
}

SentencePieceModel SentencePieceModel::from_bytes(std::string bytes, const std::string& origin) {
  auto state = std::make_shared<State>();
  const auto status = state->processor.LoadFromSerializedProto(bytes);
  if (!status.ok()) {
    throw IoError("sentencepiece", fmt::format("{} is no SentencePiece model: {}", origin, status.message()));
  }
  state->bytes = std::move(bytes);
  const auto& processor = state->processor;
  for (int piece = 0; piece < processor.GetPieceSize(); ++piece) {
    if (processor.IsByte(piece)) {
      state->texts.emplace_back(1, static_cast<char>(std::stoi(processor.IdToPiece(piece).substr(1, 4), nullptr, 16)));
    } else if (processor.IsControl(piece) || processor.IsUnknown(piece)) {
      state->texts.emplace_back();
    } else {
      state->texts.push_back(with_spaces(processor.IdToPiece(piece)));
    }
  }
  for (const bool bytes_only : {false, true}) {  // a piece of text comes before the byte
    for (int piece = 0; piece < processor.GetPieceSize(); ++piece) {
      const std::string& text = state->texts[static_cast<std::size_t>(piece)];
      if (!text.empty() && processor.IsByte(piece) == bytes_only) state->pieces.emplace(text, piece);
    }
  }
  return SentencePieceModel(std::move(state));
}

std::int64_t SentencePieceModel::size() const { return std::ssize(state_->texts); }

const std::string& SentencePieceModel::bytes() const { return state_->bytes; }

std::vector<std::int32_t> SentencePieceModel::encode(std::string_view line) const {
  std::vector<int> pieces;
  const auto status = state_->processor.Encode(line, &pieces);
  if (!status.ok()) throw ConfigError("sentencepiece", fmt::format("a line cannot be cut: {}", status.message()));
  return {pieces.begin(), pieces.end()};
}

const std::string& SentencePieceModel::text_of(std::int64_t piece) const {
  return state_->texts.at(static_cast<std::size_t>(piece));
}

std::optional<std::int32_t> SentencePieceModel::find(std::string_view text) const {
  const auto found = state_->pieces.find(text);
  return found == state_->pieces.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace bough
