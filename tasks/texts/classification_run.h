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

/// Keys of "model" and "train" of both tasks; `pairs` for texts that are two sentences.
std::vector<Parameter> classifier_parameters(bool pairs);
std::vector<Parameter> classification_train_parameters();

/// ConfigError for what the tables cannot tell. Reads no files.
void check_classification(const RunSettings& settings);

/// What both tasks are compared by, and what chooses their checkpoints.
Metric accuracy_metric();
Metric classification_selection(const RunSettings& settings);

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

/// Reads the data and makes the model.
std::unique_ptr<TrainingRun> start_classification(const RunSettings& settings);

}  // namespace bough::tasks
