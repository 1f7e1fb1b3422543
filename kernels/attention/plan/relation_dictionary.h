#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace bough {

/// Words (sequences of relations) of several tiles, each written once: a kernel multiplies queries with the book, a
/// block of relations at a time, and each tile picks the blocks that hold its words.
class RelationBook {
 public:
  /// Adds words that are not there yet, neither whole nor as parts of others.
  void add(const std::vector<std::vector<std::int32_t>>& words);

  /// What was written, filled up to whole blocks.
  std::vector<std::int32_t> relations() const;

  /// The blocks that hold some words, ascending, and the place of each word when only these blocks are put in a row.
  struct Part {
    std::vector<std::int32_t> blocks;
    std::vector<std::int32_t> places;
  };
  Part part(const std::vector<std::vector<std::int32_t>>& words) const;

 private:
  std::vector<std::int32_t> relations_;
  std::map<std::vector<std::int32_t>, std::int32_t> places_;
};

}  // namespace bough
