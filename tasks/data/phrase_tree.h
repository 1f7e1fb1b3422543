#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bough {

/// A sentence as a tree of labelled phrases, as the Stanford Sentiment Treebank has them (bracketed trees, PTB style).
/// Files: labelled_trees.h.
struct PhraseTree {
  static constexpr std::int32_t no_label = -1;  ///< of a phrase that counts nowhere
  struct Node {
    std::int32_t label = 0;
    std::int32_t begin = 0, end = 0;  ///< its words
    std::int32_t parent = -1;         ///< -1: the root
    bool operator==(const Node&) const = default;
  };
  std::vector<std::string> words = {};
  std::vector<Node> nodes = {};  ///< children before their parent, from left to right; the root comes last

  /// Words of a node with a space between two.
  std::string text(const Node& node) const;
};

/// What stands before the words or nodes of a node.
enum class PhraseLabels {
  numbers,  ///< a whole number
  ignored,  ///< anything, as "NP" of a parser, or nothing; nodes have no_label
};

/// Reads "(3 (2 a) (4 (2 good) (3 film)))": a node is a label and either one word or nodes. "\/" and "\*" stand for "/"
/// and "*", "-LRB-" and "-RRB-" for parentheses. ConfigError that names the column for anything else. Any depth; linear
/// in the length of the text.
PhraseTree parse_phrase_tree(std::string_view text, PhraseLabels labels = PhraseLabels::numbers);

}  // namespace bough
