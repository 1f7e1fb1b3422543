#include "tasks/texts/tree_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/data/data_path.h"
#include "tasks/data/labelled_trees.h"

namespace bough {
namespace {

/// The labels of which nodes are kept.
enum class KeptLabels { phrases, sentences };

/// Turns trees into numbers of a table that grows.
class TreeEncoder {
 public:
  TreeEncoder(const Settings& task, WordTable& words)
      : tokenizer_({.lower_case = task.boolean("lower_case")}), words_(&words) {}

  EncodedTrees encode(const std::vector<PhraseTree>& trees, KeptLabels kept) {
    EncodedTrees result;
    for (const PhraseTree& tree : trees) {
      const auto counts = [&](const PhraseTree::Node& node) {
        return node.label != PhraseTree::no_label && (kept == KeptLabels::phrases || node.parent < 0);
      };
      if (std::ranges::none_of(tree.nodes, counts)) continue;
      for (const std::string& word : tree.words) result.words.push_back(number_of(word));
      for (const PhraseTree::Node& node : tree.nodes) {
        result.parents.push_back(node.parent);
        result.labels.push_back(counts(node) ? node.label : EncodedTrees::no_label);
      }
      result.word_offsets.push_back(std::ssize(result.words));
      result.node_offsets.push_back(std::ssize(result.parents));
    }
    return result;
  }

 private:
  std::int32_t number_of(const std::string& word) {
    const std::string whole = whole_word(tokenizer_, word);
    return whole.empty() ? WordTable::unknown : words_->add(whole);
  }

  Tokenizer tokenizer_;
  WordTable* words_;
};

std::int64_t longest_of(const EncodedTrees& trees) {
  std::int64_t longest = 1;
  for (std::int64_t i = 0; i < trees.num_trees(); ++i) longest = std::max(longest, std::ssize(trees.words_of(i)));
  return longest;
}

/// "train: 8544 trees, 318582 labelled phrases".
std::string remark_on(const char* key, const EncodedTrees& trees, KeptLabels kept, std::int64_t skipped) {
  std::string remark = fmt::format("{}: {} trees", key, trees.num_trees());
  if (kept == KeptLabels::phrases) {
    const auto is_label = [](std::int32_t label) { return label != EncodedTrees::no_label; };
    remark += fmt::format(", {} labelled phrases", std::ranges::count_if(trees.labels, is_label));
  }
  return remark + remark_on_skipped(skipped);
}

}  // namespace

std::string whole_word(const Tokenizer& tokenizer, std::string_view word) {
  std::string whole;
  tokenizer.tokenize(word, [&whole](std::string_view part) { whole += part; });
  return whole;
}

void check_tree_corpus(const Settings& task) {
  if (!has_trees(text_format_of(task))) {
    throw ConfigError("task", fmt::format("format = {} has no trees for the model to run along; use sst5 or sst2, or "
                                          "set along to \"graph\"",
                                          task.string("format")));
  }
  if (task.has("max_length")) {
    throw ConfigError("task", fmt::format("max_length = {} would cut trees, which are read whole; leave it out",
                                          task.integer("max_length")));
  }
  if (const std::int64_t shifts = task.integer("shifts"); shifts > 0) {
    throw ConfigError("task", fmt::format("shifts = {}, and placeholders in front of a text have no place in its tree; "
                                          "leave it out, or set along to \"graph\"",
                                          shifts));
  }
}

TreeCorpus load_tree_corpus(const Settings& task, const std::vector<std::string>& folders, std::uint64_t seed,
                            bool binary) {
  const auto read = [&](const char* key) {
    return read_labelled_trees(find_data_file(task.string(key), folders), text_format_of(task),
                               {.skip_bad = task.boolean("skip_bad"), .binary = binary});
  };
  LabelledTrees train = read("train"), valid, test = read("test");
  if (task.has("valid")) {
    valid = read("valid");
  } else {
    std::vector<PhraseTree> all = std::exchange(train.trees, {});
    const std::vector<bool> held_out = choose_held_out(all.size(), task.number("valid_fraction"), seed);
    for (std::size_t i = 0; i < all.size(); ++i) (held_out[i] ? valid : train).trees.push_back(std::move(all[i]));
  }
  TreeCorpus corpus;
  corpus.labels = train.labels;
  TreeEncoder encoder(task, corpus.words);
  const KeptLabels trained = task.boolean("phrases") ? KeptLabels::phrases : KeptLabels::sentences;
  const auto encode = [&](const char* key, const LabelledTrees& trees, KeptLabels kept) {
    EncodedTrees encoded = encoder.encode(trees.trees, kept);
    if (encoded.num_trees() == 0) {
      throw IoError("data", fmt::format("no tree of {} has a label that counts; {} leaves neutral ones out", key,
                                        task.string("format")));
    }
    corpus.remarks.push_back(remark_on(key, encoded, kept, trees.skipped));
    corpus.longest = std::max(corpus.longest, longest_of(encoded));
    return encoded;
  };
  corpus.train = encode("train", train, trained);
  corpus.valid = encode("valid", valid, KeptLabels::sentences);
  corpus.test = encode("test", test, KeptLabels::sentences);
  require_classes(corpus.labels, corpus.train.labels, corpus.remarks);
  for (const PhraseTree& tree : train.trees) {
    if (tree.nodes.back().label != PhraseTree::no_label) corpus.train_labels.push_back(tree.nodes.back().label);
  }
  keep_known_words(task, folders, seed, {&corpus.train.words, &corpus.valid.words, &corpus.test.words}, corpus);
  return corpus;
}

}  // namespace bough
