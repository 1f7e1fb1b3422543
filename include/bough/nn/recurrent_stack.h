#pragma once

#include <memory>
#include <vector>

#include "bough/graph/attention_graph.h"
#include "bough/nn/layers.h"
#include "bough/nn/recurrent.h"

namespace bough::nn {

/// Options of RecurrentStack; the cell and what follows it are those of RecurrentOptions, for every layer.
struct RecurrentStackOptions {
  std::int64_t in = 0;                               ///< width of the input
  std::int64_t dim = 0;                              ///< width of the state of a layer, in each direction
  std::int64_t layers = 1;                           ///< one above the other
  RecurrentCellKind cell = RecurrentCellKind::lstm;  ///< what happens at a node
  bool bidirectional = false;                        ///< each layer runs along the edges and against them
  std::int64_t depth = 1;                            ///< for rhn: highway layers at each node
  std::int64_t positions = 0;                        ///< for lstm: of the predecessors of a node; 0: any number
  double dropout = 0;  ///< share of the results of a layer set to zero before the next one reads them
};

/// Recurrent cells in several layers along one graph: each layer reads at every node what the one below made of it,
/// both directions side by side. On chains with lstm the same as torch.nn.LSTM with num_layers, dropout included.
///
///     nn::RecurrentStack model({.in = 300, .dim = 150, .layers = 2, .bidirectional = true, .dropout = 0.2});
///     const Tensor states = model.forward(batch(sentences), embeddings);  // [nodes, 300]
class RecurrentStack : public Module {
 public:
  /// Makes the layers, "layer0" and so on; ConfigError for sizes that make no sense, and as Recurrent.
  explicit RecurrentStack(const RecurrentStackOptions& options);

  /// x [num_nodes, in] -> states of the last layer [num_nodes, width()]. Errors, cost and what is kept for backward as
  /// Recurrent::forward, once a layer.
  Tensor forward(const Graph& graph, const Tensor& x) const;

  /// The width of the result: dim, or 2 dim if bidirectional.
  std::int64_t width() const { return options_.bidirectional ? 2 * options_.dim : options_.dim; }
  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers_.size()); }
  const Recurrent& layer(std::int64_t index) const { return *layers_.at(static_cast<std::size_t>(index)); }
  const RecurrentStackOptions& options() const { return options_; }

 private:
  RecurrentStackOptions options_;
  std::vector<std::unique_ptr<Recurrent>> layers_;
  Dropout dropout_;
};

/// Whether a stack can run along graph.graph and give a row for each token: ConfigError unless the nodes are the
/// tokens, in order, no token reads itself or is read by what it reads, none has more predecessors than the cell takes,
/// and there is nothing that only attention can follow (head groups, stages, a soft span). O(nodes + edges).
void check_recurrent_graph(const AttentionGraph& graph, const RecurrentStackOptions& options);

}  // namespace bough::nn
