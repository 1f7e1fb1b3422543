#pragma once

#include <cstdint>

#include "bough/graph/attention_graph.h"

namespace bough {

/// How many layers it takes until a token has reached another.
struct TokenDistances {
  std::int64_t longest = 0;       ///< the longest of the shortest paths that were looked at
  bool all_connected = true;      ///< false if there was no path to some token; in a causal graph, to some later token
  std::int64_t first_tokens = 0;  ///< paths start at this many tokens, evenly spread
  bool exact = true;              ///< every path was looked at to its end
};

/// Shortest paths from tokens to tokens along edges. Starts at 256 tokens at a time until all are done or about `work`
/// edges have been followed, well under a second by default; the result depends on the graph and on work only. Memory:
/// 100 bytes a node. GraphError as graph.validate_nodes(), here and below.
TokenDistances token_distances(const AttentionGraph& graph, std::int64_t work = 150'000'000);

/// How many nodes a token attends to.
struct DegreeRange {
  double mean = 0;         ///< over all tokens
  std::int64_t least = 0;  ///< of any token
  std::int64_t most = 0;   ///< of any token
};

/// In-edges of token nodes in the union of all head groups and stages.
DegreeRange token_degrees(const AttentionGraph& graph);

}  // namespace bough
