#include "bough/tasks/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/data/labelled_text.h"
#include "tasks/runner/experiment.h"
#include "tasks/texts/classification_run.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const train_texts =
    "good\ta fine film\ngood\tI liked it a lot\nbad\twhat a waste of time\nbad\tbad , bad film\ngood\tfine and good\n"
    "bad\tI hated it\ngood\tgood film\nbad\ta waste\ngood\tit was a fine time\nbad\tit was bad\n";
const char* const train_pairs =
    "entailment\ta dog runs\tan animal runs\ncontradiction\ta dog runs\ta dog sleeps\nneutral\ta dog runs\tit is "
    "brown\nentailment\ta cat sleeps\ta cat\ncontradiction\ta cat sleeps\tit runs\nneutral\ta cat sleeps\ta brown "
    "cat\n";

/// Short runs over few texts: what is tested here does not depend on what a model has learned.
class Predict : public testing::Test {
 protected:
  void SetUp() override {
    test::write_file(folder_.file("texts.tsv"), train_texts);
    test::write_file(folder_.file("pairs.tsv"), train_pairs);
  }
  json experiment(const json& graph, const json& changes = json::object(), bool pairs = false) const {
    json source = json::parse(R"({
      "task": {"kind": "text_classification", "format": "tsv", "degree_length": 8, "min_count": 1, "valid_fraction": 0.3},
      "model": {"layers": 2, "dim": 16, "heads": 4, "ffn": 16, "dropout": 0.1},
      "train": {"steps": 8, "texts_per_batch": 4, "learning_rate": 0.01, "warmup": 1}})");
    if (pairs) source["task"].update({{"kind", "nli"}, {"format", "snli_tsv"}});
    source["graph"] = graph;
    source.merge_patch(changes);
    source["task"]["train"] = source["task"]["test"] = folder_.file(pairs ? "pairs.tsv" : "texts.tsv");
    return source;
  }
  /// The best checkpoint of a run.
  std::string train(const json& source) {
    results_ = run_experiment(source, {.folder = folder_.file("out" + std::to_string(runs_++))});
    EXPECT_EQ(results_.failed, 0) << results_.runs[0].error;
    return folder_.file("out" + std::to_string(runs_ - 1) + "/runs/" + results_.runs[0].name + "/best.safetensors");
  }
  test::TemporaryFolder folder_;
  ExperimentResults results_;
  int runs_ = 0;
};

std::vector<UnlabelledText> unlabelled(const LabelledTexts& texts) {
  std::vector<UnlabelledText> result;
  for (const LabelledText& text : texts.texts) result.push_back({.text = text.text, .second = text.second});
  return result;
}

double sum(const std::vector<double>& values) { return std::reduce(values.begin(), values.end()); }

TEST_F(Predict, ScoresTheTestTextsAsTheRunDid) {
  for (const bool pairs : {false, true}) {
    const json source = experiment({{"kind", "bpt"}, {"k", 2}}, json::object(), pairs);
    const TrainedTextClassifier classifier(train(source));
    EXPECT_EQ(classifier.reads_pairs(), pairs);
    EXPECT_FALSE(classifier.reads_hypotheses());
    const LabelledTexts texts =
        read_labelled_texts(source["task"]["test"], pairs ? TextFormat::snli_tsv : TextFormat::tsv);
    const std::vector<Prediction> predictions = classifier.predict(unlabelled(texts));
    ASSERT_EQ(predictions.size(), texts.texts.size());
    double right = 0, loss = 0;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const auto label = static_cast<std::size_t>(texts.texts[i].label);
      right += predictions[i].label == texts.labels[label] ? 1 : 0;
      loss -= std::log(predictions[i].scores[label]);
      EXPECT_NEAR(sum(predictions[i].scores), 1, 1e-12);
      EXPECT_EQ(predictions[i].left_out, 0);
    }
    const auto count = static_cast<double>(predictions.size());
    EXPECT_NEAR(right / count, results_.runs[0].metric("accuracy"), 1e-12);
    EXPECT_NEAR(loss / count, results_.runs[0].metric("loss"), 1e-5);
  }
}

TEST_F(Predict, JudgesHypothesesByThemselvesIfTheRunDid) {
  const json source = experiment("bpt", {{"task", {{"reads", "hypothesis"}}}}, true);
  const TrainedTextClassifier classifier(train(source));
  EXPECT_FALSE(classifier.reads_pairs());
  EXPECT_TRUE(classifier.reads_hypotheses());
  double right = 0, loss = 0;
  const LabelledTexts pairs = read_labelled_texts(source["task"]["test"], TextFormat::snli_tsv);
  for (const LabelledText& pair : pairs.texts) {
    const Prediction prediction = classifier.predict({{pair.second}})[0];
    right += prediction.label == pairs.labels[static_cast<std::size_t>(pair.label)] ? 1 : 0;
    loss -= std::log(prediction.scores[static_cast<std::size_t>(pair.label)]);
  }
  const auto count = static_cast<double>(pairs.texts.size());
  EXPECT_NEAR(right / count, results_.runs[0].metric("accuracy"), 1e-12);
  EXPECT_NEAR(loss / count, results_.runs[0].metric("loss"), 1e-5);
  EXPECT_EQ(classifier.explain({"a dog sleeps"}).readouts.size(), 1u);
  EXPECT_THAT(test::error_message<ConfigError>([&] {
                classifier.predict({{"a dog runs", "a dog sleeps"}});
              }),
              HasSubstr("reads hypotheses alone"));
}

TEST_F(Predict, IsWhatTheModelSaysOfTheNumbersOfTheWords) {
  const json source = experiment({{"kind", "window"}, {"width", 2}}, {{"model", {{"embedding_dim", 12}}}});
  const std::string path = train(source);
  const TrainedTextClassifier classifier(path);
  const nn::TensorFile file = nn::load_tensors(path);
  const auto settings = runner::read_experiment(source).runs.front().checked;
  const WordTable words = WordTable::from_lines(file.metadata.at("words"));
  const std::shared_ptr<const GraphGenerator> generator = generators().make(source["graph"]);
  TextClassifier model(tasks::classifier_options(
      settings.model, *generator,
      {.words = words.size(), .embedding_dim = 12, .longest = std::stoll(file.metadata.at("longest")), .classes = 2}));
  nn::load_checkpoint(path, model);
  model.eval();
  const std::vector<std::int32_t> numbers = {words.find("a"), WordTable::unknown, words.find("waste")};
  const NoGrad no_grad;
  const std::vector<double> scores =
      model
          .forward(
              SequenceBatcher(generator, tasks::batcher_options(settings.model, false, Device::cpu())).make({numbers}))
          .to_vector<double>();
  const Prediction prediction = classifier.predict({{"A pitiful waste"}})[0];
  EXPECT_NEAR(prediction.scores[0], 1 / (1 + std::exp(scores[1] - scores[0])), 1e-6);
  EXPECT_EQ(prediction.label, scores[0] >= scores[1] ? "bad" : "good");
  EXPECT_EQ(prediction.words, 3);
  EXPECT_EQ(prediction.unknown, 1);
}

TEST_F(Predict, GivesResultsInTheOrderOfTheTextsWithTheSameBitsForAnyNumberOfThreads) {
  const TrainedTextClassifier classifier(train(experiment("bpt")));
  std::vector<UnlabelledText> texts;
  for (int i = 0; i < 300; ++i) {
    UnlabelledText& text = texts.emplace_back();
    for (int word = 0; word <= (i * 7) % 6; ++word) text.text += word % 2 == i % 2 ? "good " : "waste ";
  }
  const std::vector<Prediction> predictions = classifier.predict(texts);
  for (const std::size_t i : {0u, 1u, 17u, 299u}) {
    const Prediction alone = classifier.predict({texts[i]})[0];
    EXPECT_EQ(alone.label, predictions[i].label);
    for (std::size_t label = 0; label < 2; ++label) {
      EXPECT_NEAR(alone.scores[label], predictions[i].scores[label], 1e-5) << i;
    }
  }
  for (const int threads : {1, 2, 7}) {
    const test::ThreadCount count(threads);
    const std::vector<Prediction> again = classifier.predict(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(again[i].scores, predictions[i].scores) << i;
  }
  EXPECT_TRUE(classifier.predict(std::span<const UnlabelledText>{}).empty());
}

TEST_F(Predict, CutsWhatTheModelCannotReadAndSaysSo) {
  const TrainedTextClassifier classifier(train(experiment("bpt")));
  ASSERT_EQ(classifier.longest(), 5);
  const std::vector<Prediction> predictions =
      classifier.predict({{"it was a fine time indeed , good"}, {"it was a fine time"}, {""}, {"I liked it a lot"}});
  EXPECT_EQ(predictions[0].left_out, 3);
  EXPECT_EQ(predictions[0].words, 8);
  for (std::size_t label = 0; label < 2; ++label) {
    EXPECT_NEAR(predictions[0].scores[label], predictions[1].scores[label], 1e-5);
  }
  EXPECT_EQ(predictions[1].left_out, 0);
  EXPECT_EQ(predictions[2].unknown, 1) << "a text without words";
  EXPECT_EQ(classifier.explain({"it was a fine time indeed"}).words[0].size(), 5u);

  const TrainedTextClassifier shorter(train(experiment("bpt", {{"task", {{"max_length", 3}}}})));
  EXPECT_EQ(shorter.longest(), 3);
  EXPECT_EQ(shorter.predict({{"I liked it a lot"}})[0].left_out, 2);
}

/// What must hold of every explanation.
void expect_sound(const Explanation& explanation, std::int64_t steps) {
  EXPECT_EQ(explanation.readouts.size(), explanation.words.size());
  for (const ReadoutAttention& readout : explanation.readouts) {
    for (const std::vector<double>* shares : {&readout.shares, &readout.rollout}) {
      EXPECT_EQ(shares->size(), explanation.nodes.size());
      EXPECT_NEAR(sum(*shares), 1, 1e-5);
      EXPECT_GE(*std::ranges::min_element(*shares), 0);
    }
    EXPECT_EQ(std::ssize(readout.layers), steps);
    for (const LayerAttention& layer : readout.layers) {
      EXPECT_EQ(layer.weights.size(), explanation.nodes.size());
      EXPECT_LT(sum(layer.weights), 1 + 1e-5);
    }
    EXPECT_NEAR(sum(readout.layers.back().weights), 1, 1e-5);
  }
  for (const ExplainedNode& node : explanation.nodes) {
    EXPECT_LE(0, node.covers.begin);
    EXPECT_LE(node.covers.end, std::ssize(explanation.words[static_cast<std::size_t>(node.sequence)]));
  }
}

TEST_F(Predict, ExplainsEveryKindOfPatternAndReadout) {
  struct Case {
    json graph;
    const char* readout;
    std::int64_t stages;
  };
  for (const Case& c :
       {Case{{{"kind", "bpt"}, {"k", 1}}, "summary", 1}, Case{{{"kind", "window"}, {"width", 1}}, "summary", 1},
        Case{"star", "summary", 2}, Case{{{"kind", "hierarchical"}, {"size", 2}}, "summary", 1},
        Case{"full", "maximum", 1}, Case{"bpt", "tokens", 1},
        Case{{{"kind", "sparse_strided"}, {"stride", 2}, {"split_heads", true}}, "tokens", 1},
        Case{{{"kind", "adaptive_span"}, {"max_span", 4}, {"ramp", 2}}, "summary", 1}}) {
    SCOPED_TRACE(c.graph.dump());
    const TrainedTextClassifier classifier(train(experiment(c.graph, {{"model", {{"readout", c.readout}}}})));
    const Explanation explanation = classifier.explain({"It was <b>fine</b>"});
    const std::int64_t stages =
        std::max<std::int64_t>(1, std::ssize(generators().make(c.graph)->build({.length = 4}).stages));
    EXPECT_EQ(stages, c.stages);
    expect_sound(explanation, 2 * stages);
    const Prediction alone = classifier.predict({{"It was <b>fine</b>"}})[0];
    EXPECT_EQ(explanation.prediction.scores, alone.scores);
    EXPECT_EQ(explanation.words[0][0].text, "it");
    EXPECT_TRUE(explanation.words[0][0].known);
    EXPECT_EQ(explanation.words[0][2].text, "<");
    EXPECT_FALSE(explanation.words[0][2].known);
  }
}

/// By hand: in one layer of full attention without other nodes, a token keeps half of itself and half goes by weight.
TEST_F(Predict, RollsOneLayerOutByHand) {
  const TrainedTextClassifier classifier(
      train(experiment("full", {{"model", {{"layers", 1}, {"readout", "tokens"}}}})));
  const Explanation explanation = classifier.explain({"it was bad"});
  const ReadoutAttention& readout = explanation.readouts[0];
  ASSERT_EQ(explanation.nodes.size(), 3u);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_NEAR(readout.shares[node], 1.0 / 3, 1e-9);
    EXPECT_NEAR(readout.rollout[node], 0.5 / 3 + 0.5 * readout.layers[0].weights[node], 1e-6);
  }
}

TEST_F(Predict, ExplainsPairsFromBothSentences) {
  for (const bool cross : {true, false}) {
    const TrainedTextClassifier classifier(train(experiment("bpt", {{"model", {{"cross", cross}}}}, true)));
    const Explanation explanation = classifier.explain({"a dog runs", "it sleeps"});
    expect_sound(explanation, cross ? 4 : 2);
    ASSERT_EQ(explanation.readouts.size(), 2u);
    EXPECT_EQ(explanation.words[1].size(), 2u);
    // Nodes of 3 words: these and 3 spans or fewer; the second sentence begins where the first ends.
    const auto second = std::ranges::find(explanation.nodes, 1, &ExplainedNode::sequence) - explanation.nodes.begin();
    ASSERT_LT(second, std::ssize(explanation.nodes));
    const auto seen_of_the_other = [&](const std::vector<double>& weights) {
      return std::reduce(weights.begin() + second, weights.end());
    };
    const ReadoutAttention& premise = explanation.readouts[0];
    EXPECT_NEAR(seen_of_the_other(premise.shares), 0, 1e-12);
    if (cross) {
      EXPECT_FALSE(premise.layers[0].cross);
      EXPECT_TRUE(premise.layers[1].cross);
      EXPECT_NEAR(seen_of_the_other(premise.layers[0].weights), 0, 1e-12);
      EXPECT_NEAR(seen_of_the_other(premise.layers[1].weights), 1, 1e-5);
      EXPECT_GT(seen_of_the_other(premise.rollout), 0.2);
    } else {
      EXPECT_NEAR(seen_of_the_other(premise.rollout), 0, 1e-12);
    }
  }
}

TEST_F(Predict, JudgesWithRecurrentLayersButHasNothingToExplain) {
  const TrainedTextClassifier classifier(
      train(experiment("chain", {{"model", {{"kind", "recurrent"}, {"heads", nullptr}, {"ffn", nullptr}}}})));
  EXPECT_FALSE(classifier.attends());
  EXPECT_NEAR(sum(classifier.predict({{"it was bad"}})[0].scores), 1, 1e-12);
  EXPECT_THAT(test::error_message<ConfigError>([&] { classifier.explain({"it was bad"}); }), HasSubstr("recurrent"));
}

TEST_F(Predict, SaysWhatDoesNotFit) {
  const TrainedTextClassifier classifier(train(experiment("bpt")));
  EXPECT_THAT(test::error_message<ConfigError>([&] { classifier.predict({{"one", "two"}}); }), HasSubstr("second"));
  EXPECT_THROW(TrainedTextClassifier(folder_.file("nowhere")), IoError);
  EXPECT_THAT(test::error_message<IoError>([&] { TrainedTextClassifier{folder_.file("texts.tsv")}; }),
              HasSubstr("texts.tsv"));
  const std::string other = train(json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 2000, "valid_characters": 300,
                        "test_characters": 300}, "length": 16},
    "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
    "train": {"steps": 1, "tokens_per_batch": 64}, "graph": "full"})"));
  EXPECT_THAT(test::error_message<IoError>([&] { TrainedTextClassifier{other}; }),
              AllOf(HasSubstr("char_lm"), HasSubstr("text_classification")));
}

}  // namespace
}  // namespace bough
