#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bough/graph/graph.h"

namespace bough {

/// What a node stands for.
enum class NodeKind : std::uint8_t {
  token,   ///< one position of the sequence
  span,    ///< stands for the tokens it covers
  relay,   ///< passes messages between all tokens
  global,  ///< a node of its own that sees and is seen by everything
  memory,  ///< cached state of a token before the sequence: read, never updated
  input,   ///< the embedding of a token: read, never updated
  source,  ///< a token of another sequence (the encoder's): read, never updated
};
/// "token", "span", and so on.
const char* to_string(NodeKind kind);

/// Tokens begin .. end-1. Memory lies before the sequence, at negative positions.
struct TokenRange {
  std::int32_t begin = 0;  ///< the first
  std::int32_t end = 0;    ///< one after the last
  bool operator==(const TokenRange&) const = default;
};

/// The part of an attention graph that belongs to one sequence of a batch: ranges of nodes, of AttentionGraph::tokens
/// and of AttentionGraph::readout.
struct Sequence {
  std::int64_t node_begin = 0;     ///< of its nodes
  std::int64_t node_end = 0;       ///< one after the last
  std::int64_t source_begin = 0;   ///< nodes on the source side; the same as node_begin unless bipartite
  std::int64_t source_end = 0;     ///< one after the last
  std::int64_t token_begin = 0;    ///< in tokens
  std::int64_t token_end = 0;      ///< one after the last
  std::int64_t readout_begin = 0;  ///< in readout
  std::int64_t readout_end = 0;    ///< one after the last
  std::int32_t root = -1;          ///< its node, -1 if there is none
};

/// Attention whose reach each head learns: the weight of an edge over the distance x is multiplied by
/// clip((ramp + z - x) / ramp, 0, 1) before normalising, z in [0, max_span] trained per head.
struct SoftSpan {
  std::int64_t max_span = 0;  ///< how far a head can reach
  std::int64_t ramp = 1;      ///< distance over which the weight falls to 0
  bool operator==(const SoftSpan&) const = default;
};

/// Who attends to whom in one sequence or a batch of them: edge v -> u means that u attends to v.
///
/// Edges are sorted by destination, then source; no edge occurs twice. The edge type is the relation id. Ids do not
/// depend on the length, so a table trained for the longest sequence serves every shorter one.
struct AttentionGraph {
  Graph graph;                         ///< every edge; bipartite if the sources are not the nodes that are updated
  std::vector<std::int32_t> tokens;    ///< node of each position, sequence after sequence
  std::int32_t root = -1;              ///< node that sums up the (first) sequence; -1 if the pattern has none
  std::vector<std::int32_t> levels;    ///< of each node: 0 for tokens, growing with what a node covers
  std::vector<std::string> relations;  ///< name of each relation id, empty if this length has no use for it

  std::vector<NodeKind> kinds;            ///< of each node
  std::vector<TokenRange> covers;         ///< tokens each node stands for, as positions in `tokens`
  std::vector<NodeKind> source_kinds;     ///< of each source node of a bipartite graph; else empty
  std::vector<TokenRange> source_covers;  ///< of each source node of a bipartite graph; else empty
  /// Nodes that sum up each sequence, for one vector a sequence: its root, else block nodes or tokens to take the mean
  /// of. Models read out the tokens unless told to read these: make_layer_schedule(graph, {.readout = graph.readout}).
  std::vector<std::int32_t> readout;
  std::vector<Sequence> sequences;  ///< one, or one for each sequence of a batch

  /// If not empty, the heads are divided into as many equal groups, and group g uses head_groups[g] instead of graph,
  /// which is the union of them.
  std::vector<Graph> head_groups;
  /// If not empty, a layer applies these one after the other, each to what the one before left; graph is their union.
  std::vector<Graph> stages;
  std::optional<SoftSpan> soft_span;  ///< for models that learn it
  bool causal = false;                ///< no node depends on tokens after the last one it covers

  /// Tokens of all sequences; relations of all edges.
  std::int64_t num_tokens() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t num_relations() const { return graph.num_edge_types(); }

  /// GraphError unless the parts fit together: sizes, ids, names, ranges, sorted edges without repeats, and in a causal
  /// graph no edge from a node that covers a later token than its destination does. O(nodes + edges). What
  /// AttentionGraphBuilder builds has passed.
  void validate() const;

  /// The same without a look at the edges, whose order, repeats and causality are then not known: enough for what
  /// follows from one array into another. O(nodes).
  void validate_nodes() const;
};

/// What a layer has to know beside AttentionGraph::graph to attend as the pattern means it.
enum class AttentionForm : std::uint8_t {
  plain,        ///< nothing: the graph says it all
  head_groups,  ///< which edges each group of heads follows
  stages,       ///< which edges each stage follows
  soft_span,    ///< the distance of each edge, for the reach that heads learn
  fixed_nodes,  ///< which nodes are read and never updated
};

/// The form of the graph of an AttentionGraph that a builder, a combinator or batch made; the first that applies. Any
/// other graph is plain. Layers refuse a graph that is not plain, because the edges alone would give another pattern.
AttentionForm attention_form(const Graph& graph);

/// Mean number of in-edges of token nodes: how much a token attends to. Head groups count as their mean, since each
/// head sees one of them.
double attention_degree(const AttentionGraph& graph);

/// One line: "attention_graph(tokens=512, nodes=1023, edges=14848, relations=37, attention_degree=22.1, root=512,
/// causal)". Sequences, head groups, stages and a soft span are named where there are any.
std::string to_string(const AttentionGraph& graph);
/// Writes to_string(graph).
std::ostream& operator<<(std::ostream& stream, const AttentionGraph& graph);

}  // namespace bough
