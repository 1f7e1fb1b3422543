#pragma once

#include <memory>
#include <string>

#include "bough/graph/graph.h"
#include "bough/nn/module.h"

namespace bough::nn {

class RecurrentCell;

/// The states of some nodes, a row for each.
struct RecurrentState {
  Tensor h;  ///< what is handed on, and the result
  Tensor c;  ///< memory; undefined for cells without one
};

/// What Recurrent computes at a node from its input x and the states h (and c) of its predecessors. Gates are sigmoids.
enum class RecurrentCellKind {
  /// c = sum over predecessors of f(p) c(p) + i tanh(g), h = o tanh(c). On chains torch.nn.LSTM; several predecessors:
  /// Tree-LSTM (Tai et al., 2015), child-sum or N-ary, see RecurrentOptions::positions.
  lstm,
  /// Multiplicative LSTM (Krause et al., 2016): an lstm that reads m = (W x) * (U h) instead of h. One predecessor.
  mlstm,
  /// Recurrent highway network (Zilly et al., 2017) with the carry gate 1 - t: `depth` times
  /// h = t tanh(...) + (1 - t) h, the first of which reads x. One predecessor.
  rhn,
  /// Quasi-recurrent network (Bradbury et al., 2017) with window 2 and fo-pooling: z, f and o are made from x of the
  /// node and of its predecessor, c = f c + (1 - f) tanh(z), h = o c. One predecessor; no product is left in the
  /// levels.
  qrnn,
};

/// "lstm", "mlstm", "rhn", "qrnn".
std::string to_string(RecurrentCellKind kind);
/// Reads such a name; ConfigError for anything else.
RecurrentCellKind parse_recurrent_cell(const std::string& name);

/// Options of Recurrent.
struct RecurrentOptions {
  std::int64_t in = 0;                               ///< width of the input
  std::int64_t out = 0;                              ///< width of the state
  RecurrentCellKind cell = RecurrentCellKind::lstm;  ///< what happens at a node
  /// Read by lstm alone. 0: a node has any number of predecessors; their h are summed, and each has a forget gate made
  /// from its own h (child-sum). N >= 1: N-ary, the type of an edge is the position 0..N-1 of its source among the
  /// predecessors, each position has weights of its own and holds one predecessor at most; what is missing counts as
  /// zeros. With 1 the types play no part.
  std::int64_t positions = 0;
  std::int64_t depth = 1;      ///< for rhn: highway layers at each node, at least 1
  bool bidirectional = false;  ///< a second cell runs along the reversed edges; both states side by side
};

/// A recurrent cell along a directed acyclic graph: along an edge v -> u, u reads the state of v. A node without
/// predecessors reads zeros.
///
/// A chain is a sequence, a disjoint batch of chains a batch of sequences of any lengths, a tree with edges from
/// children to parents is read bottom up, its reverse top down. Two edges between the same nodes are two predecessors.
/// mlstm, rhn and qrnn take one predecessor at most, which gives chains and top-down trees.
///
/// The inputs of all nodes are projected in one product; then the topological levels run one after the other, the nodes
/// of each together. Levels and their indices are made once for a graph and kept with it.
/// O(nodes in out + (nodes + edges) out^2), plus, for each level and each earlier one that it reads, a copy of what it
/// reads, and in backward a tensor of the earlier one's size: for graphs in which most levels read most others this is
/// quadratic in their number. Backward keeps the gates of every node, and where nodes have several predecessors the
/// states and forget gates of their edges.
///
/// Differentiable in x and all parameters. Bitwise equal for any number of threads.
///
/// Parameters, under "along." and, if bidirectional, "against."; weights [to, from] start Xavier uniform, biases zero:
///
///   lstm   input.weight [4 out, in], input.bias [4 out]: i, f, g, o as in torch (bias: the sum of torch's two);
///          recurrent.weight [4 out, out]; N-ary [(3 + N) out, N out]: i, f of each position, g, o, and in columns what
///          they read of each position. Gate f of x is shared by the positions.
///   mlstm  input.weight [5 out, in]: i, f, g, o, and the factor of m; factor.weight [out, out] of h in m;
///          recurrent.weight [4 out, out] of m, recurrent.bias [4 out]
///   rhn    input.weight [2 out, in], input.bias: tanh part, gate t; layer0.weight [2 out, out], then layer1.weight,
///          layer1.bias, ...
///   qrnn   input.weight [3 out, in], input.bias: z, f, o; previous.weight [3 out, in] of the predecessor's x
class Recurrent : public Module {
 public:
  /// Makes the parameters; ConfigError for sizes that make no sense, and for positions or depth with other cells.
  explicit Recurrent(const RecurrentOptions& options);
  ~Recurrent() override;

  /// x [num_nodes, in] -> h of all nodes [num_nodes, out], or [num_nodes, 2 out] if bidirectional.
  ///
  /// No nodes give no rows; without edges every node is a sequence of one. GraphError for a bipartite graph, for a
  /// cycle, naming a node on it, and for a node with more predecessors than the cell takes, two at one position, or one
  /// at a position that does not exist. ShapeError unless x has a row for each node.
  Tensor forward(const Graph& graph, const Tensor& x) const;

 private:
  friend class RecurrentDecoder;  // which steps from token to token

  std::int64_t out_;
  std::unique_ptr<RecurrentCell> along_, against_;
};

}  // namespace bough::nn
