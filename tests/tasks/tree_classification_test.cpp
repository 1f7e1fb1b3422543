// Tree-LSTMs along the phrase trees of SST: data, batches, the model and experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/ops/arithmetic.h"
#include "bough/tasks/predict.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/model_kind.h"
#include "tasks/runner/experiment.h"
#include "tasks/texts/classification_run.h"
#include "tasks/texts/text_classifier.h"
#include "tasks/texts/tree_batch.h"
#include "tasks/texts/tree_corpus.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<std::int32_t>;

/// What two phrases side by side mean together.
enum class Rule { either_is_good, second_counts };

/// Random trees of "good" and "bad", in which "not" turns a phrase around.
class TreeWriter {
 public:
  TreeWriter(std::uint64_t seed, Rule rule) : random_{seed, 0}, rule_(rule) {}

  std::string write(std::int64_t trees) {
    std::string lines;
    for (std::int64_t i = 0; i < trees; ++i) lines += phrase(4).text + "\n";
    return lines;
  }

 private:
  struct Phrase {
    std::string text;
    bool good;
  };

  Phrase phrase(int depth) {
    if (depth == 0 || next(5) == 0) {
      const bool good = next(2) == 0;
      return labelled(good ? "good" : "bad", good);
    }
    if (next(3) == 0) {
      const Phrase inside = phrase(depth - 1);
      return labelled("(2 not) " + inside.text, !inside.good);
    }
    const Phrase first = phrase(depth - 1), second = phrase(depth - 1);
    return labelled(first.text + " " + second.text,
                    rule_ == Rule::second_counts ? second.good : first.good || second.good);
  }

  static Phrase labelled(const std::string& inside, bool good) { return {(good ? "(4 " : "(0 ") + inside + ")", good}; }
  std::uint32_t next(std::uint32_t below) { return random_(draw_++) % below; }

  RandomStream random_;
  Rule rule_;
  std::uint64_t draw_ = 0;
};

class TreeClassification : public testing::Test {
 protected:
  void SetUp() override { write(Rule::either_is_good); }

  void write(Rule rule) const {
    test::write_file(folder_.file("train"), TreeWriter(1, rule).write(300));
    test::write_file(folder_.file("valid"), TreeWriter(2, rule).write(60));
    test::write_file(folder_.file("test"), TreeWriter(3, rule).write(200) + "(2 so)\n");
  }
  json experiment(const std::string& along) const {
    return {{"task",
             {{"kind", "text_classification"},
              {"format", "sst2"},
              {"degree_length", 8},
              {"train", folder_.file("train")},
              {"valid", folder_.file("valid")},
              {"test", folder_.file("test")}}},
            {"model", {{"kind", "recurrent"}, {"along", along}, {"layers", 1}, {"dim", 16}, {"dropout", 0}}},
            {"graph", "chain"},
            {"train", {{"epochs", 10}, {"tokens_per_batch", 128}, {"learning_rate", 0.02}, {"warmup", 10}}}};
  }
  ExperimentResults run(const json& source, const std::string& name = "out") const {
    return run_experiment(source, {.folder = folder_.file(name)});
  }
  TreeCorpus corpus(const json& changes, bool binary = false) const {
    json source = experiment("child_sum_tree");
    source["task"].merge_patch(changes);
    return load_tree_corpus(runner::read_experiment(source).runs.front().checked.task, {}, 1, binary);
  }
  std::string file(const std::string& name, const std::string& content) const {
    test::write_file(folder_.file(name), content);
    return folder_.file(name);
  }
  test::TemporaryFolder folder_;
};

TEST_F(TreeClassification, ReadsLabelsOfPhrasesAndScoresSentences) {
  const std::string lines = "(3 (2 A) (4 (4 good) (2 film-maker's)))\n(2 (2 So) (2 so))\n(2 (1 bad) (2 film))\n";
  const json files = {
      {"train", file("a", lines)}, {"valid", file("b", lines)}, {"test", file("c", lines)}, {"min_count", 1}};
  const TreeCorpus trees = corpus(files);
  EXPECT_THAT(trees.labels, ElementsAre("negative", "positive"));
  EXPECT_EQ(trees.train.num_trees(), 2) << "no phrase of the second one counts";
  EXPECT_EQ(trees.test.num_trees(), 1) << "two sentences are neutral";
  EXPECT_THAT(trees.train.parents_of(0), ElementsAre(4, 3, 3, 4, -1));
  EXPECT_THAT(trees.train.labels_of(0), ElementsAre(-1, 1, -1, 1, 1));
  EXPECT_THAT(trees.train.labels_of(1), ElementsAre(0, -1, -1));
  EXPECT_THAT(trees.test.labels_of(0), ElementsAre(-1, -1, -1, -1, 1));
  EXPECT_EQ(trees.longest, 3);
  EXPECT_THAT(trees.remarks, testing::Contains("train: 2 trees, 4 labelled phrases"));
  EXPECT_THAT(test::error_message<ConfigError>([&] {
                corpus({{"train", folder_.file("a")}, {"phrases", false}});
              }),
              HasSubstr("of one class (negative 0, positive 1)"))
      << "of the sentences only one is not neutral";

  json all = files;
  all.update({{"format", "sst5"}, {"min_count", 1}});
  const TreeCorpus fine = corpus(all);
  EXPECT_THAT(fine.words.words(), ElementsAre("a", "good", "film-maker's", "so", "bad", "film"));
  EXPECT_THAT(fine.train.words, ElementsAre(2, 3, 4, 5, 5, 6, 7));
  EXPECT_THAT(fine.test.labels_of(2), ElementsAre(-1, -1, 2));
}

TEST_F(TreeClassification, HoldsOutWholeTreesForValidation) {
  const TreeCorpus trees = corpus({{"valid", nullptr}, {"valid_fraction", 0.25}});
  EXPECT_EQ(trees.train.num_trees(), 225);
  EXPECT_EQ(trees.valid.num_trees(), 75);
  EXPECT_EQ(std::ranges::count_if(trees.valid.labels, [](std::int32_t label) { return label >= 0; }), 75);
}

/// (x (x 5 6) (x 7 (x 8 (x 9)))) and a leaf; some nodes have no label.
EncodedTrees two_trees() {
  return {.words = {5, 6, 7, 8, 9, 3},
          .word_offsets = {0, 5, 6},
          .parents = {2, 2, 8, 7, 6, 6, 7, 8, -1, -1},
          .labels = {0, -1, 1, -1, -1, 2, 0, 1, 2, 1},
          .node_offsets = {0, 9, 10}};
}

TEST(TreeBatcher, JoinsTreesWithWordsAtTheirLeaves) {
  const Numbers chosen = {1, 0};
  const LabelledBatch batch = TreeBatcher({.binary = true}).make(two_trees(), chosen);
  const Graph& graph = batch.sequences.recurrent_graph;
  EXPECT_EQ(graph.num_nodes(), 10);
  EXPECT_THAT(graph.coo().src, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(graph.coo().dst, ElementsAre(3, 3, 9, 8, 7, 7, 8, 9));
  EXPECT_THAT(graph.edge_types(), ElementsAre(0, 1, 0, 0, 0, 1, 1, 1));
  const auto numbers = [](const Tensor& tensor) { return tensor.to_vector<std::int32_t>(); };
  EXPECT_EQ(numbers(batch.sequences.words), (Numbers{3, 5, 6, 7, 8, 9}));
  EXPECT_EQ(numbers(batch.sequences.token_nodes), (Numbers{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(numbers(batch.sequences.positions), (Numbers{0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(numbers(batch.sequences.readout_rows), (Numbers{0, 1, 3, 6, 7, 8, 9}));
  EXPECT_EQ(batch.labels, (Numbers{1, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(TreeBatcher({}).make(two_trees(), chosen).sequences.recurrent_graph.num_edge_types(), 0);
}

/// The formulas of Tai et al. (2015) at one node after the other, in double precision.
class PlainTreeLstm {
 public:
  PlainTreeLstm(const TextClassifier& model, std::int64_t dim, bool binary)
      : dim_(static_cast<std::size_t>(dim)), binary_(binary) {
    for (const auto& [name, tensor] : model.state()) values_[name] = tensor.to_vector<double>();
  }

  /// Scores of a node of the tree that begins at node 0 and word 0.
  std::vector<double> scores(const EncodedTrees& trees, std::int32_t node, std::size_t classes) const {
    const std::vector<double>& weight = values_.at("output.weight");
    std::vector<double> result = values_.at("output.bias");
    const State read = state(trees, node);
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = 0; j < dim_; ++j) result[i] += weight[i * dim_ + j] * read.h[j];
    }
    return result;
  }

 private:
  struct State {
    std::vector<double> h, c;
  };

  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  State state(const EncodedTrees& trees, std::int32_t node) const {
    const auto parents = trees.parents_of(0);
    std::vector<State> parts;
    std::size_t word = 0;
    for (std::int32_t other = 0; other < node; ++other) {
      if (parents[static_cast<std::size_t>(other)] == node) parts.push_back(state(trees, other));
      if (std::ranges::find(parents.begin(), parents.begin() + other, other) == parents.begin() + other) ++word;
    }
    std::vector<double> x(dim_);
    if (parts.empty()) {
      const auto row = static_cast<std::size_t>(trees.words_of(0)[word]) * dim_;
      for (std::size_t j = 0; j < dim_; ++j) x[j] = values_.at("embeddings")[row + j];
    }
    State result{std::vector<double>(dim_), std::vector<double>(dim_)};
    for (std::size_t j = 0; j < dim_; ++j) {
      const auto sum = [&](std::size_t gate) {
        double total = 0;
        for (std::size_t k = 0; k < parts.size(); ++k) total += from_part(gate, j, binary_ ? k : 0, parts[k].h);
        return total;
      };
      const std::size_t g = binary_ ? 3 : 2, o = g + 1;
      result.c[j] = sigmoid(of_input(0, j, x) + sum(0)) * std::tanh(of_input(2, j, x) + sum(g));
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const double forget = binary_ ? sum(1 + k) : from_part(1, j, 0, parts[k].h);
        result.c[j] += sigmoid(of_input(1, j, x) + forget) * parts[k].c[j];
      }
      result.h[j] = sigmoid(of_input(3, j, x) + sum(o)) * std::tanh(result.c[j]);
    }
    return result;
  }

  double of_input(std::size_t gate, std::size_t j, const std::vector<double>& x) const {
    const std::vector<double>& weight = values_.at("recurrent.layer0.along.input.weight");
    double total = values_.at("recurrent.layer0.along.input.bias")[gate * dim_ + j];
    for (std::size_t i = 0; i < dim_; ++i) total += weight[(gate * dim_ + j) * dim_ + i] * x[i];
    return total;
  }
  double from_part(std::size_t gate, std::size_t j, std::size_t position, const std::vector<double>& h) const {
    const std::vector<double>& weight = values_.at("recurrent.layer0.along.recurrent.weight");
    const std::size_t width = binary_ ? 2 * dim_ : dim_;
    double total = 0;
    for (std::size_t i = 0; i < dim_; ++i) {
      total += weight[(gate * dim_ + j) * width + position * dim_ + i] * h[i];
    }
    return total;
  }

  std::size_t dim_;
  bool binary_;
  std::map<std::string, std::vector<double>> values_;
};

TEST(TreeClassifier, EqualsThePlainRecursionOnATree) {
  constexpr std::int64_t dim = 6, classes = 3;
  const EncodedTrees trees = two_trees();
  for (const bool binary : {false, true}) {
    manual_seed(7);
    TextClassifier model({.words = 12,
                          .embedding_dim = dim,
                          .recurrent = nn::RecurrentStackOptions{.in = dim, .dim = dim, .positions = binary ? 2 : 0},
                          .classes = classes});
    model.eval();
    const NoGrad no_grad;
    nn::Module::NamedTensors larger;
    for (const auto& [name, tensor] : model.state()) larger.emplace_back(name, tensor * 2.5 + 0.1);
    model.load_state(larger);
    const PlainTreeLstm plain(model, dim, binary);
    const Numbers both = {0, 1};
    const LabelledBatch batch = TreeBatcher({.binary = binary}).make(trees, both);
    const std::vector<double> scores = model.forward(batch.sequences).to_vector<double>();
    const Numbers labelled = {0, 2, 5, 6, 7, 8};
    ASSERT_EQ(scores.size(), (labelled.size() + 1) * classes);
    for (std::size_t i = 0; i < labelled.size(); ++i) {
      const std::vector<double> expected = plain.scores(trees, labelled[i], classes);
      for (std::size_t j = 0; j < classes; ++j) EXPECT_NEAR(scores[i * classes + j], expected[j], 1e-4) << i;
    }
  }
}

TEST_F(TreeClassification, LearnsARuleThatFollowsTheTree) {
  json source = experiment("child_sum_tree");
  source["sweep"] = {{"model.along", {"child_sum_tree", "binary_tree"}}};
  const ExperimentResults results = run(source);
  ASSERT_EQ(results.failed, 0) << results.runs[0].error;
  EXPECT_EQ(results.runs[0].name, "alongchild_sum_tree");
  EXPECT_EQ(results.runs[1].name, "alongbinary_tree");
  const json bounds = results.document->at("bounds");
  EXPECT_EQ(bounds.at(0).at("name"), "most frequent class");
  for (const json& entry : results.document->at("runs")) {
    const json& metrics = entry.at("metrics");
    EXPECT_GT(metrics.at("accuracy").get<double>(), 0.97) << entry.at("name");
    EXPECT_GT(metrics.at("valid_accuracy").get<double>(), 0.97) << entry.at("name");
    std::int64_t texts = 0;
    for (const json& row : metrics.at("confusion")) {
      for (const json& count : row) texts += count.get<std::int64_t>();
    }
    EXPECT_EQ(texts, 200) << "sentences that are not neutral";
    EXPECT_EQ(entry.at("num_nodes"), 15);
    EXPECT_EQ(entry.at("num_edges"), 14);
  }
}

TEST_F(TreeClassification, TellsTheFirstPartFromTheSecondInABinaryTree) {
  write(Rule::second_counts);
  EXPECT_GT(run(experiment("binary_tree"), "binary").runs[0].metric("accuracy"), 0.97);
  EXPECT_LT(run(experiment("child_sum_tree"), "sum").runs[0].metric("accuracy"), 0.9);
}

TEST_F(TreeClassification, JudgesNewTreesAsTheRunDid) {
  for (const std::string along : {"child_sum_tree", "binary_tree"}) {
    json source = experiment(along);
    source["train"]["epochs"] = 2;
    const ExperimentResults results = run(source, along);
    const TrainedTextClassifier classifier(folder_.file(along + "/runs/chain/best.safetensors"));
    EXPECT_TRUE(classifier.reads_trees());
    EXPECT_FALSE(classifier.attends());
    std::vector<UnlabelledText> texts;
    std::vector<std::int32_t> truth;
    std::istringstream lines(test::file_content(folder_.file("test")));
    for (std::string line; std::getline(lines, line);) {
      if (line[1] == '2') continue;
      texts.push_back({.text = line});
      truth.push_back(line[1] > '2' ? 1 : 0);
    }
    const std::vector<Prediction> predictions = classifier.predict(texts);
    double right = 0, loss = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto label = static_cast<std::size_t>(truth[i]);
      right += predictions[i].label == classifier.labels()[label] ? 1 : 0;
      loss -= std::log(predictions[i].scores[label]);
    }
    const auto count = static_cast<double>(texts.size());
    EXPECT_NEAR(right / count, results.runs[0].metric("accuracy"), 1e-12);
    EXPECT_NEAR(loss / count, results.runs[0].metric("loss"), 1e-5);

    const std::vector<Prediction> same =
        classifier.predict({{"(4 (2 not) (0 bad))"}, {"(S (RB Not) (JJ BAD))"}, {"( ( not) ( quite))"}});
    EXPECT_EQ(same[0].scores, same[1].scores) << "labels are not read, letters are made small";
    EXPECT_EQ(same[2].unknown, 1);
    EXPECT_THAT(test::error_message<ConfigError>([&] { classifier.predict({{"not bad"}}); }),
                HasSubstr("a tree must begin with '('"));
    const UnlabelledText wide{"(S (a not) (b bad) (c film))"};
    if (along == "binary_tree") {
      EXPECT_THAT(test::error_message<ConfigError>([&] { classifier.require_readable(wide); }), HasSubstr("3 parts"));
    } else {
      classifier.require_readable(wide);
    }
  }
}

TEST_F(TreeClassification, RefusesNewTreesWithMoreWordsThanPositions) {
  json source = experiment("child_sum_tree");
  source["train"] = {{"steps", 1}};
  source["model"]["positions"] = "sinusoidal";
  run(source);
  const TrainedTextClassifier classifier(folder_.file("out/runs/chain/best.safetensors"));
  std::string tree = "(4 good)";
  for (int i = 0; i < 40; ++i) tree = "(4 " + tree + " (4 good))";
  EXPECT_THAT(test::error_message<ConfigError>([&] { classifier.predict({{tree}}); }), HasSubstr("has 41 words"));
}

TEST_F(TreeClassification, RunsBothWaysInSeveralLayers) {
  json source = experiment("binary_tree");
  source["model"].update({{"bidirectional", true}, {"layers", 2}});
  source["sweep"] = {{"model.along", {"child_sum_tree", "binary_tree"}}};
  for (const RunOutcome& outcome : run(source).runs) EXPECT_GT(outcome.metric("accuracy"), 0.9) << outcome.name;
}

TEST_F(TreeClassification, IsTheSameForAnyNumberOfThreadsAndPartsOfAStep) {
  json source = experiment("binary_tree");
  source["train"]["epochs"] = 1;
  std::vector<std::vector<float>> embeddings;
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    const std::string name = "threads" + std::to_string(threads);
    run(source, name);
    for (const auto& [key, tensor] : nn::load_tensors(folder_.file(name + "/runs/chain/best.safetensors")).tensors) {
      if (key == "embeddings") embeddings.push_back(tensor.to_vector<float>());
    }
  }
  ASSERT_EQ(embeddings.size(), 2u);
  EXPECT_EQ(embeddings[0], embeddings[1]);
  const double whole = run(source, "whole").runs[0].metric("loss");
  source["train"]["gradient_accumulation"] = 3;
  EXPECT_NEAR(run(source, "parts").runs[0].metric("loss"), whole, 1e-3);
}

TEST_F(TreeClassification, SaysWhatHasNoTreesOrNoPlaceInThem) {
  const auto refusal = [&](const json& change) {
    json source = experiment("binary_tree");
    source.merge_patch(change);
    return test::error_message<ConfigError>([&] { runner::read_experiment(source); });
  };
  EXPECT_THAT(refusal({{"task", {{"format", "tsv"}}}}), HasSubstr("format = tsv has no trees"));
  EXPECT_THAT(refusal({{"task", {{"shifts", 2}}}}), HasSubstr("shifts = 2"));
  EXPECT_THAT(refusal({{"task", {{"max_length", 9}}}}), HasSubstr("max_length = 9 would cut trees"));
  EXPECT_THAT(refusal({{"graph", "bpt"}}), HasSubstr("write \"graph\": \"chain\""));
  EXPECT_THAT(refusal({{"graph", {{"kind", "chain"}, {"skip", 2}}}}), HasSubstr("write \"graph\": \"chain\""));
  EXPECT_THAT(refusal({{"model", {{"readout", "tokens"}}}}), HasSubstr("of a tree the root is read"));
  EXPECT_THAT(refusal({{"model", {{"cell", "qrnn"}}}}), HasSubstr("this is the cell qrnn"));
  EXPECT_THAT(refusal({{"model", {{"kind", "graph_transformer"}}}}), HasSubstr("this is a graph transformer"));
  EXPECT_THAT(refusal({{"task", {{"kind", "nli"}, {"format", "snli_tsv"}}}}), HasSubstr("along"));
}

TEST_F(TreeClassification, NamesAPhraseThatHasTooManyParts) {
  const json files = {{"test", file("three", "(3 (2 a) (4 good))\n(3 (2 a) (4 good) (2 film))\n")}};
  EXPECT_THAT(test::error_message<IoError>([&] { corpus(files, true); }),
              HasSubstr("line 2: a phrase has 3 parts, and one of a binary tree has two"));
  EXPECT_EQ(corpus(files, false).test.num_trees(), 2);
  json skipping = files;
  skipping["skip_bad"] = true;
  EXPECT_EQ(corpus(skipping, true).test.num_trees(), 1);
  EXPECT_THAT(test::error_message<IoError>([&] {
                corpus({{"test", file("neutral", "(2 so)\n")}});
              }),
              HasSubstr("no tree of test has a label that counts"));
}

TEST_F(TreeClassification, MakesNoBatchesOfTextsWithoutTrees) {
  const Settings model = runner::read_experiment(experiment("binary_tree")).runs.front().checked.model;
  EXPECT_TRUE(tasks::runs_along_trees(model));
  EXPECT_FALSE(tasks::runs_along_trees(Settings("model", {{"kind", "recurrent"}})));
  EXPECT_THAT(test::error_message<ConfigError>([&] { tasks::batcher_options(model, false, Device::cpu()); }),
              HasSubstr("texts without trees"));
}

}  // namespace
}  // namespace bough
