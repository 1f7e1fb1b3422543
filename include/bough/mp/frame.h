#pragma once

#include <span>
#include <string>
#include <vector>

#include "bough/core/errors.h"
#include "bough/detail/mp/waiting_messages.h"
#include "bough/mp/batches.h"

namespace bough {

/// Named features of the nodes and edges of one graph, and message passing over them.
///
/// A feature is a tensor with one row for each node or edge; edges are in the order in which they were given. Sending
/// computes messages, which wait on their edges; receiving reduces the messages of each node's in-edges into a feature
/// and takes them off the edges. pull, push, send_and_recv and update_all do both at once, and with a built-in message
/// and reduction (see fn.h) as one fused operation. Everything is differentiable, also through functions of the user's
/// own. Features that are written are replaced, never changed in place: tensors read before keep their values. A call
/// that fails, also by an exception from such a function, writes nothing and leaves waiting messages where they are;
/// prop_nodes and prop_edges keep what their earlier steps wrote.
///
/// Where nodes are chosen, only their rows of the written feature change; a feature that did not exist, or exists with
/// another row shape or type, starts from zeros. A node that receives nothing gets zeros. Nodes and edges are chosen by
/// number, each at most once; GraphError for one that is not there or listed twice. `out` names the result of a
/// function that returns a single tensor; functions that return Fields, and built-ins, name their results themselves.
/// Between the two, the message of a function that returns a single tensor is called "m":
///
///     frame.update_all([](const EdgeBatch& e) { return relu(e.src("h") - e.dst("h")); }, fn::max("m", "out"));
///     frame.update_all([](const EdgeBatch& e) { return Fields{{"score", e.edge("s")}, {"value", e.src("h")}}; },
///                      [](const Mailbox& m) { return sum(softmax(m.messages("score"), 1) * m.messages("value"), 1); },
///                      "out");
///
/// Copies share the tensors, not the table of features. A Frame is for one thread at a time.
class Frame {
 public:
  /// Begins without features.
  explicit Frame(Graph graph);

  /// The graph whose features these are.
  const Graph& graph() const { return graph_; }
  /// Where its features are; the CPU if it has none. Operations on features of several devices throw DeviceError.
  Device device() const;

  /// A feature of all nodes, to be read or assigned. A feature that is not there is an undefined tensor, ready to be
  /// assigned; an operation that needs its value throws GraphError, which names it, the nearest name and all there are.
  /// GraphError for a bipartite graph, whose sources and destinations have features of their own; in other graphs
  /// src_node and dst_node are the same as node.
  Tensor& node(const std::string& name);
  Tensor& src_node(const std::string& name);
  Tensor& dst_node(const std::string& name);
  Tensor& edge(const std::string& name);
  /// The same for reading; that GraphError at once if there is no such feature.
  const Tensor& node(const std::string& name) const;
  const Tensor& src_node(const std::string& name) const;
  const Tensor& dst_node(const std::string& name) const;
  const Tensor& edge(const std::string& name) const;

  /// Whether there is a feature of that name.
  bool has_node(const std::string& name) const { return has(Target::destination, name); }
  bool has_edge(const std::string& name) const { return has(Target::edge, name); }

  /// Computes features of edges or nodes from what is there, for all or for some.
  void apply_edges(const MessageFunction& function, const std::string& out = "");
  void apply_edges(const IdArray& edges, const MessageFunction& function, const std::string& out = "");
  void apply_nodes(const NodeFunction& function, const std::string& out = "");
  void apply_nodes(const IdArray& nodes, const NodeFunction& function, const std::string& out = "");

  /// Every edge sends and every node receives.
  void update_all(const MessageFunction& message, const ReduceFunction& reduce, const std::string& out = "");

  /// Puts messages on edges; one that waits there already is replaced.
  void send(const MessageFunction& message);
  void send(const IdArray& edges, const MessageFunction& message);
  /// Reduces the messages on all in-edges of the nodes. GraphError if one of these edges carries none, because nothing
  /// was sent or because it has been received before.
  void recv(const ReduceFunction& reduce, const std::string& out = "");
  void recv(const IdArray& nodes, const ReduceFunction& reduce, const std::string& out = "");
  /// Number of messages that wait.
  std::int64_t num_waiting() const;

  /// The nodes receive from all their in-edges. Messages that wait on edges are left alone, here and below.
  void pull(const IdArray& nodes, const MessageFunction& message, const ReduceFunction& reduce,
            const std::string& out = "");
  /// The nodes send along all their out-edges; the nodes reached receive these messages.
  void push(const IdArray& nodes, const MessageFunction& message, const ReduceFunction& reduce,
            const std::string& out = "");
  /// Messages along these edges only, received by their destinations.
  void send_and_recv(const IdArray& edges, const MessageFunction& message, const ReduceFunction& reduce,
                     const std::string& out = "");

  /// pull for one set of nodes after the other, each followed by `apply` (which gives Fields) on these nodes if there
  /// is one; for example over topological_levels(graph). Each step costs a copy of the written features.
  void prop_nodes(const std::vector<IdArray>& frontiers, const MessageFunction& message, const ReduceFunction& reduce,
                  const std::string& out = "", const NodeFunction& apply = {});
  /// send_and_recv for one set of edges after the other; `apply` runs on their destinations.
  void prop_edges(const std::vector<IdArray>& frontiers, const MessageFunction& message, const ReduceFunction& reduce,
                  const std::string& out = "", const NodeFunction& apply = {});

 private:
  bool has(Target target, const std::string& name) const;
  template <typename Self>
  static auto& columns(Self& self, Target target);
  const Tensor& column(Target target, const std::string& name) const;
  Tensor& slot(Target target, const std::string& name);
  GraphError no_feature(Target target, const std::string& name) const;
  Fields messages_of(const mp::Selection& selection, const MessageFunction& message) const;
  Fields reduced(const mp::Selection& selection, const Fields& messages, const ReduceFunction& reduce) const;
  void pass(const mp::Selection& selection, const MessageFunction& message, const ReduceFunction& reduce,
            const std::string& out);
  void receive(const mp::Selection& selection, std::span<const std::int32_t> edges, const ReduceFunction& reduce,
               const std::string& out);
  /// Puts results into columns: of all rows, or of those in `rows`.
  void write(Target target, const mp::RowIds& rows, const Fields& results, const std::string& out);

  Graph graph_;
  Fields nodes_;    ///< of destinations, and of sources unless the graph is bipartite
  Fields sources_;  ///< of sources of a bipartite graph
  Fields edges_;
  WaitingMessages waiting_;
};

/// The nodes in the order in which messages can flow: level 0 has the nodes without in-edges, each further level those
/// whose sources are all in earlier ones. GraphError for a bipartite graph or one with a cycle, naming a node on it.
/// O(nodes + edges), and for a graph with a cycle up to nodes times the largest in-degree.
std::vector<IdArray> topological_levels(const Graph& graph);

}  // namespace bough
