#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bough/core/config.h"
#include "bough/core/parallel.h"
#include "tasks/data/labelled_text.h"
#include "tasks/texts/classifier_corpus.h"
#include "tasks/texts/encoded_texts.h"
#include "tasks/texts/word_table.h"

namespace bough {

/// Training, validation and test texts of a classifier, as numbers of words.
struct LabelledCorpus : ClassifierCorpus {
  EncodedTexts train = {}, valid = {}, test = {};
};

/// Keys of "task" that say where labelled texts are and how they are read; `formats` are those that the task takes.
std::vector<Parameter> labelled_corpus_parameters(const std::vector<TextFormat>& formats);

/// ConfigError for what the table cannot tell. Reads no files.
void check_labelled_corpus(const Settings& task);

/// Whether the model reads both sentences of a pair.
bool reads_pairs(const Settings& task);
/// Whether of a pair it reads the second sentence alone.
bool reads_hypotheses(const Settings& task);

/// Reads all files. Words are those that training texts have min_count times, and, if there are published vectors, all
/// words of any of the texts that have one. Validation texts are a seeded part of the training texts unless they have a
/// file of their own.
///
/// Errors of read_labelled_texts, for which a label that the training texts do not have is a malformed line, and of
/// require_classes.
LabelledCorpus load_labelled_corpus(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed);

/// Cuts new texts as the settings say.
class TextCutter {
 public:
  explicit TextCutter(const Settings& task);
  /// Calls on_word with each word of a text as it is looked up, those after max_length too.
  void for_each_word(std::string_view text, FunctionRef<void(std::string_view)> on_word) const;
  std::optional<std::int64_t> max_length() const { return max_length_; }

 private:
  bool lower_case_;
  std::optional<std::int64_t> max_length_;
};

}  // namespace bough
