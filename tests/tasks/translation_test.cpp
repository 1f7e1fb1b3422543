#include "tasks/translation/translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/data/sentencepiece.h"
#include "tasks/runner/experiment.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/tasks/saved_tensors.h"

namespace bough {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> words = {"ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"};
const std::vector<std::string> translations = {"Zy", "Xw", "Vu", "Ts", "Rq", "Po", "Nm", "Lk"};

struct TextPair {
  std::string source, target;
};

/// Sentences whose words are translated one by one, in reverse order.
TextPair reversed_text(std::uint64_t seed, std::int64_t count) {
  const RandomStream random{seed, 0};
  TextPair text;
  std::uint64_t draw = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string source, target;
    for (std::uint32_t left = 2 + random(draw++) % 5; left > 0; --left) {
      const std::size_t word = random(draw++) % words.size();
      source += (source.empty() ? "" : " ") + words[word];
      target = translations[word] + (target.empty() ? "" : " ") + target;
    }
    text.source += source + "\n";
    text.target += target + "\n";
  }
  return text;
}

/// Documents of three sentences: the first names a word, and "it" in the others stands for it.
TextPair documents(std::uint64_t seed, std::int64_t count) {
  const RandomStream random{seed, 0};
  TextPair text;
  std::uint64_t draw = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t named = random(draw++) % words.size();
    text.source += "<d>\n" + words[named] + "\n";
    text.target += "<d>\n" + translations[named] + "\n";
    for (int sentence = 0; sentence < 2; ++sentence) {
      for (int word = 0; word < 4; ++word) {
        const std::size_t other = random(draw++) % words.size();
        text.source += words[other] + (word == 1 ? " it " : word < 3 ? " " : "\n");
        text.target += translations[other] + (word == 1 ? " " + translations[named] + " " : word < 3 ? " " : "\n");
      }
    }
  }
  return text;
}

/// Presses Ctrl-C after some steps.
class Stopper : public RunObserver {
 public:
  bool should_stop() override { return ++asked > 7; }
  std::int64_t asked = 0;
};

class Translation : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "no SentencePiece here";
    write("train", reversed_text(1, 2000));
    write("valid", reversed_text(2, 40));
    write("test", reversed_text(3, 60));
  }
  void write(const std::string& name, const TextPair& text) const {
    test::write_file(folder_.file(name + ".a"), text.source);
    test::write_file(folder_.file(name + ".b"), text.target);
  }
  json files(const std::string& name) const {
    return {{"source", folder_.file(name + ".a")}, {"target", folder_.file(name + ".b")}};
  }
  json experiment() const {
    json source = json::parse(R"({
      "name": "made-up",
      "task": {"kind": "translation", "vocabulary": {"size": 60}, "max_length": 24, "degree_length": 8},
      "model": {"layers": 2, "dim": 32, "heads": 2, "ffn": 64, "dropout": 0, "positions": "both"},
      "graph": {"kind": "bpt", "k": 2},
      "train": {"steps": 400, "tokens_per_batch": 600, "learning_rate": 0.01, "warmup": 20, "label_smoothing": 0,
                "evaluate_every": 200}})");
    for (const char* name : {"train", "valid", "test"}) source["task"][name] = files(name);
    return source;
  }
  ExperimentResults run(const json& source, const std::string& name = "out", RunOptions options = {}) const {
    options.folder = folder_.file(name);
    return run_experiment(source, options);
  }
  TranslationCorpus corpus(const json& changes) const {
    json source = experiment();
    source["task"].merge_patch(changes);
    const auto settings = runner::read_experiment(source).runs.front().checked;
    return load_translation_corpus(settings.task, {}, {});
  }
  test::TemporaryFolder folder_;
};

/// What results.json has of the only run.
json metrics_of(const ExperimentResults& results) { return results.document->at("runs").at(0).at("metrics"); }

TEST_F(Translation, LearnsToTranslateWordByWordInReverse) {
  const json metrics = metrics_of(run(experiment()));
  EXPECT_GT(metrics["bleu"].get<double>(), 95);
  EXPECT_GT(metrics["valid_bleu"].get<double>(), 95);
  EXPECT_LT(metrics["loss"].get<double>(), 0.1);
  EXPECT_NEAR(metrics["perplexity"].get<double>(), std::exp(metrics["loss"].get<double>()), 1e-9);
  EXPECT_THAT(metrics["signature"].get<std::string>(), HasSubstr("tok:13a"));
}

TEST_F(Translation, LearnsAlongOtherPatternsOnEitherSide) {
  json source = experiment();
  source["graph"] = "full";
  source["model"]["positions"] = "sinusoidal";
  source["model"]["norm"] = "post";
  source["model"]["input_norm"] = true;
  source["task"]["vocabulary"]["joint"] = false;
  source["task"]["vocabulary"]["size"] = 40;
  source["model"]["decoder_graph"] = {{"kind", "window"}, {"width", 4}};
  source["model"]["decoder_layers"] = 2;
  source["model"]["tied"] = false;
  EXPECT_GT(run(source).runs[0].metric("bleu"), 80);
}

TEST_F(Translation, UsesTheContextOfADocument) {
  write("train", documents(1, 600));
  write("valid", documents(2, 20));
  write("test", documents(3, 30));
  json source = experiment();
  source["task"]["documents"] = "marks";
  source["graph"] = "full";
  source["model"]["positions"] = "sinusoidal";
  source["train"]["learning_rate"] = 0.004;
  source["train"]["tokens_per_batch"] = 1200;
  const double alone = run(source, "alone").runs[0].metric("bleu");
  source["task"]["context"] = 8;
  const double together = run(source, "together").runs[0].metric("bleu");
  EXPECT_LT(alone, 60) << "nothing in a sentence says what it stands for";
  EXPECT_GT(together, 90);
}

TEST_F(Translation, IsTheSameForAnyNumberOfThreadsAndPartsOfAStep) {
  json source = experiment();
  source["train"]["steps"] = 6;
  source["train"]["evaluate_every"] = 6;
  source["model"]["dropout"] = 0.1;
  std::vector<std::vector<float>> tables;
  for (const int threads : {1, 2}) {
    const test::ThreadCount count(threads);
    const std::string name = "threads" + std::to_string(threads);
    run(source, name);
    for (const auto& [tensor_name, tensor] :
         nn::load_tensors(folder_.file(name + "/runs/bpt-k2/best.safetensors")).tensors) {
      if (tensor_name == "target_embedding.weight") tables.push_back(tensor.to_vector<float>());
    }
  }
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0], tables[1]);
  source["model"]["dropout"] = 0;
  const double whole = run(source, "whole").runs[0].metric("loss");
  source["train"]["gradient_accumulation"] = 3;
  EXPECT_NEAR(run(source, "parts").runs[0].metric("loss"), whole, 1e-3);
}

TEST_F(Translation, GoesOnBitForBitAfterAnInterruption) {
  json source = experiment();
  source["train"]["steps"] = 20;
  source["train"]["average_checkpoints"] = 2;
  source["train"]["evaluate_every"] = 5;
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

std::vector<std::int32_t> numbers(std::span<const std::int32_t> tokens) { return {tokens.begin(), tokens.end()}; }

TEST_F(Translation, ReadsSentencesWithTheLastTokensOfTheirDocument) {
  write("train", documents(1, 10));
  const TranslationCorpus marked = corpus({{"documents", "marks"}});
  const TranslationPairs& pairs = marked.train;
  ASSERT_EQ(pairs.size(), 30);
  const SentenceTokens& tokens = marked.vocabulary.target;
  for (std::int64_t pair = 0; pair < pairs.size(); ++pair) {
    const std::int64_t first = pair - pair % 3;
    // The document up to here, written down whole.
    std::vector<std::int32_t> source, target;
    for (std::int64_t i = first; i <= pair; ++i) {
      const auto own = pairs.source.sentence(i), other = pairs.target.sentence(i);
      EXPECT_EQ(own.back(), marked.vocabulary.source.end());
      EXPECT_EQ(other.front(), tokens.begin());
      source.insert(source.end(), own.begin(), own.end());
      target.insert(target.end(), other.begin(), other.end());
    }
    const std::int64_t own_source = std::ssize(pairs.source.sentence(pair)),
                       own_target = std::ssize(pairs.target.sentence(pair));
    for (const std::int64_t context : {0, 1, 2, 5, 100}) {
      const TranslationWindow window = pairs.window(pair, context);
      const std::int64_t of_source = std::min(std::ssize(source), own_source + context);
      const std::int64_t of_target = std::min(std::ssize(target), own_target + context);
      EXPECT_EQ(numbers(window.source), std::vector<std::int32_t>(source.end() - of_source, source.end()));
      EXPECT_EQ(numbers(window.target), std::vector<std::int32_t>(target.end() - of_target, target.end()));
      EXPECT_EQ(pairs.window_length(pair, context), of_source + of_target);
      ASSERT_EQ(window.lengths.source.size(), window.lengths.target.size());
      EXPECT_EQ(window.lengths.source.back(), own_source);
      EXPECT_EQ(window.lengths.target.back(), own_target);
      // From the end, every sentence but the oldest is whole on the side that reaches it.
      std::int64_t left_source = of_source, left_target = of_target;
      for (std::size_t back = 1; back <= window.lengths.source.size(); ++back) {
        const std::int64_t sentence = pair + 1 - static_cast<std::int64_t>(back);
        const std::int64_t whole_source = std::min(left_source, std::ssize(pairs.source.sentence(sentence)));
        const std::int64_t whole_target = std::min(left_target, std::ssize(pairs.target.sentence(sentence)));
        EXPECT_EQ(window.lengths.source.rbegin()[static_cast<std::ptrdiff_t>(back) - 1], whole_source);
        EXPECT_EQ(window.lengths.target.rbegin()[static_cast<std::ptrdiff_t>(back) - 1], whole_target);
        left_source -= whole_source;
        left_target -= whole_target;
      }
      EXPECT_EQ(left_source, 0);
      EXPECT_EQ(left_target, 0);
    }
  }
}

TEST_F(Translation, LeavesOutPairsThatAreEmptyOrTooLong) {
  write("train", {"ab cd\n\nef\nab cd ef gh ij kl mn op ab cd ef gh ij kl mn op\ngh ij\n", "Zy Xw\nVu\n\nZy\nTs Rq\n"});
  const TranslationCorpus small = corpus({{"vocabulary", {{"size", 44}}}, {"max_length", 12}});
  EXPECT_EQ(small.train.size(), 2);
  EXPECT_THAT(small.remarks[0], AllOf(HasSubstr("5 sentence pairs"), HasSubstr("2 with an empty side left out"),
                                      HasSubstr("1 of more than 12 tokens left out")));
  EXPECT_EQ(small.test.size(), 60) << "these are cut instead";
  EXPECT_THAT(test::error_message<ConfigError>([&] {
                corpus({{"vocabulary", {{"size", 44}}}, {"max_length", 2}});
              }),
              HasSubstr("none of the 5 training pairs is left"));
}

TEST_F(Translation, KeepsItsVocabularyInTheCheckpoint) {
  json source = experiment();
  source["train"]["steps"] = 2;
  for (const bool joint : {true, false}) {
    source["task"]["vocabulary"] = {{"joint", joint}, {"size", 40}};
    const std::string name = joint ? "joint" : "separate";
    run(source, name);
    const TranslationVocabulary kept =
        vocabulary_from_notes(nn::load_tensors(folder_.file(name + "/runs/bpt-k2/best.safetensors")).metadata);
    const TranslationVocabulary made = corpus({{"vocabulary", {{"joint", joint}, {"size", 40}}}}).vocabulary;
    EXPECT_EQ(kept.joint, joint);
    EXPECT_EQ(kept.source.model().bytes(), made.source.model().bytes());
    EXPECT_EQ(kept.target.model().bytes(), made.target.model().bytes());
    EXPECT_EQ(made.source.model().bytes() == made.target.model().bytes(), joint);
    const std::vector<std::int32_t> tokens = kept.target.encode("Zy Xw");
    EXPECT_EQ(kept.target.decode(tokens), "Zy Xw");
    // The same model from a file.
    test::write_file(folder_.file("own.model"), made.target.model().bytes());
    if (!joint) continue;
    const auto given = corpus({{"vocabulary", {{"size", nullptr}, {"model", folder_.file("own.model")}}}}).vocabulary;
    EXPECT_EQ(given.source.model().bytes(), made.source.model().bytes());
  }
}

TEST_F(Translation, SaysWhatDoesNotFit) {
  const auto error_of = [&](const json& changes) {
    json source = experiment();
    source.merge_patch(changes);
    return test::error_message<Error>([&] { run(source, "error"); });
  };
  EXPECT_THAT(error_of({{"task", {{"train", {{"target", nullptr}}}}}}), HasSubstr("train.target is missing"));
  EXPECT_THAT(error_of({{"task", {{"documents", "tsv"}}}}), HasSubstr("name it with train.source alone"));
  EXPECT_THAT(error_of({{"task", {{"context", 32}}}}), HasSubstr("task.documents"));
  EXPECT_THAT(error_of({{"task", {{"columns", {{"source", 4}}}}}}), HasSubstr("columns"));
  EXPECT_THAT(error_of({{"task", {{"vocabulary", {{"source_model", "x"}}}}}}), HasSubstr("vocabulary.joint"));
  EXPECT_THAT(error_of({{"task", {{"vocabulary", {{"model", "x"}}}}}}), HasSubstr("size = 60"));
  EXPECT_THAT(error_of({{"task", {{"vocabulary", {{"joint", false}, {"model", "x"}}}}}}), HasSubstr("two files"));
  EXPECT_THAT(error_of({{"task", {{"train", {{"source", "nowhere.txt"}}}}}}), HasSubstr("nowhere.txt"));
  EXPECT_THAT(error_of({{"train", {{"captured", true}}}}), HasSubstr("captured"));
  EXPECT_THAT(error_of({{"graph", "star"}}), HasSubstr("causal"));
  EXPECT_THAT(error_of({{"model", {{"decoder_graph", {{"kind", "adaptive_span"}}}}}}), HasSubstr("soft span"));
  test::write_file(folder_.file("short.b"), "Zy\n");
  EXPECT_THAT(error_of({{"task", {{"train", {{"target", folder_.file("short.b")}}}}}}),
              AllOf(HasSubstr("has 2000 lines"), HasSubstr("has 1,")));
}

}  // namespace
}  // namespace bough
