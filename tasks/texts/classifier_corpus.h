#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bough/core/config.h"
#include "bough/core/tensor.h"
#include "tasks/data/labelled_text.h"
#include "tasks/texts/word_table.h"

/// What all corpora of classifiers have, whether their texts are sequences or trees.
namespace bough {

/// What is known of the texts of a classifier beside the texts.
struct ClassifierCorpus {
  std::vector<std::string> labels = {};  ///< names of the classes
  WordTable words = {};
  Tensor vectors = {};  ///< published vectors of all words, [words, width]; undefined without a file of them
  /// What a reader of the log should know: sizes, lines left out, how many words have a published vector.
  std::vector<std::string> remarks = {};
  std::int64_t longest = 0;  ///< words of the longest sequence
  /// Classes of the training texts in the sense of the test texts: of sentences, also where their phrases are learned.
  std::vector<std::int32_t> train_labels = {};
};

/// How the files of a task are written; ConfigError for a format that does not exist.
TextFormat text_format_of(const Settings& task);

/// Which of `count` training texts are held out for validation: a share of them, at least one. ConfigError if none is
/// left to train on.
std::vector<bool> choose_held_out(std::size_t count, double share, std::uint64_t seed);

/// Says how many training texts each class has; ConfigError unless two of them have any. `labels` are of the texts, and
/// those below 0 do not count.
void require_classes(const std::vector<std::string>& names, const std::vector<std::int32_t>& labels,
                     std::vector<std::string>& remarks);

/// ", 3 malformed lines left out", for remarks; empty if there are none.
std::string remark_on_skipped(std::int64_t skipped);

/// Keeps of corpus.words those that are frequent in training or have a published vector; all others become unknown.
/// `splits` are the words of the texts in numbers of the table, training first, and get those of the new one. Sets
/// corpus.vectors and adds remarks.
void keep_known_words(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed,
                      const std::vector<std::vector<std::int32_t>*>& splits, ClassifierCorpus& corpus);

}  // namespace bough
