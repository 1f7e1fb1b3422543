#include "graph/attention/causal_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/core/errors.h"

namespace bough {

CausalOrder::CausalOrder(const AttentionGraph& nodes, bool bipartite)
    : covers_(&nodes.covers),
      kinds_(&nodes.kinds),
      sources_(bipartite ? &nodes.source_covers : &nodes.covers),
      source_kinds_(bipartite ? &nodes.source_kinds : &nodes.kinds) {}

void CausalOrder::require(std::int32_t node, std::span<const std::int32_t> sources) const {
  const std::int32_t known = last_known(*covers_, *kinds_, node);
  std::int32_t latest = -1;
  for (const std::int32_t source : sources) latest = std::max(latest, last_known(*sources_, *source_kinds_, source));
  if (latest <= known) return;
  const auto bad = std::ranges::find_if(sources, [&](std::int32_t source) { return !allows(source, node); });
  throw GraphError(
      "attention graph",
      fmt::format("in a causal graph node {}, which knows tokens up to {}, cannot attend to node {}, which "
                  "knows tokens up to {}",
                  node, known, *bad, last_known(*sources_, *source_kinds_, *bad)));
}

}  // namespace bough
