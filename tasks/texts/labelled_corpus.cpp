#include "tasks/texts/labelled_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/graph/graph_generator.h"
#include "tasks/data/data_path.h"
#include "tasks/data/tokenizer.h"
#include "tasks/data/word_vectors.h"

namespace bough {
namespace {

/// Stream of the random numbers that choose validation texts.
constexpr std::uint64_t validation_stream = 0x76616c6964;

TextFormat format_of(const Settings& task) {
  for (const TextFormat format : text_formats()) {
    if (task.string("format") == to_string(format)) return format;
  }
  throw ConfigError("task", fmt::format("there is no format '{}'", task.string("format")));
}

bool has_phrases(TextFormat format) { return format == TextFormat::sst5 || format == TextFormat::sst2; }

/// Texts of all three splits.
struct RawCorpus {
  LabelledTexts train, valid, test;
};

LabelledTexts read_split(const Settings& task, const char* key, const std::vector<std::string>& folders,
                         const std::vector<std::string>& labels, std::vector<std::string>& remarks) {
  const TextFormat format = format_of(task);
  const bool phrases = has_phrases(format) && task.boolean("phrases") && std::string_view(key) == "train";
  LabelledTexts texts =
      read_labelled_texts(find_data_file(task.string(key), folders), format,
                          {.phrases = phrases,
                           .skip_bad = task.boolean("skip_bad"),
                           .labels = format == TextFormat::tsv ? labels : std::vector<std::string>{}});
  std::string remark = fmt::format("{}: {} {}", key, texts.texts.size(), phrases ? "phrases" : "texts");
  if (texts.undecided > 0) remark += fmt::format(", {} without a gold label left out", texts.undecided);
  if (texts.skipped > 0) remark += fmt::format(", {} malformed lines left out", texts.skipped);
  remarks.push_back(std::move(remark));
  return texts;
}

/// Moves a seeded share of the training texts, of which there are two at least, in their order to the validation texts.
void split_off(RawCorpus& corpus, double share, std::uint64_t seed) {
  std::vector<LabelledText> all = std::exchange(corpus.train.texts, {});
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  const RandomStream random{seed, validation_stream};
  const auto count = static_cast<std::size_t>(std::max(1.0, share * static_cast<double>(all.size())));
  std::vector<bool> chosen(all.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + (std::uint64_t{random(i)} * (all.size() - i) >> 32)]);
    chosen[order[i]] = true;
  }
  corpus.valid.labels = corpus.train.labels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    (chosen[i] ? corpus.valid : corpus.train).texts.push_back(std::move(all[i]));
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

std::vector<std::int64_t> counts_of(const EncodedTexts& texts, std::int64_t words) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(words));
  for (const std::int32_t word : texts.words) ++counts[static_cast<std::size_t>(word)];
  return counts;
}

/// Keeps the words that are frequent in training or have a published vector; all others become unknown.
void keep_known_words(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed,
                      LabelledCorpus& corpus) {
  const WordTable all = std::exchange(corpus.words, {});
  const std::vector<std::int64_t> counts = counts_of(corpus.train, all.size());
  const std::int64_t min_count = task.integer("min_count");
  std::vector<bool> found(static_cast<std::size_t>(all.size()));
  const bool published = task.has("embeddings");
  WordVectors vectors;
  if (published) {
    vectors = read_word_vectors(find_data_file(task.string("embeddings"), folders), all.words(), seed);
    for (std::size_t i = 0; i < vectors.found.size(); ++i) found[WordTable::first_word + i] = vectors.found[i];
  }
  std::vector<std::int32_t> number_of(static_cast<std::size_t>(all.size()), WordTable::unknown);
  number_of[WordTable::placeholder] = WordTable::placeholder;
  std::vector<std::int32_t> kept_rows;  // of the vectors
  double with_vector = 0, tokens = 0, known = 0;
  for (std::size_t number = 0; number < number_of.size(); ++number) {
    tokens += static_cast<double>(counts[number]);
    if (number < WordTable::first_word || (counts[number] < min_count && !found[number])) continue;
    number_of[number] = corpus.words.add(all.text(static_cast<std::int32_t>(number)));
    kept_rows.push_back(static_cast<std::int32_t>(number) - WordTable::first_word);
    known += static_cast<double>(counts[number]);
    if (found[number]) with_vector += static_cast<double>(counts[number]);
  }
  for (EncodedTexts* texts : {&corpus.train, &corpus.valid, &corpus.test}) {
    for (std::int32_t& word : texts->words) word = number_of[static_cast<std::size_t>(word)];
  }
  if (corpus.words.words().empty()) {
    throw ConfigError("task",
                      fmt::format("no word is known: none of the {} different words of the training texts occurs "
                                  "min_count = {} times{}",
                                  all.words().size(), min_count, published ? " or has a published vector" : ""));
  }
  corpus.remarks.push_back(fmt::format("{} words, {:.2f}% of the training tokens", corpus.words.words().size(),
                                       100 * known / std::max(1.0, tokens)));
  if (!published) return;
  const auto with =
      std::ranges::count_if(kept_rows, [&](std::int32_t row) { return vectors.found[static_cast<std::size_t>(row)]; });
  corpus.remarks.push_back(fmt::format(
      "'{}' has {} of these words ({:.1f}%), {:.1f}% of the training tokens; the others have random ones",
      task.string("embeddings"), with, 100 * static_cast<double>(with) / static_cast<double>(kept_rows.size()),
      100 * with_vector / std::max(1.0, tokens)));
  // Unknown words have the mean of all vectors, placeholders a row that is never read.
  const auto width = static_cast<std::size_t>(vectors.rows.size(1));
  const float* rows = vectors.rows.data<float>();
  std::vector<float> table((kept_rows.size() + WordTable::first_word) * width);
  std::vector<double> mean(width);
  for (std::size_t i = 0; i < kept_rows.size(); ++i) {
    const float* row = rows + static_cast<std::size_t>(kept_rows[i]) * width;
    std::copy_n(row, width, table.data() + (i + WordTable::first_word) * width);
    for (std::size_t j = 0; j < width; ++j) mean[j] += row[j] / static_cast<double>(kept_rows.size());
  }
  std::ranges::transform(mean, table.begin(), [](double value) { return static_cast<float>(value); });
  corpus.vectors = Tensor::from_vector(table, {corpus.words.size(), static_cast<std::int64_t>(width)});
}

/// Says how many training texts each class has; ConfigError unless there are two that have any.
void require_classes(const LabelledTexts& train, std::vector<std::string>& remarks) {
  constexpr std::size_t most_named = 10;
  std::vector<std::int64_t> counts(train.labels.size());
  for (const LabelledText& text : train.texts) ++counts[static_cast<std::size_t>(text.label)];
  std::string named;
  for (std::size_t label = 0; label < std::min(counts.size(), most_named); ++label) {
    named += fmt::format("{}{} {}", label == 0 ? "" : ", ", train.labels[label], counts[label]);
  }
  if (counts.size() > most_named) named += ", ...";
  if (std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }) < 2) {
    throw ConfigError(
        "task", fmt::format("all training texts are of one class ({}), so there is nothing to tell apart", named));
  }
  remarks.push_back(fmt::format("{} classes: {}", counts.size(), named));
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
  const bool phrases = std::ranges::any_of(formats, has_phrases);
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
  if (!has_phrases(format_of(task)) || !task.boolean("phrases") || task.has("valid")) return;
  throw ConfigError("task",
                    "phrases of one sentence would be in training and validation; name a file with valid, or set "
                    "phrases to false");
}

bool reads_pairs(const Settings& task) { return is_pair(format_of(task)) && task.string("reads") == "both"; }

LabelledCorpus load_labelled_corpus(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed) {
  LabelledCorpus corpus;
  RawCorpus raw;
  raw.train = read_split(task, "train", folders, {}, corpus.remarks);
  corpus.labels = raw.train.labels;
  require_classes(raw.train, corpus.remarks);
  if (task.has("valid")) {
    raw.valid = read_split(task, "valid", folders, corpus.labels, corpus.remarks);
  } else {
    split_off(raw, task.number("valid_fraction"), seed);
    corpus.remarks.push_back(fmt::format("valid: {} of these", raw.valid.texts.size()));
  }
  raw.test = read_split(task, "test", folders, corpus.labels, corpus.remarks);
  for (const LabelledTexts* split : {&raw.valid, &raw.test}) {
    if (split->labels != corpus.labels)
      throw ConfigError("task", "the files have other labels than the training texts");
  }
  const bool pairs = reads_pairs(task);
  if (is_pair(format_of(task)) && !pairs) {
    for (LabelledTexts* split : {&raw.train, &raw.valid, &raw.test}) {
      for (LabelledText& text : split->texts) text.text = std::move(text.second);
    }
  }
  Cutter cutter(task, corpus.words);
  corpus.train = cutter.cut(raw.train, pairs);
  corpus.valid = cutter.cut(raw.valid, pairs);
  corpus.test = cutter.cut(raw.test, pairs);
  keep_known_words(task, folders, seed, corpus);
  corpus.longest = std::max({longest_of(corpus.train), longest_of(corpus.valid), longest_of(corpus.test)});
  return corpus;
}

TextEncoder::TextEncoder(const Settings& task, const WordTable& words)
    : words_(&words), lower_case_(task.boolean("lower_case")), max_length_(task.optional_integer("max_length")) {}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) const {
  std::vector<std::int32_t> numbers;
  for_each_word(text, [&](std::string_view word) { numbers.push_back(words_->find(word)); });
  if (numbers.empty()) numbers.push_back(WordTable::unknown);
  if (max_length_ && std::cmp_greater(numbers.size(), *max_length_))
    numbers.resize(static_cast<std::size_t>(*max_length_));
  return numbers;
}

void TextEncoder::for_each_word(std::string_view text, FunctionRef<void(std::string_view)> on_word) const {
  Tokenizer({.lower_case = lower_case_}).tokenize(text, on_word);
}

}  // namespace bough
