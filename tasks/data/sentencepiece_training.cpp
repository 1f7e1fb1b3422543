#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/data/line_reader.h"
#include "tasks/data/sentencepiece.h"

namespace bough {
namespace {

using TrainerSettings = std::unordered_map<std::string, std::string>;

constexpr std::size_t longest_sentence = 2000;  // bytes; the library passes over lines of more than 4192
constexpr std::int64_t most_language_model_bytes = 10'000'000;
constexpr std::int64_t largest_size = 2'000'000;  // more than Unicode has characters

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

/// Which of the lines of a text training reads: all, or so many that they have about `most` bytes, spread evenly.
class EvenChoice {
 public:
  EvenChoice(std::int64_t bytes, std::int64_t most)
      : share_(bytes <= most ? 1 : static_cast<double>(most) / static_cast<double>(bytes)) {}

  /// Whether the next line is one of them.
  bool next() {
    const double before = share_ * static_cast<double>(line_++);
    return share_ == 1 ||
           static_cast<std::int64_t>(share_ * static_cast<double>(line_)) > static_cast<std::int64_t>(before);
  }

 private:
  double share_;
  std::int64_t line_ = 0;
};

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::span<const std::string_view> sentences) : sentences_(sentences) { take(); }
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
  std::span<const std::string_view> sentences_;
  std::size_t at_ = 0;
  std::string value_;
};

/// Has the library learn a model. A text that is too small for it gives fewer pieces than asked for.
SentencePieceModel run_trainer(TrainerSettings settings, const std::string& kind, std::int64_t size,
                               std::span<const std::string_view> sentences) {
  settings["model_type"] = kind;
  settings["vocab_size"] = std::to_string(size);
  settings["hard_vocab_limit"] = "false";
  settings["num_threads"] = "4";  // decides in which order numbers are added, so it is not that of the machine
  settings["minloglevel"] = "3";  // errors are returned as well
  Sentences iterator(sentences);
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &iterator, &bytes);
  if (!status.ok()) {
    throw ConfigError("sentencepiece", fmt::format("no {} model of {} pieces can be learned from {} lines: {}", kind,
                                                   size, sentences.size(), status.message()));
  }
  return SentencePieceModel::from_bytes(std::move(bytes), "the model just trained");
}

void check_symbols(const std::vector<std::string>& symbols) {
  constexpr std::array<std::string_view, 4> taken = {"<pad>", "<unk>", "<s>", "</s>"};
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::string& symbol = symbols[i];
    if (symbol.empty() || symbol.find_first_of(" \t\r\n\"") != symbol.npos) {
      throw ConfigError("sentencepiece",
                        fmt::format("a symbol has at least one character and neither white space nor quotation marks, "
                                    "unlike '{}'",
                                    symbol));
    }
    if (std::ranges::count(taken, symbol) > 0 || std::ranges::count(symbols, symbol) > 1) {
      throw ConfigError("sentencepiece", fmt::format("there is a piece '{}' already", symbol));
    }
  }
}

void check_training(const SentencePieceTraining& options) {
  constexpr std::array<std::string_view, 3> normalizations = {"nmt_nfkc", "nfkc", "identity"};
  if (options.kind != "bpe" && options.kind != "unigram") {
    throw ConfigError("sentencepiece", fmt::format("there are models of kind bpe and unigram, not '{}'", options.kind));
  }
  if (options.size < 1 || options.size > largest_size) {
    throw ConfigError("sentencepiece",
                      fmt::format("size must be a number from 1 to {}, not {}", largest_size, options.size));
  }
  if (!(options.character_coverage >= 0.98 && options.character_coverage <= 1)) {
    throw ConfigError("sentencepiece",
                      fmt::format("--character-coverage (character_coverage) must be a number from 0.98 to 1, not {}",
                                  options.character_coverage));
  }
  if (std::ranges::count(normalizations, options.normalization) == 0) {
    throw ConfigError("sentencepiece", fmt::format("there are the normalizations {}, not '{}'",
                                                   fmt::join(normalizations, ", "), options.normalization));
  }
  if (options.lowercase && options.normalization == "identity") {
    throw ConfigError("sentencepiece", "the normalization 'identity' keeps the case of letters; nfkc can fold it");
  }
  if (options.most_bytes < 1) {
    throw ConfigError("sentencepiece", fmt::format("most_bytes must be at least 1, not {}", options.most_bytes));
  }
  check_symbols(options.user_symbols);
}

TrainerSettings trainer_settings(const SentencePieceTraining& options) {
  std::string symbols;  // the library reads them as one line of CSV
  for (const std::string& symbol : options.user_symbols) {
    symbols += fmt::format("{}\"{}\"", symbols.empty() ? "" : ",", symbol);
  }
  return {{"pad_id", std::to_string(trained_special_pieces.padding)},
          {"unk_id", std::to_string(trained_special_pieces.unknown)},
          {"bos_id", std::to_string(trained_special_pieces.begin)},
          {"eos_id", std::to_string(trained_special_pieces.end)},
          {"character_coverage", fmt::format("{}", options.character_coverage)},
          {"normalization_rule_name", options.normalization + (options.lowercase ? "_cf" : "")},
          {"byte_fallback", options.byte_fallback ? "true" : "false"},
          {"user_defined_symbols", symbols}};
}

SentencePieceModel learn(std::span<const std::string_view> sentences, const SentencePieceTraining& options) {
  if (sentences.empty()) throw ConfigError("sentencepiece", "a text without any lines has no pieces");
  const TrainerSettings settings = trainer_settings(options);
  // What every model has: special pieces, symbols, bytes, characters. Of a text that normalization leaves no character
  // of, the library would end the program.
  const std::int64_t without_text = 4 + std::ssize(options.user_symbols) + (options.byte_fallback ? 256 : 0);
  const std::int64_t smallest = run_trainer(settings, "char", largest_size, sentences).size();
  if (smallest <= without_text) throw ConfigError("sentencepiece", "a text of white space alone has no pieces");
  if (options.size < smallest) {
    throw ConfigError(
        "sentencepiece",
        fmt::format("a model of this text has at least {} pieces, its characters among them, {} are asked "
                    "for; a lower --character-coverage (character_coverage) than {} leaves rare characters out",
                    smallest, options.size, options.character_coverage));
  }
  SentencePieceModel model = run_trainer(settings, options.kind, options.size, sentences);
  if (model.size() < options.size) {
    throw ConfigError("sentencepiece", fmt::format("a {} model of this text has at most {} pieces, {} are asked for; a "
                                                   "longer text has more",
                                                   options.kind, model.size(), options.size));
  }
  return model;
}

void add_sentences(std::vector<std::string_view>& sentences, std::string_view line) {
  const std::vector<std::string_view> of_line = sentences_of(line);
  sentences.insert(sentences.end(), of_line.begin(), of_line.end());
}

/// Calls on_line for each line of the files.
void for_each_line(std::span<const std::string> paths, FunctionRef<void(std::string_view)> on_line) {
  for (const std::string& path : paths) {
    LineReader reader(path);
    for (std::string_view line; reader.next(line);) on_line(line);
  }
}

}  // namespace

SentencePieceModel SentencePieceModel::train(std::string_view text, const SentencePieceOptions& options) {
  std::vector<std::string_view> sentences = sentences_of(text);
  EvenChoice choice(std::ssize(text), most_language_model_bytes);
  std::erase_if(sentences, [&choice](std::string_view) { return !choice.next(); });
  if (sentences.empty()) throw ConfigError("sentencepiece", "a text without any lines has no pieces");
  const TrainerSettings settings{{"normalization_rule_name", "identity"},
                                 {"remove_extra_whitespaces", "false"},
                                 {"add_dummy_prefix", "false"},
                                 {"byte_fallback", "true"},
                                 {"bos_id", "-1"},
                                 {"eos_id", "-1"}};
  return run_trainer(settings, options.kind, options.size, sentences);
}

SentencePieceModel train_sentencepiece(std::span<const std::string> lines, const SentencePieceTraining& options) {
  check_training(options);
  std::int64_t bytes = 0;
  for (const std::string& line : lines) bytes += std::ssize(line);
  EvenChoice choice(bytes, options.most_bytes);
  std::vector<std::string_view> sentences;
  for (const std::string& line : lines) {
    if (choice.next()) add_sentences(sentences, line);
  }
  return learn(sentences, options);
}

SentencePieceModel train_sentencepiece_on_files(std::span<const std::string> paths,
                                                const SentencePieceTraining& options) {
  check_training(options);
  std::int64_t bytes = 0;
  for_each_line(paths, [&bytes](std::string_view line) { bytes += std::ssize(line); });
  EvenChoice choice(bytes, options.most_bytes);
  std::vector<std::string> chosen;
  for_each_line(paths, [&](std::string_view line) {
    if (choice.next()) chosen.emplace_back(line);
  });
  std::vector<std::string_view> sentences;
  for (const std::string& line : chosen) add_sentences(sentences, line);
  return learn(sentences, options);
}

}  // namespace bough
