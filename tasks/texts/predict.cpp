#include "bough/tasks/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "tasks/checkpoint_notes.h"
#include "tasks/data/labelled_trees.h"
#include "tasks/model_kind.h"
#include "tasks/nli/nli.h"
#include "tasks/text_classification/text_classification.h"
#include "tasks/texts/batch_order.h"
#include "tasks/texts/classification_run.h"
#include "tasks/texts/made_ahead.h"
#include "tasks/texts/readout_attention.h"
#include "tasks/texts/tree_batch.h"
#include "tasks/texts/tree_corpus.h"

namespace bough {
namespace {

/// Words that are computed together: enough to keep the cores busy, few enough to answer soon.
constexpr std::int64_t words_at_once = 8192;

/// "task" of a classifier.
Settings task_of(const tasks::CheckpointNotes& notes, const std::string& path) {
  const nlohmann::json& task = notes.config().at("task");
  const std::string kind = task.at("kind");
  if (kind == tasks::nli_task().name() || kind == tasks::text_classification_task().name()) {
    return Settings("task", task);
  }
  throw IoError("predict", fmt::format("'{}' is a model of the task {}, which knows no classes; text_classification "
                                       "and nli train models that do",
                                       path, kind));
}

std::int64_t longest_of(const tasks::CheckpointNotes& notes, const std::string& path) {
  const std::string& text = notes.at(tasks::longest_note);
  std::int64_t longest = 0;
  std::from_chars(text.data(), text.data() + text.size(), longest);
  if (longest >= 1) return longest;
  throw IoError("predict", fmt::format("'{}' is damaged: its longest text has '{}' words", path, text));
}

std::int64_t embedding_dim_of(const tasks::CheckpointNotes& notes, const std::string& path) {
  for (const auto& [name, tensor] : notes.tensors()) {
    if (name == "embeddings" && tensor.rank() == 2) return tensor.size(1);
  }
  throw IoError("predict", fmt::format("'{}' is no checkpoint of a classifier: it has no embeddings", path));
}

/// The words of a sentence that are read, and what is known of all of them.
struct ReadSentence {
  std::vector<std::int32_t> numbers = {};
  std::vector<ExplainedWord> words = {};  ///< only if asked for
  std::int64_t count = 0;
  std::vector<std::int32_t> parents = {};  ///< of the nodes of its tree, as EncodedTrees has them, if it has one
};
using ReadText = std::vector<ReadSentence>;

/// Trees whose root is what is asked for.
EncodedTrees encoded_trees(const std::vector<ReadText>& texts, std::span<const std::int32_t> chosen) {
  EncodedTrees trees;
  for (const std::int32_t text : chosen) {
    const ReadSentence& tree = texts[static_cast<std::size_t>(text)].front();
    trees.words.insert(trees.words.end(), tree.numbers.begin(), tree.numbers.end());
    trees.parents.insert(trees.parents.end(), tree.parents.begin(), tree.parents.end());
    trees.labels.resize(trees.parents.size(), EncodedTrees::no_label);
    trees.labels.back() = 0;
    trees.word_offsets.push_back(std::ssize(trees.words));
    trees.node_offsets.push_back(std::ssize(trees.parents));
  }
  return trees;
}

/// The probabilities of a row of scores.
std::vector<double> softmax_of(std::span<const double> row) {
  const double best = *std::ranges::max_element(row);
  std::vector<double> result;
  double total = 0;
  for (const double score : row) total += result.emplace_back(std::exp(score - best));
  for (double& share : result) share /= total;
  return result;
}

}  // namespace

struct TrainedTextClassifier::Trained {
  Trained(const std::string& path, const tasks::CheckpointNotes& notes, Device device);

  ReadText read(const UnlabelledText& text, bool keep_words) const;
  ReadSentence read_sentence(const std::string& text, bool keep_words) const;
  ReadSentence read_tree(const std::string& text) const;
  SequenceBatch batch(const std::vector<ReadText>& texts, std::span<const std::int32_t> chosen,
                      bool keep_graph = false) const;
  Prediction predict(const ReadText& sentences, std::span<const double> scores) const;

  Settings task, settings;  ///< of "task" and "model"
  bool pairs, trees;
  nlohmann::json graph;
  std::vector<std::string> labels;
  WordTable words;
  TextCutter cutter;
  std::int64_t longest;
  std::shared_ptr<const GraphGenerator> generator;
  std::optional<SequenceBatcher> sequences;  ///< undefined if it reads trees
  TreeBatcher tree_batcher;
  TextClassifier model;
};

TrainedTextClassifier::Trained::Trained(const std::string& path, const tasks::CheckpointNotes& notes, Device device)
    : task(task_of(notes, path)),
      settings("model", notes.config().at("model")),
      pairs(bough::reads_pairs(task)),
      trees(tasks::runs_along_trees(settings)),
      graph(notes.config().at("graph")),
      labels(parse_json(notes.at(tasks::labels_note), path).get<std::vector<std::string>>()),
      words(WordTable::from_lines(notes.at(tasks::words_note))),
      cutter(task),
      longest(longest_of(notes, path)),
      generator(generators().make(graph)),
      tree_batcher({.binary = trees && tasks::recurrent_options(settings).positions > 0, .device = device}),
      model(tasks::classifier_options(settings, *generator,
                                      {.words = words.size(),
                                       .embedding_dim = embedding_dim_of(notes, path),
                                       .longest = longest,
                                       .classes = std::ssize(labels),
                                       .pairs = pairs,
                                       .published = task.has("embeddings")})) {
  if (!trees) sequences.emplace(generator, tasks::batcher_options(settings, pairs, device));
  longest = std::min(longest, cutter.max_length().value_or(longest));
  nn::load_checkpoint(path, model);
  model.to(device);
  model.eval();
}

ReadSentence TrainedTextClassifier::Trained::read_sentence(const std::string& text, bool keep_words) const {
  ReadSentence sentence;
  const auto add = [&](std::string_view word) {
    if (sentence.count++ >= longest) return;
    sentence.numbers.push_back(words.find(word));
    if (keep_words) {
      sentence.words.push_back({.text = std::string(word), .known = sentence.numbers.back() != WordTable::unknown});
    }
  };
  cutter.for_each_word(text, add);
  if (sentence.count == 0) add("");
  return sentence;
}

/// A tree is read whole, as in training.
ReadSentence TrainedTextClassifier::Trained::read_tree(const std::string& text) const {
  const PhraseTree tree = parse_phrase_tree(text, PhraseLabels::ignored);
  if (tree_batcher.options().binary) require_binary(tree);
  const auto count = std::ssize(tree.words);
  const nn::InputLayerOptions input = model.options().input;
  const bool has_positions =
      nn::uses_sinusoids(input.positions) || input.positions == nn::Positions::learned || input.block_positions > 0;
  if (has_positions && count > longest) {
    throw ConfigError("predict", fmt::format("the tree has {} words, and the model has positions for {}; leave it out",
                                             count, longest));
  }
  ReadSentence sentence{.count = count};
  const Tokenizer tokenizer({.lower_case = task.boolean("lower_case")});
  for (const std::string& word : tree.words) sentence.numbers.push_back(words.find(whole_word(tokenizer, word)));
  for (const PhraseTree::Node& node : tree.nodes) sentence.parents.push_back(node.parent);
  return sentence;
}

ReadText TrainedTextClassifier::Trained::read(const UnlabelledText& text, bool keep_words) const {
  if (!pairs && !text.second.empty()) {
    const bool hypotheses = bough::reads_hypotheses(task);
    throw ConfigError("predict", fmt::format("the classifier reads {}, and here is a second sentence; {}",
                                             hypotheses ? "hypotheses alone" : "single texts",
                                             hypotheses ? "give the hypothesis as the text" : "leave it out"));
  }
  ReadText sentences;
  sentences.push_back(trees ? read_tree(text.text) : read_sentence(text.text, keep_words));
  if (pairs) sentences.push_back(read_sentence(text.second, keep_words));
  return sentences;
}

SequenceBatch TrainedTextClassifier::Trained::batch(const std::vector<ReadText>& texts,
                                                    std::span<const std::int32_t> chosen, bool keep_graph) const {
  if (!trees) {
    std::vector<std::span<const std::int32_t>> numbers;
    for (const std::int32_t text : chosen) {
      for (const ReadSentence& sentence : texts[static_cast<std::size_t>(text)]) numbers.emplace_back(sentence.numbers);
    }
    return sequences->make(numbers, 0, keep_graph);
  }
  const EncodedTrees encoded = encoded_trees(texts, chosen);
  std::vector<std::int32_t> all(chosen.size());
  std::iota(all.begin(), all.end(), 0);
  return tree_batcher.make(encoded, all).sequences;
}

Prediction TrainedTextClassifier::Trained::predict(const ReadText& sentences, std::span<const double> scores) const {
  Prediction prediction{.label = labels[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())],
                        .scores = softmax_of(scores)};
  for (const ReadSentence& sentence : sentences) {
    prediction.words += sentence.count;
    prediction.unknown += std::ranges::count(sentence.numbers, WordTable::unknown);
    prediction.left_out += sentence.count - std::ssize(sentence.numbers);
  }
  return prediction;
}

TrainedTextClassifier::TrainedTextClassifier(const std::string& checkpoint, Device device)
    : trained_(
          std::make_unique<const Trained>(checkpoint, tasks::CheckpointNotes(checkpoint, "a classifier"), device)) {}

TrainedTextClassifier::~TrainedTextClassifier() = default;
TrainedTextClassifier::TrainedTextClassifier(TrainedTextClassifier&&) noexcept = default;
TrainedTextClassifier& TrainedTextClassifier::operator=(TrainedTextClassifier&&) noexcept = default;

const std::vector<std::string>& TrainedTextClassifier::labels() const { return trained_->labels; }
bool TrainedTextClassifier::reads_pairs() const { return trained_->pairs; }
bool TrainedTextClassifier::reads_hypotheses() const { return bough::reads_hypotheses(trained_->task); }
bool TrainedTextClassifier::reads_trees() const { return trained_->trees; }
bool TrainedTextClassifier::attends() const { return !trained_->model.options().recurrent; }
std::int64_t TrainedTextClassifier::longest() const { return trained_->longest; }
std::string TrainedTextClassifier::pattern() const { return trained_->graph.dump(); }

void TrainedTextClassifier::require_readable(const UnlabelledText& text) const { trained_->read(text, false); }

std::vector<Prediction> TrainedTextClassifier::predict(std::span<const UnlabelledText> texts) const {
  const NoGrad no_grad;
  std::vector<ReadText> read;
  std::vector<std::int64_t> lengths;
  for (const UnlabelledText& text : texts) {
    std::int64_t length = 0;
    for (const ReadSentence& sentence : read.emplace_back(trained_->read(text, false))) {
      length += std::ssize(sentence.numbers);
    }
    lengths.push_back(length);
  }
  const auto batches = evaluation_batches(lengths, words_at_once);
  MadeAhead<std::size_t, SequenceBatch> ahead([&](std::size_t place) { return trained_->batch(read, batches[place]); });
  std::vector<Prediction> predictions(texts.size());
  for (std::size_t place = 0; place < batches.size(); ++place) {
    const SequenceBatch batch = ahead.take(place);
    if (place + 1 < batches.size()) ahead.begin(place + 1);
    const std::vector<double> scores = trained_->model.forward(batch).to_vector<double>();
    for (std::size_t i = 0; i < batches[place].size(); ++i) {
      const auto text = static_cast<std::size_t>(batches[place][i]);
      const std::size_t classes = trained_->labels.size();
      predictions[text] = trained_->predict(read[text], std::span(scores).subspan(i * classes, classes));
    }
  }
  return predictions;
}

Explanation TrainedTextClassifier::explain(const UnlabelledText& text) const {
  if (!attends()) {
    throw ConfigError("predict", "the classifier has recurrent layers, which attend to nothing that could be shown");
  }
  const NoGrad no_grad;
  std::vector<ReadText> read{trained_->read(text, true)};
  const std::vector<std::int32_t> the_text = {0};
  const SequenceBatch batch = trained_->batch(read, the_text, true);
  const std::vector<double> scores = trained_->model.forward(batch).to_vector<double>();

  Explanation explanation{.prediction = trained_->predict(read[0], scores),
                          .words = {},
                          .nodes = {},
                          .readouts = readout_attention(trained_->model, batch, trained_->sequences->options().cross)};
  for (ReadSentence& sentence : read[0]) explanation.words.push_back(std::move(sentence.words));
  for (std::size_t i = 0; i < batch.graph.sequences.size(); ++i) {
    const Sequence& sequence = batch.graph.sequences[i];
    const auto first = static_cast<std::int32_t>(sequence.token_begin);
    for (std::int64_t node = sequence.node_begin; node < sequence.node_end; ++node) {
      const auto at = static_cast<std::size_t>(node);
      const TokenRange covers = batch.graph.covers[at];
      explanation.nodes.push_back({.kind = batch.graph.kinds[at],
                                   .level = batch.graph.levels[at],
                                   .sequence = static_cast<std::int64_t>(i),
                                   .covers = {covers.begin - first, covers.end - first}});
    }
  }
  return explanation;
}

}  // namespace bough
