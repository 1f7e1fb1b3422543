#pragma once

#include <optional>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/attention_graph.h"

namespace bough::nn {

/// One synchronous update of some nodes, as a layer runs it on the rows that a model holds at that moment. Row lists
/// are int32 tensors; an undefined one means "all, in order".
struct LayerStep {
  std::vector<Graph> graphs;  ///< one, or one for each group of heads; from sources to updated nodes
  Tensor source_rows = {};    ///< where each source stands among the live rows
  Tensor updated_rows = {};   ///< where each updated node stands among the live rows
  Tensor next_rows = {};      ///< what is live next: rows of the updated ones followed by the live rows
  Tensor distances = {};      ///< int32, of each edge, for attention with a learned reach; else undefined
  /// Which nodes of the attention graph the sources and the updated ones are, for readers of attention weights. Empty
  /// for graphs that read rows from outside.
  IdArray source_nodes = {}, updated_nodes = {};
};

/// What a model computes on one attention graph so that the read-out is right, and nothing else.
///
/// Nodes that are read but never updated (input, memory, source) keep their values; a graph with stages updates, stage
/// after stage, the nodes with in-edges in it; any other graph updates all its nodes in each layer.
///
/// The first step starts from one row for each token and, if there are other nodes, one more that all of these share:
/// what is the same for all of them (norms, projections) is computed once.
struct LayerSchedule {
  /// layers x stages; layers that need the same nodes share their graphs, with the plans these have.
  std::vector<std::vector<LayerStep>> layers;
  std::int64_t num_tokens = 0;
  bool has_other_nodes = false;
  std::int64_t num_outside = 0;      ///< rows from outside that every layer reads, in front of the live rows
  Tensor remembered_rows;            ///< of outside rows and live rows: the outside rows for the next segment
  std::vector<Tensor> readout_rows;  ///< where the read-out nodes stand after each layer
  std::optional<SoftSpan> soft_span;

  /// The same with all row lists on a device, for a model whose parameters are there. Graphs are shared: their kernels
  /// copy what they need when they first run.
  LayerSchedule to(Device device) const;
};

/// Options of make_layer_schedule.
struct LayerScheduleOptions {
  std::int64_t layers = 1;  ///< of the model
  /// Nodes in the order wanted. None: the tokens, also of a graph with a root. What sums up each sequence, for
  /// classification, is graph.readout.
  IdArray readout = {};
  /// Tokens of each sequence to remember for the next segment. Default: as many as this one reads, so a first segment,
  /// which reads nothing (BuildOptions::past = 0), remembers nothing unless it is given what the next one reads.
  std::optional<std::int64_t> memory = {};
};

/// ConfigError if the numbers make no sense; GraphError as graph.validate_nodes(), and for bipartite graphs whose
/// updated nodes are not just the tokens, in order. O(layers (nodes + edges)), less where layers need the same nodes:
/// make it once a graph and keep it.
LayerSchedule make_layer_schedule(const AttentionGraph& graph, const LayerScheduleOptions& options);

}  // namespace bough::nn
