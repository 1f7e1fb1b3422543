#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/runner/experiment.h"
#include "tasks/texts/baselines.h"
#include "tasks/texts/class_scores.h"
#include "tasks/texts/classification_run.h"
#include "tasks/texts/labelled_corpus.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/tasks/saved_tensors.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Texts whose class is whether "good" or "bad" comes more often, where "not" turns the next word around.
std::string made_up_texts(std::uint64_t seed, std::int64_t count) {
  const std::vector<std::string> words = {"the", "film", "good", "bad", "not", "was", "a"};
  const RandomStream random{seed, 0};
  std::string lines;
  std::uint64_t draw = 0;
  for (std::int64_t i = 0; i < count;) {
    std::string text;
    int balance = 0, sign = 1;
    for (std::uint32_t left = 3 + random(draw++) % 9; left > 0; --left) {
      const std::string& word = words[random(draw++) % words.size()];
      balance += word == "good" ? sign : word == "bad" ? -sign : 0;
      sign = word == "not" ? -1 : 1;
      text += word + " ";
    }
    if (balance == 0) continue;
    lines += (balance > 0 ? "liked\t" : "disliked\t") + text + "\n";
    ++i;
  }
  return lines;
}

/// What results.json has of the only run.
json metrics_of(const ExperimentResults& results) { return results.document->at("runs").at(0).at("metrics"); }

/// Presses Ctrl-C after some steps.
class Stopper : public RunObserver {
 public:
  bool should_stop() override { return ++asked > 7; }
  std::int64_t asked = 0;
};

class Classification : public testing::Test {
 protected:
  void SetUp() override {
    test::write_file(folder_.file("train.tsv"), made_up_texts(1, 800));
    test::write_file(folder_.file("test.tsv"), made_up_texts(2, 200));
  }
  json experiment() const {
    json source = json::parse(R"({
      "name": "made-up",
      "task": {"kind": "text_classification", "format": "tsv", "degree_length": 8},
      "model": {"layers": 2, "dim": 16, "heads": 2, "ffn": 16, "dropout": 0},
      "graph": {"kind": "bpt", "k": 2},
      "train": {"epochs": 25, "tokens_per_batch": 256, "learning_rate": 0.01, "warmup": 10}})");
    source["task"]["train"] = folder_.file("train.tsv");
    source["task"]["test"] = folder_.file("test.tsv");
    return source;
  }
  ExperimentResults run(const json& source, const std::string& name = "out", RunOptions options = {}) const {
    options.folder = folder_.file(name);
    return run_experiment(source, options);
  }
  LabelledCorpus corpus(const json& changes) const {
    json source = experiment();
    source["task"].update(changes);
    const auto settings = runner::read_experiment(source).runs.front().checked;
    return load_labelled_corpus(settings.task, {}, 1);
  }
  test::TemporaryFolder folder_;
};

TEST_F(Classification, LearnsARuleAndSaysHowWell) {
  test::write_file(folder_.file("train.tsv"), made_up_texts(1, 4000));
  json source = experiment();
  source["train"]["epochs"] = 12;
  source["task"]["shifts"] = 2;
  const ExperimentResults results = run(source);
  ASSERT_EQ(results.runs.size(), 1u);
  const json metrics = metrics_of(results);
  EXPECT_GT(metrics["accuracy"].get<double>(), 0.93);
  EXPECT_GT(metrics["macro_f1"].get<double>(), 0.93);
  EXPECT_LT(metrics["loss"].get<double>(), 0.3);
  EXPECT_GT(metrics["valid_accuracy"].get<double>(), 0.85);
  EXPECT_THAT(metrics["labels"], ElementsAre("disliked", "liked"));
  std::int64_t texts = 0;
  for (const json& row : metrics["confusion"]) {
    for (const json& count : row) texts += count.get<std::int64_t>();
  }
  EXPECT_EQ(texts, 200);
  ASSERT_EQ(metrics["shifts"].size(), 3u);
  EXPECT_EQ(metrics["shifts"][0], metrics["accuracy"]);
}

TEST_F(Classification, TrainsEveryKindOfPattern) {
  for (const json& graph : {json("full"), json({{"kind", "window"}, {"width", 2}}), json("star"),
                            json({{"kind", "hierarchical"}, {"size", 3}}), json({{"kind", "longformer"}, {"width", 2}}),
                            json({{"kind", "bigbird"}, {"width", 1}, {"global", 1}, {"random", 2}}),
                            json({{"kind", "causal"}, {"of", {{"kind", "bpt"}, {"k", 2}}}})}) {
    json source = experiment();
    source["graph"] = graph;
    source["train"]["epochs"] = 6;
    const ExperimentResults results = run_experiment(source);
    EXPECT_GT(results.runs[0].metric("accuracy"), 0.65) << graph;
  }
}

TEST_F(Classification, TrainsEveryRecurrentCellAlongTheWords) {
  for (const json& cell : {json{{"cell", "lstm"}, {"bidirectional", true}}, json{{"cell", "mlstm"}},
                           json{{"cell", "rhn"}, {"depth", 2}}, json{{"cell", "qrnn"}}}) {
    json source = experiment();
    source["graph"] = "chain";
    source["model"] = {{"kind", "recurrent"}, {"layers", 1}, {"dim", 16}, {"dropout", 0}, {"readout", "tokens"}};
    source["model"].update(cell);
    source["train"].update({{"epochs", 10}, {"learning_rate", 0.02}});
    const ExperimentResults results = run_experiment(source);
    ASSERT_EQ(results.failed, 0) << results.runs[0].error;
    EXPECT_GT(results.runs[0].metric("accuracy"), 0.85) << cell;
  }
}

TEST_F(Classification, SaysHowManyMalformedLinesItLeftOut) {
  test::write_file(folder_.file("bad.tsv"), "liked\ta good film\nno tab\ndisliked\tbad film\n\t\n");
  test::write_file(folder_.file("bad_test.tsv"), "liked\tgood\nother\tgood\n");
  test::write_file(folder_.file("bad_vectors.txt"), "good 1 2\nbad 1 x\nfilm 3 4\n");
  json files = {{"train", folder_.file("bad.tsv")},
                {"valid", folder_.file("test.tsv")},
                {"test", folder_.file("bad_test.tsv")},
                {"min_count", 1},
                {"embeddings", folder_.file("bad_vectors.txt")},
                {"skip_bad", true}};
  EXPECT_THAT(corpus(files).remarks,
              AllOf(Contains("train: 2 texts, 2 malformed lines left out"), Contains("valid: 200 texts"),
                    Contains("test: 1 texts, 1 malformed line left out"),
                    Contains(HasSubstr("the others have random ones, 1 malformed line left out"))));
  json source = experiment();
  source["task"].update(files);
  source["train"]["epochs"] = 1;
  run(source);
  EXPECT_THAT(test::file_content(folder_.file("out/runs/bpt-k2/log.jsonl")), HasSubstr("2 malformed lines left out"));
  files["skip_bad"] = false;
  EXPECT_THAT(test::error_message<IoError>([&] { corpus(files); }), HasSubstr("bad.tsv, line 2"));
}

TEST_F(Classification, IsTheSameForAnyNumberOfThreadsAndPartsOfAStep) {
  json source = experiment();
  source["train"]["epochs"] = 1;
  std::vector<std::vector<float>> embeddings;
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    const std::string name = "threads" + std::to_string(threads);
    run(source, name);
    for (const auto& [tensor_name, tensor] :
         nn::load_tensors(folder_.file(name + "/runs/bpt-k2/best.safetensors")).tensors) {
      if (tensor_name == "embeddings") embeddings.push_back(tensor.to_vector<float>());
    }
  }
  ASSERT_EQ(embeddings.size(), 2u);
  EXPECT_EQ(embeddings[0], embeddings[1]);
  const double whole = run(source, "whole").runs[0].metric("loss");
  source["train"]["gradient_accumulation"] = 3;
  EXPECT_NEAR(run(source, "parts").runs[0].metric("loss"), whole, 1e-3);
}

TEST_F(Classification, GoesOnBitForBitAfterAnInterruption) {
  json source = experiment();
  source["train"]["epochs"] = 2;
  source["model"]["dropout"] = 0.2;
  run(source, "whole");
  Stopper stopper;
  EXPECT_TRUE(run(source, "cut", {.observer = &stopper}).interrupted);
  run(source, "cut", {.resume = true});
  const auto tensors = [&](const std::string& name) {
    return test::saved_tensors(folder_.file(name + "/runs/bpt-k2/checkpoint.safetensors"));
  };
  EXPECT_EQ(tensors("whole"), tensors("cut"));
}

TEST_F(Classification, KeepsFrequentWordsAndThoseThatHaveAPublishedVector) {
  test::write_file(folder_.file("small.tsv"), "a\tred red Blue\nb\tgreen, blue\n");
  test::write_file(folder_.file("small_test.tsv"), "a\tyellow purple red\n");
  test::write_file(folder_.file("vectors.txt"), "yellow 1 2 3\nred 4 5 6\nothers 7 8 9\n");
  const json files = {{"train", folder_.file("small.tsv")},
                      {"valid", folder_.file("small_test.tsv")},
                      {"test", folder_.file("small_test.tsv")}};
  const LabelledCorpus counted = corpus(files);
  EXPECT_THAT(counted.words.words(), ElementsAre("red", "blue"));
  EXPECT_FALSE(counted.vectors.defined());
  EXPECT_EQ(counted.test.words, (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_EQ(counted.train.words, (std::vector<std::int32_t>{2, 2, 3, 0, 0, 3}));

  json with_vectors = files;
  with_vectors["embeddings"] = folder_.file("vectors.txt");
  const LabelledCorpus published = corpus(with_vectors);
  EXPECT_THAT(published.words.words(), ElementsAre("red", "blue", "yellow"));
  ASSERT_EQ(published.vectors.shape(), (Shape{5, 3}));
  const std::vector<float> rows = published.vectors.to_vector<float>();
  EXPECT_EQ(std::vector<float>(rows.begin() + 6, rows.begin() + 9), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(std::vector<float>(rows.end() - 3, rows.end()), (std::vector<float>{1, 2, 3}));
  EXPECT_THAT(published.remarks.back(), HasSubstr("2 of these words (66.7%)"));
}

TEST_F(Classification, HoldsOutASeededShareForValidation) {
  const LabelledCorpus one = corpus({{"valid_fraction", 0.25}});
  EXPECT_EQ(one.valid.num_texts(), 200);
  EXPECT_EQ(one.train.num_texts(), 600);
  EXPECT_EQ(one.valid.words, corpus({{"valid_fraction", 0.25}}).valid.words);
}

TEST_F(Classification, FreezesPublishedVectorsUnlessTheyAreToBeTrained) {
  std::string vectors;
  for (const char* word : {"the", "film", "good", "bad", "not", "was", "a"}) {
    vectors += word;
    for (int i = 0; i < 10; ++i) vectors += " " + std::to_string(std::sin(static_cast<double>(word[0] * (i + 1))));
    vectors += "\n";
  }
  test::write_file(folder_.file("vectors.txt"), vectors);
  json source = experiment();
  source["task"]["embeddings"] = folder_.file("vectors.txt");
  source["train"]["epochs"] = 1;
  const auto embeddings = [&](const std::string& name) {
    for (const auto& [key, tensor] : nn::load_tensors(folder_.file(name + "/runs/bpt-k2/best.safetensors")).tensors) {
      if (key == "embeddings") return tensor.to_vector<float>();
    }
    return std::vector<float>{};
  };
  const Tensor published = corpus({{"embeddings", folder_.file("vectors.txt")}}).vectors;
  run(source, "frozen");
  EXPECT_EQ(embeddings("frozen"), published.to_vector<float>());
  source["model"]["freeze_embeddings"] = false;
  run(source, "trained");
  EXPECT_NE(embeddings("trained"), published.to_vector<float>());
}

TEST_F(Classification, TrainsEmbeddingsThatHaveNoPublishedVectors) {
  json source = experiment();
  source["train"] = {{"steps", 2}, {"learning_rate", 0.1}, {"warmup", 0}, {"evaluate_every", 1}};
  run(source);
  const auto embeddings = [&](const char* file) {
    for (const auto& [key, tensor] : nn::load_tensors(folder_.file("out/runs/bpt-k2/") + file).tensors) {
      if (key.ends_with("embeddings")) return tensor.to_vector<float>();
    }
    return std::vector<float>{};
  };
  const std::vector<float> last = embeddings("checkpoint.safetensors");
  ASSERT_FALSE(last.empty());
  source["train"]["steps"] = 1;
  run(source, "one");
  for (const auto& [key, tensor] : nn::load_tensors(folder_.file("one/runs/bpt-k2/checkpoint.safetensors")).tensors) {
    if (key.ends_with("embeddings") && key.size() < 20) {
      EXPECT_NE(tensor.to_vector<float>(), last);
    }
  }
}

TEST_F(Classification, NamesTheClassesAndRefusesASingleOne) {
  EXPECT_THAT(corpus(json::object()).remarks[1], HasSubstr("2 classes: disliked "));
  test::write_file(folder_.file("marked.tsv"),
                   "\xEF\xBB\xBF"
                   "good\ta film\ngood \tone film\nbad\ta film\nbad\tone film\n");
  const LabelledCorpus marked = corpus({{"train", folder_.file("marked.tsv")}, {"test", folder_.file("marked.tsv")}});
  EXPECT_THAT(marked.labels, ElementsAre("bad", "good")) << "neither the mark of UTF-8 nor blanks make a class";
  const auto error_of = [&](const std::string& lines, const json& changes = json::object()) {
    test::write_file(folder_.file("wrong.tsv"), lines);
    json task = {{"train", folder_.file("wrong.tsv")}, {"valid", folder_.file("test.tsv")}};
    task.update(changes);
    return test::error_message<Error>([&] { corpus(task); });
  };
  EXPECT_THAT(error_of("liked\tfilm\nliked\tbad film\n"), HasSubstr("of one class (liked 2)"));
  EXPECT_THAT(error_of("liked\tfilm\n\ndisliked\tbad\n"), HasSubstr("line 2: the line is empty"));
  EXPECT_THAT(error_of("liked\tfilm\ncaf\xE9\tbad\n"), HasSubstr("line 2: the label is not UTF-8"));
  EXPECT_THAT(error_of("liked\tfilm\ndisliked\tbad film\n", {{"min_count", 9}}), HasSubstr("min_count = 9"));
}

TEST_F(Classification, CountsTheClassesOfSentencesWherePhrasesAreLearned) {
  test::write_file(folder_.file("trees.txt"), "(3 (2 a) (2 film))\n(3 (2 the) (2 dog))\n(1 (2 a) (2 cat))\n");
  const json files = {{"format", "sst5"},
                      {"min_count", 1},
                      {"train", folder_.file("trees.txt")},
                      {"valid", folder_.file("trees.txt")},
                      {"test", folder_.file("trees.txt")}};
  const LabelledCorpus trees = corpus(files);
  EXPECT_EQ(trees.train.num_texts(), 8) << "of ten phrases \"a\" occurs twice";
  EXPECT_THAT(trees.train_labels, ElementsAre(3, 3, 1));
  EXPECT_DOUBLE_EQ(majority_accuracy(trees.train_labels, trees.test.labels, 5), 2.0 / 3);
}

TEST_F(Classification, SaysWhatDoesNotFit) {
  const auto error_of = [&](const json& changes) {
    json source = experiment();
    source.merge_patch(changes);
    return test::error_message<Error>([&] { run(source, "error"); });
  };
  EXPECT_THAT(error_of({{"task", {{"format", "sst5"}}}}), HasSubstr("phrases"));
  EXPECT_THAT(error_of({{"task", {{"train", "nowhere.tsv"}}}}), HasSubstr("nowhere.tsv"));
  EXPECT_THAT(error_of({{"train", {{"captured", true}}}}), HasSubstr("captured"));
  EXPECT_THAT(error_of({{"model", {{"readout", "top"}}}}), HasSubstr("readout"));
}

TEST(ClassScores, AreRightByHand) {
  ClassScores scores({"x", "y", "z"});
  // Truth x x y y; predicted x y y y: precision of y 2/3, recall 1.
  const std::vector<std::int32_t> truth = {0, 0, 1, 1};
  scores.add(Tensor::from_vector<float>({2, 0, 0, 0, 1, 0, 0, 3, 0, 0, 5, 0}, {4, 3}), truth);
  const json details = scores.details();
  EXPECT_DOUBLE_EQ(details["accuracy"], 0.75);
  EXPECT_EQ(details["confusion"], json::parse("[[1, 1, 0], [0, 2, 0], [0, 0, 0]]"));
  EXPECT_DOUBLE_EQ(details["classes"][0]["precision"], 1);
  EXPECT_DOUBLE_EQ(details["classes"][0]["recall"], 0.5);
  EXPECT_DOUBLE_EQ(details["classes"][1]["precision"], 2.0 / 3);
  EXPECT_DOUBLE_EQ(details["classes"][1]["f1"], 0.8);
  EXPECT_EQ(details["classes"][2]["texts"], 0);
  EXPECT_DOUBLE_EQ(details["macro_f1"], (2.0 / 3 + 0.8) / 2) << "of the two classes that occur";
  const double first = std::log(std::exp(2.0) + 2) - 2, second = std::log(std::exp(1.0) + 2),
               third = std::log(std::exp(3.0) + 2) - 3, fourth = std::log(std::exp(5.0) + 2) - 5;
  EXPECT_NEAR(details["loss"].get<double>(), (first + second + third + fourth) / 4, 1e-6);
}

class Inference : public testing::Test {
 protected:
  /// The hypothesis is entailed if its word is in the premise, and contradicted if it stands there after "no".
  std::string pairs(std::uint64_t seed, std::int64_t count) const {
    const std::vector<std::string> words = {"dog", "cat", "bird", "fish"};
    const RandomStream random{seed, 0};
    std::string lines;
    std::uint64_t draw = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t kind = random(draw++) % 3, chosen = random(draw++) % 4, other = (chosen + 1) % 4;
      const std::string premise = kind == 0   ? "here is a " + words[chosen] + " and no " + words[other]
                                  : kind == 1 ? "here is a " + words[other] + " and no " + words[chosen]
                                              : "here is a " + words[other] + " and no " + words[(chosen + 2) % 4];
      lines += std::string(kind == 0   ? "entailment"
                           : kind == 1 ? "contradiction"
                                       : "neutral") +
               "\t" + premise + "\ta " + words[chosen] + "\n";
    }
    return lines + "-\tundecided\tpair\n";
  }
  test::TemporaryFolder folder_;
};

TEST(Baselines, AreRightByHand) {
  // Of the pairs with label 0 all words are shared, of those with label 1 none, of the last one half.
  const EncodedTexts train{.sequences_per_text = 2,
                           .words = {2, 3, 2, 4, 5, 4, 5, 2, 6, 0, 6, 0},
                           .offsets = {0, 2, 3, 5, 7, 8, 9, 11, 12},
                           .labels = {0, 0, 1, 1}};
  const EncodedTexts test{.sequences_per_text = 2,
                          .words = {7, 8, 7, 8, 7, 9, 7, 8, 7, 9},
                          .offsets = {0, 2, 4, 5, 6, 8, 10},
                          .labels = {0, 1, 1}};
  EXPECT_DOUBLE_EQ(majority_accuracy(train.labels, test.labels, 2), 1.0 / 3)
      << "the first of two equally frequent classes";
  // (0 missing, all shared) -> 0, right; (1 missing, none shared) -> 1, right; (1 missing, half) is new -> 0, wrong.
  EXPECT_DOUBLE_EQ(overlap_accuracy(train, test, 2), 2.0 / 3);
}

TEST_F(Inference, LearnsToCompareTwoSentences) {
  test::write_file(folder_.file("train.tsv"), pairs(1, 600));
  test::write_file(folder_.file("test.tsv"), pairs(2, 150));
  json source = json::parse(R"({
    "name": "pairs",
    "task": {"kind": "nli", "format": "snli_tsv", "degree_length": 8},
    "model": {"layers": 2, "dim": 24, "heads": 2, "ffn": 32, "dropout": 0, "hidden": 16},
    "graph": {"kind": "bpt", "k": 2},
    "train": {"epochs": 20, "tokens_per_batch": 512, "learning_rate": 0.005, "warmup": 20}})");
  source["task"]["train"] = folder_.file("train.tsv");
  source["task"]["test"] = folder_.file("test.tsv");
  const ExperimentResults results = run_experiment(source, {.folder = folder_.file("out")});
  EXPECT_GT(results.runs[0].metric("accuracy"), 0.9);
  EXPECT_EQ(metrics_of(results)["labels"].size(), 3u);
  const json bounds = results.document->at("bounds");
  ASSERT_EQ(bounds.size(), 2u);
  EXPECT_EQ(bounds[1]["name"], "lexical overlap");
  EXPECT_LT(bounds[1]["value"].get<double>(), 0.8);

  json recurrent = source;
  recurrent["graph"] = "chain";
  recurrent["model"] = {{"kind", "recurrent"}, {"layers", 1}, {"dim", 24}, {"dropout", 0}, {"hidden", 16}};
  recurrent["model"]["bidirectional"] = true;
  const ExperimentResults by_lstm = run_experiment(recurrent);
  ASSERT_EQ(by_lstm.failed, 0) << by_lstm.runs[0].error;
  EXPECT_GT(by_lstm.runs[0].metric("accuracy"), 0.8) << "without a look at the other sentence";

  source["task"]["reads"] = "hypothesis";
  source["train"]["epochs"] = 4;
  const ExperimentResults alone = run_experiment(source);
  EXPECT_LT(alone.runs[0].metric("accuracy"), 0.55) << "the hypothesis tells nothing";
  EXPECT_EQ(alone.document->at("bounds").size(), 1u);
}

}  // namespace
}  // namespace bough
