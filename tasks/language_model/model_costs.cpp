#include "tasks/language_model/model_costs.h"

#include "bough/core/errors.h"
#include "tasks/transformer_settings.h"

namespace bough {
namespace {

struct Sizes {
  Sizes(const CharacterModel& model, TextGraphs& graphs)
      : graph(graphs.usual()),
        dim(static_cast<double>(model.options().dim())),
        hidden(static_cast<double>(model.options().transformer.layer.feed_forward)),
        layers(static_cast<double>(model.options().layers())),
        vocabulary(static_cast<double>(model.options().vocabulary)),
        tokens(static_cast<double>(graphs.shape().tokens())),
        rows(static_cast<double>(graph.num_nodes() * graphs.shape().count)),
        nodes(static_cast<double>(graph.computed_nodes())),
        remembered(static_cast<double>(graph.remembered_rows())) {}

  const TokenGraph& graph;
  double dim, hidden, layers, vocabulary, tokens;
  double rows;        ///< nodes of the batch
  double nodes;       ///< computed nodes, over all layers
  double remembered;  ///< remembered rows that are read, over all layers
};

nn::ActivationPolicy policy_of(const CharacterModel& model, TextGraphs& graphs) {
  return nn::activation_policy(model.options().transformer, graphs.usual().num_nodes() * graphs.shape().count,
                               graphs.shape().tokens());
}

bool is_checkpointed(const CharacterModel& model, TextGraphs& graphs) {
  return !model.options().recurrent && policy_of(model, graphs) == nn::ActivationPolicy::checkpoint_layers;
}

/// Vectors of width dim at a node, as they were measured.
struct CellVectors {
  double saved;      ///< for backward
  double projected;  ///< what the input is projected to before the levels run
};

CellVectors cell_vectors(const nn::RecurrentStackOptions& options) {
  switch (options.cell) {
    case nn::RecurrentCellKind::lstm:
      return {8, 4};
    case nn::RecurrentCellKind::mlstm:
      return {11, 5};
    case nn::RecurrentCellKind::rhn:
      return {1.3 + 3.9 * static_cast<double>(options.depth), 2};
    case nn::RecurrentCellKind::qrnn:
      return {6, 6};
  }
  throw ConfigError("recurrent", "no such cell");
}

/// At the peak of one layer, which has what is projected in the order of the nodes and in that of the levels.
double layer_vectors(const nn::RecurrentStackOptions& options) { return 2 * cell_vectors(options).projected + 1; }

}  // namespace

double forward_operations(const CharacterModel& model, TextGraphs& graphs) {
  const Sizes n(model, graphs);
  // Two operations for each multiplication with a weight.
  const double scores = n.tokens * n.dim * n.vocabulary;
  // Each weight of a recurrent layer meets each node once.
  if (model.options().recurrent) {
    return 2 * (n.tokens * static_cast<double>(model.recurrent().parameter_count()) + scores);
  }
  // The layers, the scores, keys and values of what is remembered.
  const auto edges = static_cast<double>(n.graph.followed_edges());
  return tasks::layer_operations(model.options().transformer.layer, n.nodes, edges) +
         2 * (scores + 2 * n.remembered * n.dim * n.dim);
}

double training_operations(const CharacterModel& model, TextGraphs& graphs) {
  // Backward is twice the forward pass.
  return (is_checkpointed(model, graphs) ? 4 : 3) * forward_operations(model, graphs);
}

double saved_floats(const CharacterModel& model, TextGraphs& graphs, std::int64_t predicting) {
  const Sizes n(model, graphs);
  // Scores of each layer that predicts, with their gradient.
  const double scores = 2 * static_cast<double>(predicting) * n.tokens * n.vocabulary;
  if (const auto& cells = model.options().recurrent) {
    return n.tokens * n.dim * (n.layers * cell_vectors(*cells).saved + layer_vectors(*cells)) + scores;
  }
  // About eight vectors of a node's width and the hidden layer twice, or few of these.
  const bool few = policy_of(model, graphs) == nn::ActivationPolicy::recompute_cheap;
  const double layers_at_once = is_checkpointed(model, graphs) ? 1.0 / n.layers : 1;
  return n.nodes * n.dim + 4 * n.remembered * n.dim +
         layers_at_once * n.nodes * (few ? 5 * n.dim : 7 * n.dim + 2 * n.hidden) + scores;
}

double evaluation_floats(const CharacterModel& model, TextGraphs& graphs) {
  const Sizes n(model, graphs);
  // The rows of a layer, what attention and feed-forward or the cells make of them, and the scores.
  const auto& cells = model.options().recurrent;
  const double layer = cells ? (2 + layer_vectors(*cells)) * n.dim : 6 * n.dim + n.hidden;
  return n.rows * layer + 2 * n.tokens * n.vocabulary;
}

}  // namespace bough
