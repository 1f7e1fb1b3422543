#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bough {

/// Sentences as trees of phrases. A node without parts is a leaf, which has a word.
struct EncodedTrees {
  static constexpr std::int32_t no_label = -1;  ///< of a node that counts nowhere

  std::vector<std::int32_t> words = {};          ///< of the leaves of all trees, from left to right
  std::vector<std::int64_t> word_offsets = {0};  ///< where the words of each tree begin, and the end
  /// Of the nodes of all trees: the number of a node within its tree, -1 at the root. Parts come before what they are
  /// part of, from left to right; the root comes last.
  std::vector<std::int32_t> parents = {};
  std::vector<std::int32_t> labels = {};         ///< of the nodes of all trees; each tree has at least one
  std::vector<std::int64_t> node_offsets = {0};  ///< where the nodes of each tree begin, and the end

  std::int64_t num_trees() const { return std::ssize(node_offsets) - 1; }
  std::span<const std::int32_t> words_of(std::int64_t tree) const { return part(words, word_offsets, tree); }
  std::span<const std::int32_t> parents_of(std::int64_t tree) const { return part(parents, node_offsets, tree); }
  std::span<const std::int32_t> labels_of(std::int64_t tree) const { return part(labels, node_offsets, tree); }

 private:
  static std::span<const std::int32_t> part(const std::vector<std::int32_t>& all,
                                            const std::vector<std::int64_t>& offsets, std::int64_t tree) {
    const auto at = static_cast<std::size_t>(tree);
    return std::span(all).subspan(static_cast<std::size_t>(offsets[at]),
                                  static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  }
};

}  // namespace bough
