#include "tasks/texts/cross_stage.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bough/core/errors.h"

namespace bough {
namespace {

bool may_update(NodeKind kind) { return kind != NodeKind::input; }

/// Edges of a graph, and those to come.
struct TypedEdges {
  std::vector<std::int32_t> src, dst, types;

  void add(const Graph& graph) {
    const CooView coo = graph.coo();
    src.insert(src.end(), coo.src.begin(), coo.src.end());
    dst.insert(dst.end(), coo.dst.begin(), coo.dst.end());
    const auto own = graph.edge_types();
    types.insert(types.end(), own.begin(), own.end());
  }
  Graph graph(std::int64_t num_nodes, std::int64_t num_relations) && {
    return Graph::from_edges(std::move(src), std::move(dst),
                             {.num_nodes = num_nodes, .edge_types = std::move(types), .num_edge_types = num_relations});
  }
};

}  // namespace

void require_cross_stage(const AttentionGraph& graph) {
  if (graph.head_groups.empty() && !graph.soft_span) return;
  throw ConfigError("graph", fmt::format("a pattern with {} cannot be used for pairs of sentences that attend to each "
                                         "other; set model.cross to false, or use another pattern",
                                         graph.soft_span ? "a learned reach" : "head groups"));
}

AttentionGraph with_cross_stage(AttentionGraph batch) {
  require_cross_stage(batch);
  if (batch.sequences.size() % 2 != 0) {
    throw GraphError("cross stage", fmt::format("{} sequences are no pairs", batch.sequences.size()));
  }
  const std::int64_t nodes = batch.graph.num_nodes(), relation = batch.num_relations();
  TypedEdges cross;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const Sequence &own = batch.sequences[i], &other = batch.sequences[i ^ 1];
    for (std::int64_t node = own.node_begin; node < own.node_end; ++node) {
      if (!may_update(batch.kinds[static_cast<std::size_t>(node)])) continue;
      for (std::int64_t token = other.token_begin; token < other.token_end; ++token) {
        cross.src.push_back(batch.tokens[static_cast<std::size_t>(token)]);
        cross.dst.push_back(static_cast<std::int32_t>(node));
      }
    }
  }
  cross.types.assign(cross.src.size(), static_cast<std::int32_t>(relation));

  if (batch.stages.empty()) batch.stages.push_back(batch.graph);
  // All stages have the relations of the whole.
  for (Graph& stage : batch.stages) {
    TypedEdges own;
    own.add(stage);
    stage = std::move(own).graph(nodes, relation + 1);
  }
  TypedEdges all;
  all.add(batch.graph);
  Graph stage = std::move(cross).graph(nodes, relation + 1);
  all.add(stage);
  batch.stages.push_back(std::move(stage));
  batch.graph = std::move(all).graph(nodes, relation + 1);
  batch.relations.emplace_back("cross");
  batch.causal = false;
  return batch;
}

}  // namespace bough
