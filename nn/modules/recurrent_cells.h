#pragma once

#include "bough/nn/recurrent.h"
#include "nn/modules/recurrent_levels.h"

namespace bough::nn {

/// What does not depend on states, of some nodes: rows of at least `out` columns.
struct RecurrentInput {
  Tensor own;     ///< made from x of the node
  Tensor passed;  ///< what the node adds to that of its successor; undefined: nothing
};

/// What the nodes of one level read.
class Predecessors {
 public:
  /// `earlier` has the states of all levels before this one.
  Predecessors(const RecurrentLevel& level, const std::vector<RecurrentState>& earlier)
      : level_(level), earlier_(earlier) {}

  /// The first level: no node has any.
  bool none() const { return level_.positions.empty(); }
  /// Every node has exactly one, at the first position.
  bool one_each() const { return level_.positions.size() == 1 && !level_.positions.front().destinations.defined(); }
  /// State of the predecessor of each node at a position, zeros where there is none. Not for the first level.
  Tensor at_nodes(Tensor RecurrentState::*part, std::size_t position = 0) const;

  /// For nodes with any number of predecessors. States of the sources of all edges:
  Tensor at_edges(Tensor RecurrentState::*part) const { return sources(part, level_.positions.front()); }
  /// A row of each node, for each of its edges.
  Tensor to_edges(const Tensor& of_nodes) const;
  /// Sum over the edges of each node.
  Tensor sum_edges(const Tensor& of_edges) const;

 private:
  Tensor sources(Tensor RecurrentState::*part, const LevelEdges& edges) const;

  const RecurrentLevel& level_;
  const std::vector<RecurrentState>& earlier_;
};

/// What Recurrent does at the nodes of one level; its parts are the parameters that Recurrent names. No cell has a
/// backward of its own: autograd goes through the operations that it is made of, level by level.
class RecurrentCell : public Module {
 public:
  /// The edges it takes.
  virtual LevelRules rules() const = 0;
  /// x [nodes, in] -> [nodes, gates * out], in one product.
  virtual RecurrentInput project(const Tensor& x) const = 0;
  /// `projected` has the rows of the level: own ones and the sum of what is passed to them.
  virtual RecurrentState step(const Tensor& projected, const Predecessors& predecessors) const = 0;

  /// h of all nodes: project, then step for one level after the other.
  Tensor run(const Graph& graph, const Tensor& x, std::int64_t out) const;
};

/// Checks the options.
std::unique_ptr<RecurrentCell> make_recurrent_cell(const RecurrentOptions& options);

}  // namespace bough::nn
