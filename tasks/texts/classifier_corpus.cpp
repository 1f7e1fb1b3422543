#include "tasks/texts/classifier_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "tasks/data/data_path.h"
#include "tasks/data/word_vectors.h"

namespace bough {
namespace {

/// Stream of the random numbers that choose validation texts.
constexpr std::uint64_t validation_stream = 0x76616c6964;

std::vector<std::int64_t> counts_of(const std::vector<std::int32_t>& text, std::int64_t words) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(words));
  for (const std::int32_t word : text) ++counts[static_cast<std::size_t>(word)];
  return counts;
}

}  // namespace

TextFormat text_format_of(const Settings& task) {
  for (const TextFormat format : text_formats()) {
    if (task.string("format") == to_string(format)) return format;
  }
  throw ConfigError("task", fmt::format("there is no format '{}'", task.string("format")));
}

std::vector<bool> choose_held_out(std::size_t count, double share, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const RandomStream random{seed, validation_stream};
  const auto chosen = static_cast<std::size_t>(std::max(1.0, share * static_cast<double>(count)));
  if (chosen >= count) {
    throw ConfigError("task", fmt::format("valid_fraction = {} of {} texts leaves none to train on", share, count));
  }
  std::vector<bool> held_out(count);
  for (std::size_t i = 0; i < chosen; ++i) {
    std::swap(order[i], order[i + (std::uint64_t{random(i)} * (count - i) >> 32)]);
    held_out[order[i]] = true;
  }
  return held_out;
}

void require_classes(const std::vector<std::string>& names, const std::vector<std::int32_t>& labels,
                     std::vector<std::string>& remarks) {
  constexpr std::size_t most_named = 10;
  std::vector<std::int64_t> counts(names.size());
  for (const std::int32_t label : labels) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)];
  }
  std::string named;
  for (std::size_t label = 0; label < std::min(counts.size(), most_named); ++label) {
    named += fmt::format("{}{} {}", label == 0 ? "" : ", ", names[label], counts[label]);
  }
  if (counts.size() > most_named) named += ", ...";
  if (std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }) < 2) {
    throw ConfigError(
        "task", fmt::format("all training texts are of one class ({}), so there is nothing to tell apart", named));
  }
  remarks.push_back(fmt::format("{} classes: {}", counts.size(), named));
}

std::string remark_on_skipped(std::int64_t skipped) {
  return skipped == 0 ? "" : fmt::format(", {} malformed line{} left out", skipped, skipped == 1 ? "" : "s");
}

void keep_known_words(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed,
                      const std::vector<std::vector<std::int32_t>*>& splits, ClassifierCorpus& corpus) {
  const WordTable all = std::exchange(corpus.words, {});
  const std::vector<std::int64_t> counts = counts_of(*splits.front(), all.size());
  const std::int64_t min_count = task.integer("min_count");
  std::vector<bool> found(static_cast<std::size_t>(all.size()));
  const bool published = task.has("embeddings");
  WordVectors vectors;
  if (published) {
    vectors = read_word_vectors(find_data_file(task.string("embeddings"), folders), all.words(), seed,
                                task.boolean("skip_bad"));
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
  for (std::vector<std::int32_t>* split : splits) {
    for (std::int32_t& word : *split) word = number_of[static_cast<std::size_t>(word)];
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
      "'{}' has {} of these words ({:.1f}%), {:.1f}% of the training tokens; the others have random ones{}",
      task.string("embeddings"), with, 100 * static_cast<double>(with) / static_cast<double>(kept_rows.size()),
      100 * with_vector / std::max(1.0, tokens), remark_on_skipped(vectors.skipped)));
  // Unknown words have the mean of all vectors, placeholders a row of which nothing is left.
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

}  // namespace bough
