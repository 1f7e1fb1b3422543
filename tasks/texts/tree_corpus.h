#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bough/core/config.h"
#include "tasks/data/tokenizer.h"
#include "tasks/texts/classifier_corpus.h"
#include "tasks/texts/encoded_trees.h"

namespace bough {

/// Training, validation and test trees of a classifier, as numbers of words. Training trees have the labels of all
/// phrases, or with "phrases": false those of the sentences; the others have those of the sentences. Trees without a
/// label, neutral ones of sst2, are left out.
struct TreeCorpus : ClassifierCorpus {
  EncodedTrees train = {}, valid = {}, test = {};
};

/// A word of a tree as it is looked up: with small letters if the tokenizer makes them, but whole. May be empty.
std::string whole_word(const Tokenizer& tokenizer, std::string_view word);

/// ConfigError for settings of a task with which trees cannot be read. Reads no files.
void check_tree_corpus(const Settings& task);

/// Reads all files, with the same keys as load_labelled_corpus. A word of a tree stays whole. With `binary`, a phrase
/// of more than two parts is an error. IoError, ConfigError as read_labelled_trees.
TreeCorpus load_tree_corpus(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed,
                            bool binary);

}  // namespace bough
