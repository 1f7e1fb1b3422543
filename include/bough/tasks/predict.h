#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bough/core/device.h"
#include "bough/graph/attention_graph.h"

namespace bough {

/// A text to judge.
struct UnlabelledText {
  std::string text;         ///< of a pair the first sentence, the premise, unless the classifier reads_hypotheses()
  std::string second = {};  ///< of a pair the second one, the hypothesis; else empty
};

/// What a classifier says of a text.
struct Prediction {
  std::string label;           ///< the class with the highest score, the first of equal ones
  std::vector<double> scores;  ///< probability of each class, in the order of the classifier's labels
  std::int64_t words = 0;      ///< of the text, in a pair of both sentences, with those that were left out
  std::int64_t unknown = 0;    ///< of the words that were read, those that the classifier does not know
  std::int64_t left_out = 0;   ///< words at the end that were not read, because the classifier reads no more
};

/// A word as the classifier looked it up.
struct ExplainedWord {
  std::string text;   ///< in small letters, if the classifier reads those
  bool known = true;  ///< it has an embedding of its own
};

/// A node of the graph on which a text was read.
struct ExplainedNode {
  NodeKind kind = NodeKind::token;  ///< what it stands for
  std::int32_t level = 0;           ///< 0 for words, growing with what it covers
  std::int64_t sequence = 0;        ///< 0, or 1 in the second sentence of a pair
  TokenRange covers = {};           ///< words of its sentence
};

/// How much one layer lets the read-out see of each node.
struct LayerAttention {
  std::int64_t layer = 0;  ///< from 0
  std::int64_t stage = 0;  ///< of patterns whose layers have several; else 0
  bool cross = false;      ///< a stage in which a sentence reads the other one
  /// The attention weights with which the read-out nodes attend to each node: mean over the heads, and over the
  /// read-out nodes by their shares. They sum to 1, to less where some of these are not updated, and to 0 where none
  /// is.
  std::vector<double> weights;
};

/// What stands for a sentence, and what it is made of.
struct ReadoutAttention {
  std::vector<double> shares;          ///< of each node in the read-out; they sum to 1
  std::vector<LayerAttention> layers;  ///< layer after layer, stage after stage
  /// Attention rollout (Abnar and Zuidema, 2020): how much of the read-out comes from what each node was before the
  /// first layer, if a node is, after each layer or stage, half of what it was and half of what it attends to. The
  /// values sum to 1.
  std::vector<double> rollout;
};

/// What a classifier looks at in a text.
struct Explanation {
  Prediction prediction;                          ///< what it says
  std::vector<std::vector<ExplainedWord>> words;  ///< of each sentence those that were read
  std::vector<ExplainedNode> nodes;               ///< of the graph; of a pair those of both sentences
  std::vector<ReadoutAttention> readouts;         ///< of each sentence
};

/// A classifier that `bough run` has trained, of the task text_classification or nli: it says of which class new texts
/// are.
///
///     const TrainedTextClassifier classifier("results/reviews/runs/bpt-k4/best.safetensors");
///     for (const Prediction& prediction : classifier.predict({{"a fine film"}, {"what a waste"}})) ...
class TrainedTextClassifier {
 public:
  /// Loads a checkpoint. IoError for a file that is none of a classifier, DeviceError for a device that is not there,
  /// ConfigError for a pattern that the registry does not have, IoError or ConfigError for a plug-in of its graph that
  /// is neither loaded nor where it was.
  explicit TrainedTextClassifier(const std::string& checkpoint, Device device = Device::cpu());
  ~TrainedTextClassifier();
  TrainedTextClassifier(TrainedTextClassifier&&) noexcept;
  TrainedTextClassifier& operator=(TrainedTextClassifier&&) noexcept;

  /// Names of the classes.
  const std::vector<std::string>& labels() const;
  /// Whether a text is a pair of sentences.
  bool reads_pairs() const;
  /// Whether it judges pairs by the hypothesis alone (task.reads of nli): the hypothesis is then the text, and there is
  /// no second sentence.
  bool reads_hypotheses() const;
  /// Whether it runs along phrase trees (model.along): a text is then one, "(3 (2 a) (4 (2 good) (2 film)))" as in the
  /// Stanford Sentiment Treebank or in the Penn Treebank's style. What stands for a label is not read and may be
  /// missing.
  bool reads_trees() const;
  /// Whether it has layers of attention, so that there is something to explain; false for recurrent layers.
  bool attends() const;
  /// Words of a sentence that are read, its first ones; of a tree all are.
  std::int64_t longest() const;
  /// The attention pattern as JSON, for titles.
  std::string pattern() const;

  /// ConfigError for a text that it cannot read: with a second sentence where there should be none, or, if it reads
  /// trees, one that is no tree, has phrases of more parts than the model takes, or more words than it has positions.
  void require_readable(const UnlabelledText& text) const;

  /// A prediction for each text, in their order: texts of about equal length are computed together. What is said
  /// of a text depends on the others by rounding alone; the same texts give the same bits for any number of threads. A
  /// text without a word counts as one unknown word. ConfigError as require_readable.
  std::vector<Prediction> predict(std::span<const UnlabelledText> texts) const;
  std::vector<Prediction> predict(std::initializer_list<UnlabelledText> texts) const {
    return predict(std::span(texts.begin(), texts.size()));
  }

  /// What it looks at in one text, with what it says of it. Works for every pattern and read-out; where the read-out is
  /// the maximum of the words, a word's share is that of the features of which it has the maximum. ConfigError unless
  /// the classifier attends().
  Explanation explain(const UnlabelledText& text) const;

 private:
  struct Trained;
  std::unique_ptr<const Trained> trained_;
};

}  // namespace bough
