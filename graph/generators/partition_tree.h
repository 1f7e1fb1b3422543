#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bough/graph/attention_graph_builder.h"

namespace bough {

/// What happens to a node whose sibling is already covered when the next level begins.
enum class Alignment {
  pair,  ///< it is taken at its own level, beyond the k
  slot,  ///< it takes the first of the next level's k places; for two-way trees
};

struct PartitionOptions {
  std::int64_t k = 1;
  std::int64_t arity = 2;
  Alignment alignment = Alignment::pair;
  std::optional<std::int64_t> clip_levels = {};
};

/// Relations of a partition tree. A level has one id for "self" (tokens) or "anc" (spans) and one for each place on
/// each side, left and right taking turns, so that ids do not depend on the length.
class PartitionRelations {
 public:
  explicit PartitionRelations(const PartitionOptions& options);

  std::int32_t ancestor(std::int64_t level) const { return level_start(level); }
  std::int32_t left(std::int64_t level, std::int64_t place) const {
    return level_start(level) + static_cast<std::int32_t>(2 * place + 1);
  }
  std::int32_t right(std::int64_t level, std::int64_t place) const { return left(level, place) + 1; }

  std::int64_t count(std::int64_t length) const;
  std::string name(std::int64_t relation) const;

 private:
  std::int32_t level_start(std::int64_t level) const {
    return static_cast<std::int32_t>(per_level_ * (level < clip_ ? level : clip_));
  }

  std::int64_t arity_;
  std::int64_t per_level_;
  std::int64_t clip_;
};

/// The graph of BP-Transformer, for trees of any arity: level l+1 has one node for each `arity` nodes of level l, every
/// token feeds all spans that contain it, and a token attends to itself and, on each side, to k nodes of each level and
/// those that complete a group of siblings. What it attends to is disjoint, covers everything and grows coarser with
/// distance.
AttentionGraphBuilder prepare_partition_graph(const char* kind, const PartitionOptions& partition,
                                              const BuildOptions& options);

}  // namespace bough
