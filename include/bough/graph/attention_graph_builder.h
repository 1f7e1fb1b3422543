#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/graph/graph_generator.h"

namespace bough {

/// Collects the edges into one node. Handed to rules by AttentionGraphBuilder.
class InEdges {
 public:
  /// source -> this node.
  void add(std::int32_t source, std::int32_t relation) { add_interval(source, std::int64_t{source} + 1, relation); }

  /// Sources begin, begin+1, ..., end-1 -> this node, with relations relation, relation+step, ...; nothing if end <=
  /// begin. Much cheaper than the same edges one by one, and cheapest when intervals come in ascending order.
  void add_interval(std::int64_t begin, std::int64_t end, std::int32_t relation, std::int32_t step = 0) {
    if (end <= begin) return;
    const std::int64_t count = end - begin;
    if (sources_ == nullptr) {
      size_ += count;
      return;
    }
    const std::int64_t last_relation = relation + step * (count - 1);
    valid_ &= begin >= 0 && end <= num_sources_ && count <= capacity_ - size_ && relation >= 0 && last_relation >= 0 &&
              relation < num_relations_ && last_relation < num_relations_;
    if (!valid_) return fail(begin, end, relation, last_relation);
    ascending_ &= begin > last_source_;
    last_source_ = end - 1;
    std::int32_t* const sources = sources_ + size_;
    std::int32_t* const relations = relations_ + size_;
    for (std::int64_t i = 0; i < count; ++i) {
      sources[i] = static_cast<std::int32_t>(begin + i);
      relations[i] = static_cast<std::int32_t>(relation + step * i);
    }
    size_ += count;
  }

 private:
  friend class RowWriter;

  [[noreturn]] void fail(std::int64_t begin, std::int64_t end, std::int64_t relation, std::int64_t last_relation) const;

  // While counting, sources_ is null and only size_ moves.
  std::int32_t* sources_ = nullptr;
  std::int32_t* relations_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t num_sources_ = 0;
  std::int64_t num_relations_ = 0;
  std::int64_t last_source_ = -1;
  std::int32_t node_ = 0;
  bool ascending_ = true;
  bool valid_ = true;
};

/// Adds the edges that go into a node. Called from several threads, and twice for each node, so it must be a function
/// of the node alone.
using InEdgeRule = std::function<void(std::int32_t node, InEdges& in)>;

/// Makes attention graphs: nodes first, then edges singly, by interval or by rule, then build().
///
///     AttentionGraphBuilder builder(options);                       // nodes 0 .. length-1 are the tokens
///     const auto self = builder.add_relation("self");
///     builder.add_rule([=](std::int32_t token, InEdges& in) { in.add(token, self); });
///     return builder.build();
///
/// Rules are the quick way: they run in parallel, once to count and once to write into arrays of the right size, and
/// need no memory of their own. Edges come out sorted by destination, then source, so the store does not sort them.
class AttentionGraphBuilder {
 public:
  /// Starts with the tokens of the sequence. GraphError if the length is out of range.
  explicit AttentionGraphBuilder(const BuildOptions& options);

  /// Tokens; whether later ones must stay hidden; nodes so far.
  std::int32_t length() const { return length_; }
  bool causal() const { return causal_; }
  std::int32_t num_nodes() const { return static_cast<std::int32_t>(graph_.levels.size()); }

  /// Each returns the new node's id; ids follow one another. GraphError beyond 2^31-1 nodes or tokens not in the
  /// sequence.
  std::int32_t add_span(std::int32_t level, std::int64_t first_token, std::int64_t end_token);
  std::int32_t add_relay();
  std::int32_t add_global();
  std::int32_t add_input(std::int32_t token);

  /// Makes the graph bipartite: edges start at nodes of a separate set, numbered from 0 in the order of these calls.
  /// Each returns the first id of the nodes it adds.
  std::int32_t add_source_memory(std::int64_t count);    ///< states of the `count` tokens before the sequence
  std::int32_t add_source_tokens();                      ///< the tokens of the sequence itself
  std::int32_t add_source_sequence(std::int64_t count);  ///< tokens of another sequence

  /// Numbered 0, 1, 2, ... in the order of the calls. GraphError if the name is taken.
  std::int32_t add_relation(std::string name);
  /// Adds `count` relations whose names follow from their number among these; returns the id of the first. Names are
  /// made by build().
  std::int32_t add_relations(std::int64_t count, std::function<std::string(std::int64_t)> name);
  /// Relations so far.
  std::int32_t num_relations() const { return num_relations_; }

  /// source -> destination: the destination attends to the source.
  void add_edge(std::int32_t source, std::int32_t destination, std::int32_t relation);
  /// Sources begin .. end-1 -> destination.
  void add_edges(std::int32_t begin, std::int32_t end, std::int32_t destination, std::int32_t relation);
  /// The rule serves every token.
  void add_rule(InEdgeRule rule);
  /// The rule serves nodes begin .. end-1.
  void add_rule(std::int32_t begin, std::int32_t end, InEdgeRule rule);

  /// Edges added from here on are for another group of heads (AttentionGraph::head_groups), or for another stage of the
  /// layer (AttentionGraph::stages). Called before the first edge and then once for each further part; two parts may
  /// have an edge in common, which has the relation of the first in the union.
  void start_head_group();
  void start_stage();

  /// The node that sums up the sequence. AttentionGraph::readout, the nodes to read where one vector a sequence is
  /// wanted, is the root, or the tokens of a graph without one, unless set_readout says otherwise.
  void set_root(std::int32_t node);
  void set_readout(std::vector<std::int32_t> nodes);
  void set_soft_span(SoftSpan span) { graph_.soft_span = span; }

  /// attention_degree of the graph that build() would make, without making it: runs the rules of tokens once to count,
  /// so neither the edges nor their relations are checked. Stages are the exception, whose common edges show only in
  /// the graph.
  double attention_degree() const;

  /// The graph of what was added so far. The builder stays as it is: built again it gives an equal graph, and what is
  /// added in between is in the next one. GraphError naming the edge if an id or relation is out of range, an edge
  /// occurs twice, a rule changes its mind, or, for a causal graph, an edge comes from a node that covers a later token
  /// than its destination does. GraphError above 2^31-1 edges, AllocationError if memory does not suffice.
  /// Time O(nodes + edges), sorting only rows whose sources do not ascend; memory: the result, and the builder's own
  /// lists of nodes.
  AttentionGraph build();

 private:
  struct Rule {
    std::int32_t begin;
    std::int32_t end;
    InEdgeRule emit;
  };
  struct EdgeRun {
    std::int32_t destination;
    std::int32_t begin;
    std::int32_t end;
    std::int32_t relation;
  };
  /// The edges of the whole graph, of a head group or of a stage.
  struct Part {
    std::vector<Rule> rules;
    std::vector<EdgeRun> runs;
  };
  struct RelationGroup {
    std::int64_t count;
    std::function<std::string(std::int64_t)> name;
  };
  enum class Division { none, head_groups, stages };

  std::int32_t add_node(NodeKind kind, std::int32_t level, TokenRange covers);
  std::int32_t add_sources(NodeKind kind, std::int64_t count, std::int64_t first_position);
  void start_part(Division division);
  std::int64_t num_sources() const;
  static InEdgeRule rule_of(Part& part);
  Graph assemble(Part& part) const;
  void assemble_all(AttentionGraph& result);

  std::int32_t length_ = 0;
  bool causal_ = false;
  bool bipartite_ = false;
  Division division_ = Division::none;
  std::int32_t num_relations_ = 0;
  std::vector<RelationGroup> relations_;
  AttentionGraph graph_;  ///< the nodes; build adds edges and names to a copy
  std::vector<Part> parts_ = std::vector<Part>(1);
};

}  // namespace bough
