#include "graph/generators/partition_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "bough/core/errors.h"

namespace bough {
namespace {

struct Level {
  std::int64_t size;         ///< nodes
  std::int64_t first_node;   ///< id of the first
  std::int64_t node_tokens;  ///< tokens that a node covers, but for the last
};

std::vector<Level> levels_of(std::int64_t length, std::int64_t arity) {
  std::vector<Level> levels{{length, 0, 1}};
  while (levels.back().size > 1) {
    const Level below = levels.back();
    levels.push_back({(below.size + arity - 1) / arity, below.first_node + below.size, below.node_tokens * arity});
  }
  return levels;
}

/// Emits what a token attends to, level by level and from left to right, which is the order of the node ids. The arity
/// is fixed at compile time where it is 2, because dividing by a variable would take most of the time.
template <std::int64_t fixed_arity>
class TokenRow {
 public:
  TokenRow(const PartitionOptions& options, std::vector<Level> levels)
      : options_(options), relations_(options), levels_(std::move(levels)) {}

  void emit(std::int64_t token, bool causal, InEdges& in) const {
    Side left{.next = token - 1};
    Side right{.next = causal ? levels_.front().size : token + 1};
    for (std::int64_t level = 0; level < static_cast<std::int64_t>(levels_.size()); ++level) {
      const Level& here = levels_[static_cast<std::size_t>(level)];
      if (left.next >= 0) emit_left(level, here, left, in);
      if (level == 0) in.add(static_cast<std::int32_t>(token), relations_.ancestor(0));
      if (right.next < here.size) emit_right(level, here, right, in);
    }
  }

 private:
  std::int64_t arity() const {
    if constexpr (fixed_arity > 0) return fixed_arity;
    return options_.arity;
  }

  struct Side {
    std::int64_t next = 0;   ///< the nearest node of the level that is not covered yet
    std::int64_t taken = 0;  ///< places of the level that a node of the level below has taken
  };

  void emit_left(std::int64_t level, const Level& here, Side& side, InEdges& in) const {
    const std::int64_t nearest = side.next;
    const std::int64_t place = side.taken;
    std::int64_t rest = nearest - (options_.k - place);  // the nearest node that is left over
    const std::int64_t unpaired = rest < 0 ? 0 : (rest + 1) % arity();
    side.taken = 0;
    if (unpaired != 0 && options_.alignment == Alignment::slot) {
      in.add(static_cast<std::int32_t>(here.first_node + rest), relations_.left(level + 1, 0));
      side.taken = 1;
      side.next = rest / 2 - 1;
    } else {
      rest = std::max<std::int64_t>(rest - unpaired, -1);
      side.next = rest < 0 ? -1 : rest / arity();
    }
    in.add_interval(here.first_node + rest + 1, here.first_node + nearest + 1,
                    relations_.left(level, place + nearest - rest - 1), -2);
  }

  void emit_right(std::int64_t level, const Level& here, Side& side, InEdges& in) const {
    const std::int64_t nearest = side.next;
    const std::int64_t place = side.taken;
    std::int64_t rest = nearest + (options_.k - place);
    const std::int64_t unpaired = (arity() - rest % arity()) % arity();
    const bool into_slot = unpaired != 0 && options_.alignment == Alignment::slot;
    if (!into_slot) rest += unpaired;
    in.add_interval(here.first_node + nearest, here.first_node + std::min(rest, here.size),
                    relations_.right(level, place), 2);
    side.taken = 0;
    side.next = rest / arity();
    if (into_slot) {
      if (rest < here.size) {
        in.add(static_cast<std::int32_t>(here.first_node + rest), relations_.right(level + 1, 0));
        side.taken = 1;
      }
      ++side.next;
    }
  }

  PartitionOptions options_;
  PartitionRelations relations_;
  std::vector<Level> levels_;
};

void require_feasible(const char* kind, const std::vector<Level>& levels) {
  // Each token feeds a span on every level: reason enough to refuse before anything is allocated.
  const std::int64_t to_spans = levels.front().size * (static_cast<std::int64_t>(levels.size()) - 1);
  if (to_spans > std::numeric_limits<std::int32_t>::max()) {
    throw GraphError(kind, fmt::format("{} tokens have {} edges to their spans alone, more than 2^31-1; shorten the "
                                       "sequence",
                                       levels.front().size, to_spans));
  }
}

}  // namespace

PartitionRelations::PartitionRelations(const PartitionOptions& options)
    : arity_(options.arity),
      per_level_(2 * (options.alignment == Alignment::slot ? options.k : options.k + options.arity - 1) + 1),
      clip_(options.clip_levels.value_or(std::numeric_limits<std::int32_t>::max())) {}

std::int64_t PartitionRelations::count(std::int64_t length) const {
  const auto top_level = static_cast<std::int64_t>(levels_of(length, arity_).size()) - 1;
  return per_level_ * (std::min(top_level, clip_) + 1);
}

std::string PartitionRelations::name(std::int64_t relation) const {
  const std::int64_t level = relation / per_level_;
  const std::int64_t rest = relation % per_level_;
  if (rest == 0) return level == 0 ? "self" : fmt::format("anc({})", level);
  return fmt::format("{}({},{})", rest % 2 == 1 ? "left" : "right", level, (rest - 1) / 2);
}

AttentionGraphBuilder prepare_partition_graph(const char* kind, const PartitionOptions& partition,
                                              const BuildOptions& options) {
  require_feasible(kind, levels_of(std::clamp<std::int64_t>(options.length, 1, max_sequence_length), partition.arity));
  AttentionGraphBuilder builder(options);
  const std::int64_t length = builder.length();
  const std::vector<Level> levels = levels_of(length, partition.arity);
  const PartitionRelations relations(partition);
  builder.add_relations(relations.count(length), [relations](std::int64_t id) { return relations.name(id); });

  const auto add_tokens = [&]<std::int64_t arity>(std::integral_constant<std::int64_t, arity>) {
    builder.add_rule([row = TokenRow<arity>(partition, levels), causal = options.causal](
                         std::int32_t token, InEdges& in) { row.emit(token, causal, in); });
  };
  if (partition.arity == 2) {
    add_tokens(std::integral_constant<std::int64_t, 2>());
  } else {
    add_tokens(std::integral_constant<std::int64_t, 0>());
  }

  for (std::size_t level = 1; level < levels.size(); ++level) {
    const Level here = levels[level];
    for (std::int64_t begin = 0; begin < length; begin += here.node_tokens) {
      builder.add_span(static_cast<std::int32_t>(level), begin, std::min(length, begin + here.node_tokens));
    }
    const std::int32_t ancestor = relations.ancestor(static_cast<std::int64_t>(level));
    builder.add_rule(static_cast<std::int32_t>(here.first_node), builder.num_nodes(),
                     [=](std::int32_t span, InEdges& in) {
                       const std::int64_t begin = (span - here.first_node) * here.node_tokens;
                       in.add_interval(begin, std::min(length, begin + here.node_tokens), ancestor);
                     });
  }
  builder.set_root(builder.num_nodes() - 1);
  return builder;
}

}  // namespace bough
