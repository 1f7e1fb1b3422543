#include "tasks/texts/classifier_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "tasks/model_kind.h"
#include "tasks/texts/baselines.h"
#include "tasks/texts/classification_run.h"
#include "tasks/texts/labelled_corpus.h"
#include "tasks/texts/tree_batch.h"
#include "tasks/texts/tree_corpus.h"

namespace bough::tasks {
namespace {

class SequenceSource : public BatchSource {
 public:
  SequenceSource(EncodedTexts texts, std::shared_ptr<const SequenceBatcher> batcher)
      : texts_(std::move(texts)), batcher_(std::move(batcher)) {}

  std::vector<std::int64_t> lengths() const override {
    std::vector<std::int64_t> lengths;
    for (std::int64_t text = 0; text < texts_.num_texts(); ++text) lengths.push_back(texts_.length(text));
    return lengths;
  }

  LabelledBatch make(std::span<const std::int32_t> chosen, std::int64_t placeholders) const override {
    LabelledBatch batch;
    std::vector<std::span<const std::int32_t>> sequences;
    for (const std::int32_t text : chosen) {
      for (std::int64_t i = 0; i < texts_.sequences_per_text; ++i) {
        sequences.push_back(texts_.sequence(text * texts_.sequences_per_text + i));
      }
      batch.labels.push_back(texts_.labels[static_cast<std::size_t>(text)]);
    }
    batch.sequences = batcher_->make(sequences, placeholders);
    return batch;
  }

 private:
  EncodedTexts texts_;
  std::shared_ptr<const SequenceBatcher> batcher_;
};

class TreeSource : public BatchSource {
 public:
  TreeSource(EncodedTrees trees, const TreeBatcher& batcher) : trees_(std::move(trees)), batcher_(batcher) {}

  std::vector<std::int64_t> lengths() const override {
    std::vector<std::int64_t> lengths;
    for (std::int64_t tree = 0; tree < trees_.num_trees(); ++tree) lengths.push_back(std::ssize(trees_.words_of(tree)));
    return lengths;
  }

  LabelledBatch make(std::span<const std::int32_t> chosen, std::int64_t placeholders) const override {
    if (placeholders > 0) throw ConfigError("task", "placeholders in front of a text have no place in its tree");
    return batcher_.make(trees_, chosen);
  }

 private:
  EncodedTrees trees_;
  TreeBatcher batcher_;
};

std::uint64_t seed_of(const RunSettings& settings) {
  return static_cast<std::uint64_t>(settings.train.integer("seed"));
}

ClassifierData load_texts(const RunSettings& settings, const std::shared_ptr<const GraphGenerator>& generator) {
  ClassifierData data;
  data.pairs = reads_pairs(settings.task);
  const auto batcher =
      std::make_shared<const SequenceBatcher>(generator, batcher_options(settings.model, data.pairs, settings.device));
  const AttentionGraph graph = batcher->generator().build(
      {.length = generator->fixed_length().value_or(settings.task.integer("degree_length"))});
  data.typical = {.attention_degree = attention_degree(graph),
                  .tokens = graph.num_tokens(),
                  .nodes = graph.graph.num_dst(),
                  .edges = graph.graph.num_edges()};

  LabelledCorpus corpus = load_labelled_corpus(settings.task, settings.data_folders, seed_of(settings));
  const std::int64_t classes = std::ssize(corpus.labels);
  data.bounds.push_back({"most frequent class", majority_accuracy(corpus.train_labels, corpus.test.labels, classes)});
  if (data.pairs) data.bounds.push_back({"lexical overlap", overlap_accuracy(corpus.train, corpus.test, classes)});
  data.train = std::make_unique<SequenceSource>(std::move(corpus.train), batcher);
  data.valid = std::make_unique<SequenceSource>(std::move(corpus.valid), batcher);
  data.test = std::make_unique<SequenceSource>(std::move(corpus.test), batcher);
  static_cast<ClassifierCorpus&>(data) = std::move(corpus);
  return data;
}

/// Without the nodes that have none.
std::vector<std::int32_t> labels_of(const EncodedTrees& trees) {
  std::vector<std::int32_t> labels = trees.labels;
  std::erase(labels, EncodedTrees::no_label);
  return labels;
}

ClassifierData load_trees(const RunSettings& settings) {
  const bool binary = recurrent_options(settings.model).positions > 0;
  const TreeBatcher batcher({.binary = binary, .device = settings.device});
  TreeCorpus corpus = load_tree_corpus(settings.task, settings.data_folders, seed_of(settings), binary);

  ClassifierData data;
  const std::int64_t tokens = settings.task.integer("degree_length"), nodes = 2 * tokens - 1;
  data.typical = {.attention_degree = static_cast<double>(nodes - 1) / static_cast<double>(nodes),
                  .tokens = tokens,
                  .nodes = nodes,
                  .edges = nodes - 1};
  data.bounds.push_back({"most frequent class",
                         majority_accuracy(corpus.train_labels, labels_of(corpus.test), std::ssize(corpus.labels))});
  data.train = std::make_unique<TreeSource>(std::move(corpus.train), batcher);
  data.valid = std::make_unique<TreeSource>(std::move(corpus.valid), batcher);
  data.test = std::make_unique<TreeSource>(std::move(corpus.test), batcher);
  static_cast<ClassifierCorpus&>(data) = std::move(corpus);
  return data;
}

}  // namespace

void check_trees(const RunSettings& settings) {
  check_tree_corpus(settings.task);
  const std::string along = settings.model.string("along");
  const auto& graph = settings.graph;
  if (graph.value("kind", "") != "chain" || graph.value("skip", 1) != 1) {
    throw ConfigError("graph",
                      fmt::format("the trees of the data take the place of a pattern (along = {}), and this is "
                                  "{}; write \"graph\": \"chain\", or set along to \"graph\"",
                                  along, graph.dump()));
  }
  const std::string readout = settings.model.string("readout");
  if (readout != "summary" && readout != "root") {
    throw ConfigError("model", fmt::format("readout = {}, and of a tree the root is read; leave it out", readout));
  }
}

ClassifierData load_classifier_data(const RunSettings& settings,
                                    const std::shared_ptr<const GraphGenerator>& generator) {
  return runs_along_trees(settings.model) ? load_trees(settings) : load_texts(settings, generator);
}

}  // namespace bough::tasks
