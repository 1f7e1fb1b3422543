#include "tasks/texts/labelled_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"
#include "tasks/data/data_path.h"
#include "tasks/data/labelled_trees.h"
#include "tasks/data/tokenizer.h"

namespace bough {
namespace {

/// Texts of all three splits.
struct RawCorpus {
  LabelledTexts train, valid, test;
};

LabelledTexts read_split(const Settings& task, const char* key, const std::vector<std::string>& folders,
                         const std::vector<std::string>& labels, std::vector<std::string>& remarks) {
  const TextFormat format = text_format_of(task);
  const bool phrases = has_trees(format) && task.boolean("phrases") && std::string_view(key) == "train";
  LabelledTexts texts =
      read_labelled_texts(find_data_file(task.string(key), folders), format,
                          {.phrases = phrases,
                           .skip_bad = task.boolean("skip_bad"),
                           .labels = format == TextFormat::tsv ? labels : std::vector<std::string>{}});
  std::string remark = fmt::format("{}: {} {}", key, texts.texts.size(), phrases ? "phrases" : "texts");
  if (texts.undecided > 0) remark += fmt::format(", {} without a gold label left out", texts.undecided);
  remarks.push_back(remark + remark_on_skipped(texts.skipped));
  return texts;
}

/// Moves a seeded share of the training texts, of which there are two at least, in their order to the validation texts.
void split_off(RawCorpus& corpus, double share, std::uint64_t seed) {
  std::vector<LabelledText> all = std::exchange(corpus.train.texts, {});
  const std::vector<bool> held_out = choose_held_out(all.size(), share, seed);
  corpus.valid.labels = corpus.train.labels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    (held_out[i] ? corpus.valid : corpus.train).texts.push_back(std::move(all[i]));
  }
}

/// Cuts texts into words of a table that grows.
class Cutter {
 public:
  Cutter(const Settings& task, WordTable& words)
      : tokenizer_({.lower_case = task.boolean("lower_case")}),
        words_(&words),
        max_length_(task.optional_integer("max_length")) {}

  EncodedTexts cut(const LabelledTexts& texts, bool pairs) {
    EncodedTexts result{.sequences_per_text = pairs ? 2 : 1};
    for (const LabelledText& text : texts.texts) {
      add(text.text, result);
      if (pairs) add(text.second, result);
      result.labels.push_back(text.label);
    }
    return result;
  }

 private:
  void add(std::string_view text, EncodedTexts& result) {
    const std::size_t begin = result.words.size();
    tokenizer_.tokenize(text, [&](std::string_view word) { result.words.push_back(words_->add(word)); });
    if (result.words.size() == begin) result.words.push_back(WordTable::unknown);
    if (max_length_ && std::cmp_greater(result.words.size() - begin, *max_length_)) {
      result.words.resize(begin + static_cast<std::size_t>(*max_length_));
    }
    result.offsets.push_back(std::ssize(result.words));
  }

  Tokenizer tokenizer_;
  WordTable* words_;
  std::optional<std::int64_t> max_length_;
};

std::vector<std::int32_t> labels_of(const LabelledTexts& texts) {
  std::vector<std::int32_t> labels;
  for (const LabelledText& text : texts.texts) labels.push_back(text.label);
  return labels;
}

/// Of the sentences whose phrases are learned.
std::vector<std::int32_t> sentence_labels(const Settings& task, const std::vector<std::string>& folders) {
  return labels_of(read_labelled_texts(find_data_file(task.string("train"), folders), text_format_of(task),
                                       {.skip_bad = task.boolean("skip_bad")}));
}

std::int64_t longest_of(const EncodedTexts& texts) {
  std::int64_t longest = 1;
  for (std::int64_t i = 0; i < texts.num_sequences(); ++i) longest = std::max(longest, std::ssize(texts.sequence(i)));
  return longest;
}

}  // namespace

std::vector<Parameter> labelled_corpus_parameters(const std::vector<TextFormat>& formats) {
  std::vector<std::string> names;
  for (const TextFormat format : formats) names.emplace_back(to_string(format));
  const bool phrases = std::ranges::any_of(formats, has_trees);
  std::vector<Parameter> parameters = {
      choice_parameter("format", "how the files are written", names),
      string_parameter("train", "file with the texts to learn from, plain or .gz"),
      {.name = "valid",
       .type = ParameterType::string,
       .help = "file with the texts that decide which checkpoint is the best; default: valid_fraction of train"},
      number_parameter("valid_fraction", "share of train that is held out for validation, chosen by train.seed",
                       {.initial = 0.1, .minimum = 0.0001, .maximum = 0.9}),
      string_parameter("test", "file with the texts that the best checkpoint is scored on"),
      {.name = "embeddings",
       .type = ParameterType::string,
       .help = "file of published word vectors (GloVe, word2vec as text), plain or .gz; default: all are trained from "
               "random ones"},
      boolean_parameter("lower_case", "make letters small before looking words up", true),
      integer_parameter("min_count",
                        "words that the training texts have less often are unknown, unless they have a published "
                        "vector",
                        {.initial = 2, .smallest = 1}),
      integer_parameter("max_length", "words of a text that are read, its first ones; default: all",
                        {.smallest = 1, .largest = max_sequence_length}),
      integer_parameter(
          "degree_length",
          "words of the text for whose graph attention degree, nodes and edges are reported, and a wanted "
          "degree is solved",
          {.initial = 64, .smallest = 1, .largest = max_sequence_length}),
      boolean_parameter("skip_bad", "leave malformed lines out and say how many, instead of ending with an error")};
  if (std::ranges::any_of(formats, is_pair)) {
    parameters.push_back(choice_parameter(
        "reads", "both sentences, or the hypothesis alone: how much it gives away by itself", {"both", "hypothesis"}));
  }
  if (phrases) {
    parameters.push_back(boolean_parameter(
        "phrases", "of sst5, sst2: learn from every labelled phrase of a tree, not sentences alone", true));
  }
  return parameters;
}

void check_labelled_corpus(const Settings& task) {
  if (!has_trees(text_format_of(task)) || !task.boolean("phrases") || task.has("valid")) return;
  throw ConfigError("task",
                    "phrases of one sentence would be in training and validation; name a file with valid, or set "
                    "phrases to false");
}

bool reads_pairs(const Settings& task) { return is_pair(text_format_of(task)) && task.string("reads") == "both"; }

bool reads_hypotheses(const Settings& task) { return is_pair(text_format_of(task)) && !reads_pairs(task); }

LabelledCorpus load_labelled_corpus(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed) {
  LabelledCorpus corpus;
  RawCorpus raw;
  raw.train = read_split(task, "train", folders, {}, corpus.remarks);
  corpus.labels = raw.train.labels;
  require_classes(corpus.labels, labels_of(raw.train), corpus.remarks);
  if (task.has("valid")) {
    raw.valid = read_split(task, "valid", folders, corpus.labels, corpus.remarks);
  } else {
    split_off(raw, task.number("valid_fraction"), seed);
    corpus.remarks.push_back(fmt::format("valid: {} of these", raw.valid.texts.size()));
  }
  raw.test = read_split(task, "test", folders, corpus.labels, corpus.remarks);
  const bool pairs = reads_pairs(task);
  if (reads_hypotheses(task)) {
    for (LabelledTexts* split : {&raw.train, &raw.valid, &raw.test}) {
      for (LabelledText& text : split->texts) text.text = std::move(text.second);
    }
  }
  Cutter cutter(task, corpus.words);
  corpus.train = cutter.cut(raw.train, pairs);
  corpus.valid = cutter.cut(raw.valid, pairs);
  corpus.test = cutter.cut(raw.test, pairs);
  const bool phrases = has_trees(text_format_of(task)) && task.boolean("phrases");
  corpus.train_labels = phrases ? sentence_labels(task, folders) : corpus.train.labels;
  keep_known_words(task, folders, seed, {&corpus.train.words, &corpus.valid.words, &corpus.test.words}, corpus);
  corpus.longest = std::max({longest_of(corpus.train), longest_of(corpus.valid), longest_of(corpus.test)});
  return corpus;
}

TextCutter::TextCutter(const Settings& task)
    : lower_case_(task.boolean("lower_case")), max_length_(task.optional_integer("max_length")) {}

void TextCutter::for_each_word(std::string_view text, FunctionRef<void(std::string_view)> on_word) const {
  Tokenizer({.lower_case = lower_case_}).tokenize(text, on_word);
}

}  // namespace bough
