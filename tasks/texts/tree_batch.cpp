#include "tasks/texts/tree_batch.h"

#include <utility>
#include <vector>

namespace bough {
namespace {

/// What the trees of a batch have, one after the other.
struct JoinedTrees {
  std::vector<std::int32_t> parts, phrases, positions;  ///< of each edge: its ends, and 0 for a first part, 1 ...
  std::vector<std::int32_t> leaves;                     ///< nodes, in the order of the words
  std::vector<std::int32_t> words, places;              ///< of each leaf, with its place in the sentence
  std::vector<std::int32_t> labelled, labels;           ///< nodes that have a label, and those labels
  std::int32_t num_nodes = 0;

  void add(std::span<const std::int32_t> words_of_tree, std::span<const std::int32_t> parents,
           std::span<const std::int32_t> labels_of_tree) {
    std::vector<std::int32_t> parts_before(parents.size());
    std::size_t place = 0;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const std::int32_t node = num_nodes + static_cast<std::int32_t>(i);
      // All parts of a node come before it, so one that has none by now is a leaf.
      if (parts_before[i] == 0) {
        leaves.push_back(node);
        words.push_back(words_of_tree[place]);
        places.push_back(static_cast<std::int32_t>(place++));
      }
      if (parents[i] >= 0) {
        parts.push_back(node);
        phrases.push_back(num_nodes + parents[i]);
        positions.push_back(parts_before[static_cast<std::size_t>(parents[i])]++);
      }
      if (labels_of_tree[i] != EncodedTrees::no_label) {
        labelled.push_back(node);
        labels.push_back(labels_of_tree[i]);
      }
    }
    num_nodes += static_cast<std::int32_t>(parents.size());
  }
};

}  // namespace

LabelledBatch TreeBatcher::make(const EncodedTrees& trees, std::span<const std::int32_t> chosen) const {
  JoinedTrees joined;
  for (const std::int32_t tree : chosen)
    joined.add(trees.words_of(tree), trees.parents_of(tree), trees.labels_of(tree));
  EdgeListOptions edges{.num_nodes = joined.num_nodes};
  if (options_.binary) {
    edges.edge_types = std::move(joined.positions);
    edges.num_edge_types = 2;
  }
  const auto as_vector = [&](const std::vector<std::int32_t>& numbers) {
    return Tensor::from_vector(numbers, {std::ssize(numbers)}).to(options_.device);
  };
  return {.sequences = {.recurrent_graph =
                            Graph::from_edges(std::move(joined.parts), std::move(joined.phrases), std::move(edges)),
                        .token_nodes = as_vector(joined.leaves),
                        .readout_rows = as_vector(joined.labelled),
                        .words = as_vector(joined.words),
                        .positions = as_vector(joined.places),
                        .num_sequences = std::ssize(joined.labels)},
          .labels = std::move(joined.labels)};
}

}  // namespace bough
