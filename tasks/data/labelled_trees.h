#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/data/labelled_text.h"
#include "tasks/data/phrase_tree.h"

/// Sentences as trees of phrases with a class each.
namespace bough {

/// Whether files of this format have trees: sst5, sst2.
bool has_trees(TextFormat format);
/// Names of the classes of such a format.
std::vector<std::string> tree_labels(TextFormat format);

/// The tree of a line, with classes for labels: PhraseTree::no_label for the neutral phrases of sst2. ConfigError for
/// what is no tree or has labels other than 0 to 4.
PhraseTree parse_labelled_tree(std::string_view line, TextFormat format);

/// ConfigError for a phrase of more than two parts.
void require_binary(const PhraseTree& tree);

struct LabelledTrees {
  std::vector<std::string> labels = {};  ///< names of the classes
  std::vector<PhraseTree> trees = {};    ///< in the order of the file, with classes for labels
  std::int64_t skipped = 0;              ///< bad lines that were left out
};

struct ReadTreesOptions {
  bool skip_bad = false;  ///< leave malformed lines out and count them
  bool binary = false;    ///< a phrase of more than two parts is malformed
};

/// Reads a file of such a format, plain or gzip, neutral sentences too. IoError naming file and line for a malformed
/// line unless skip_bad, and for a file without a tree. Linear in the size of the file.
LabelledTrees read_labelled_trees(const std::string& path, TextFormat format, const ReadTreesOptions& options = {});

}  // namespace bough
