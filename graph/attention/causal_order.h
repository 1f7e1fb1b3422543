#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/graph/attention_graph.h"

namespace bough {

/// The rule that keeps a graph causal through any number of layers: a node knows the tokens up to the last one it
/// covers, and may only attend to nodes that know no more.
class CausalOrder {
 public:
  CausalOrder(const AttentionGraph& nodes, bool bipartite);

  bool allows(std::int32_t source, std::int32_t node) const {
    return last_known(*sources_, *source_kinds_, source) <= last_known(*covers_, *kinds_, node);
  }

  /// GraphError naming the first edge that breaks the rule.
  void require(std::int32_t node, std::span<const std::int32_t> sources) const;

 private:
  /// Tokens of another sequence are all known from the start.
  static std::int32_t last_known(const std::vector<TokenRange>& covers, const std::vector<NodeKind>& kinds,
                                 std::int32_t node) {
    const auto i = static_cast<std::size_t>(node);
    return kinds[i] == NodeKind::source ? -1 : covers[i].end - 1;
  }

  const std::vector<TokenRange>* covers_;
  const std::vector<NodeKind>* kinds_;
  const std::vector<TokenRange>* sources_;
  const std::vector<NodeKind>* source_kinds_;
};

}  // namespace bough
