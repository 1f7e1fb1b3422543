#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "tasks/task.h"
#include "tasks/texts/classifier_corpus.h"
#include "tasks/texts/labelled_batch.h"

/// What a classifier is trained on and scored by, whether it reads its texts along a pattern or along their trees.
namespace bough::tasks {

/// The graph of a text of task.degree_length words, or of as many as the pattern has; of a tree, one of two parts a
/// phrase.
struct TypicalGraph {
  /// Mean number of in-edges of a token. In a tree, where leaves have none, of a node: close to that of a chain.
  double attention_degree = 0;
  std::int64_t tokens = 1, nodes = 1, edges = 0;
};

/// Words, classes and texts.
struct ClassifierData : ClassifierCorpus {
  bool pairs = false;  ///< a text is two sequences
  std::unique_ptr<const BatchSource> train = {}, valid = {}, test = {};
  TypicalGraph typical = {};
  std::vector<Bound> bounds = {};  ///< what guessing gives
};

/// ConfigError unless the phrase trees of these settings can take the place of the graph. Reads no files.
void check_trees(const RunSettings& settings);

/// Reads the files of the task. Texts are read along the generator's pattern, or, if the model says so, along their
/// trees.
ClassifierData load_classifier_data(const RunSettings& settings,
                                    const std::shared_ptr<const GraphGenerator>& generator);

}  // namespace bough::tasks
