#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"
#include "tasks/texts/labelled_corpus.h"
#include "tasks/texts/text_classifier.h"

/// What text_classification and nli share: everything but their keys and formats.
namespace bough::tasks {

/// Names of notes in checkpoints: words of the table, one a line; names of the classes, as JSON; words of the longest
/// sequence that the model can read.
inline constexpr const char *words_note = "words", *labels_note = "labels", *longest_note = "longest";

/// A task but for its name and the keys of "task".
class ClassificationTask : public Task {
 public:
  /// `pairs` for texts that are two sentences.
  explicit ClassificationTask(bool pairs) : pairs_(pairs) {}

  Metric metric() const final;
  std::vector<Metric> further_metrics() const final;
  Metric selection(const RunSettings& settings) const final;
  std::vector<Parameter> model_parameters() const final;
  std::vector<Parameter> train_parameters() const final;
  BuildOptions graph_options(const Settings& task) const final { return {.length = task.integer("degree_length")}; }
  void check(const RunSettings& settings) const final;
  /// What is known without a model needs the data: see TrainingRun::bounds.
  std::vector<Bound> bounds(const RunSettings&) const final { return {}; }
  std::unique_ptr<TrainingRun> start(const RunSettings& settings) const final;

 private:
  bool pairs_;
};

/// What settings say about the model: `words` rows of embeddings of that width, sequences of up to `longest` words.
struct ClassifierSize {
  std::int64_t words = 0, embedding_dim = 0, longest = 1, classes = 2;
  bool pairs = false;
  bool published = false;  ///< embeddings are published vectors, which settings may freeze
};
TextClassifierOptions classifier_options(const Settings& model, const GraphGenerator& generator, ClassifierSize size);
/// How batches of plain texts for it are made. ConfigError for a model that runs along the trees of its texts.
SequenceBatcherOptions batcher_options(const Settings& model, bool pairs, Device device);
/// Width of the embeddings of words without published vectors.
std::int64_t embedding_width(const Settings& model);

}  // namespace bough::tasks
