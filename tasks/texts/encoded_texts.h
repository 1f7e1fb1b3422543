#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bough {

/// Texts as numbers of words. A text is one sequence, or two in tasks about pairs.
struct EncodedTexts {
  std::int64_t sequences_per_text = 1;
  std::vector<std::int32_t> words = {};     ///< of all sequences, one after the other
  std::vector<std::int64_t> offsets = {0};  ///< where each sequence begins, and the end
  std::vector<std::int32_t> labels = {};    ///< of each text

  std::int64_t num_texts() const { return std::ssize(labels); }
  std::int64_t num_sequences() const { return std::ssize(offsets) - 1; }
  /// Words of a sequence.
  std::span<const std::int32_t> sequence(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    return std::span(words).subspan(static_cast<std::size_t>(offsets[at]),
                                    static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  }
  /// Words of all sequences of a text.
  std::int64_t length(std::int64_t text) const {
    const auto begin = static_cast<std::size_t>(text * sequences_per_text);
    return offsets[begin + static_cast<std::size_t>(sequences_per_text)] - offsets[begin];
  }
};

}  // namespace bough
