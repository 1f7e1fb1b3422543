#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// Vectors of a list of words, from a file of published ones.
struct WordVectors {
  Tensor rows = {};              ///< [words, width] float32
  std::vector<bool> found = {};  ///< whether the file has the word
  std::int64_t num_found = 0;    ///< how many it has
  std::int64_t num_in_file = 0;  ///< vectors of the file
  std::int64_t skipped = 0;      ///< malformed lines that were left out
};

/// Reads the vectors of these words, each of which occurs once, from text as GloVe and word2vec have it: a line is a
/// word and numbers, as many in every line, with spaces between them; a first line of two numbers alone (word2vec's
/// head) is passed over; a word may have spaces in it. Plain or gzip; of a word that comes twice the first counts.
///
/// A word that the file lacks gets normal numbers with mean and deviation of all that were found (0 and 0.1 if none
/// was), a function of the seed and the word's letters alone. IoError naming file and line for a line that has
/// too few fields or a wanted word without numbers, unless skip_bad leaves it out, and for a file without vectors.
/// Memory: the result; the file itself may be larger.
WordVectors read_word_vectors(const std::string& path, std::span<const std::string> words, std::uint64_t seed,
                              bool skip_bad = false);

}  // namespace bough
