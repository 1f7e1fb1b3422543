#include "bough/tasks/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "bough/tasks/run_experiment.h"
#include "tasks/data/sentencepiece.h"
#include "tests/support/files.h"

namespace bough {
namespace {

using nlohmann::json;

/// The best checkpoint of a short run with these changes.
std::string trained(const test::TemporaryFolder& folder, std::vector<std::string> overrides) {
  const json source = json::parse(R"({
    "task": {"corpus": {"kind": "turn_taking", "train_characters": 4000, "valid_characters": 600, "test_characters": 600},
             "length": 16},
    "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16},
    "train": {"steps": 3, "tokens_per_batch": 64},
    "graph": {"kind": "bpt", "k": 1}})");
  const ExperimentResults results =
      run_experiment(source, {.folder = folder.file("out"), .overrides = std::move(overrides)});
  EXPECT_EQ(results.failed, 0) << results.runs[0].error;
  EXPECT_GT(results.runs[0].metrics.at("perplexity"), 1);
  return folder.file("out/runs/" + results.runs.at(0).name + "/best.safetensors");
}

TEST(Generate, WritesWordsWithTheSpacesBetweenThem) {
  const test::TemporaryFolder folder;
  const std::string checkpoint = trained(folder, {"task.tokens=words"});
  std::string streamed;
  const std::string text = generate_text(
      checkpoint, {.prompt = "Ash Nobody", .count = 40, .on_text = [&](std::string_view more) { streamed += more; }});
  EXPECT_EQ(text, "Ash Nobody" + streamed);
  EXPECT_TRUE(streamed.starts_with(' ') || streamed.starts_with('\n')) << streamed;
  const TrainedCharacterModel model = load_character_model(checkpoint);
  EXPECT_EQ(model.vocabulary->encode(text).size(), 42u);
  EXPECT_FALSE(generate_text(checkpoint, {.count = 3}).starts_with(' ')) << "nothing stands before the first word";
}

TEST(Generate, WritesPiecesOfWords) {
  if (!has_sentencepiece()) GTEST_SKIP() << "built without SentencePiece";
  const test::TemporaryFolder folder;
  const std::string checkpoint = trained(folder, {"task.tokens=sentencepiece", "task.vocabulary.size=400"});
  const std::string text = generate_text(checkpoint, {.prompt = "Ash \xff", .count = 40, .seed = 5});
  EXPECT_TRUE(text.starts_with("Ash \xff")) << "any bytes can be read";
  EXPECT_EQ(text, generate_text(checkpoint, {.prompt = "Ash \xff", .count = 40, .seed = 5}));
  EXPECT_NE(text, generate_text(checkpoint, {.prompt = "Ash \xff", .count = 40, .seed = 6}));
}

TEST(Generate, WritesSeveralTextsTheFirstOfWhichIsThatOfOneAlone) {
  const test::TemporaryFolder folder;
  const std::string checkpoint = trained(folder, {});
  std::string streamed;
  const GenerateOptions options{.prompt = "Ash Bell and many more than fit",
                                .count = 40,
                                .temperature = 0.8,
                                .top_k = 12,
                                .top_p = 0.9,
                                .seed = 3,
                                .on_text = [&](std::string_view more) { streamed += more; }};
  const std::vector<std::string> texts = generate_texts(checkpoint, options, 3);
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(options.prompt + streamed, texts[0]);
  for (const std::string& text : texts) EXPECT_EQ(text.size(), options.prompt.size() + 40);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_NE(texts[1], texts[2]);
  EXPECT_EQ(generate_text(checkpoint, options), texts[0]);
  GenerateOptions likeliest = options, one = options;
  likeliest.temperature = 0;
  one.top_k = 1;
  EXPECT_EQ(generate_text(checkpoint, likeliest), generate_text(checkpoint, one));
  one.count = 0;
  EXPECT_EQ(generate_text(checkpoint, one), options.prompt);
}

TEST(Generate, TakesCheckpointsThatKnowOnlyCharactersAndTransformers) {
  const test::TemporaryFolder folder;
  const std::string checkpoint = trained(folder, {"graph=memory", "task.carry_memory=false"});
  nn::TensorFile file = nn::load_tensors(checkpoint);
  json config = json::parse(file.metadata.at("config"));
  for (const char* key : {"tokens", "vocabulary", "evaluation_length", "evaluation_stride", "carry_memory"}) {
    config["task"].erase(key);
  }
  for (const char* key : {"kind", "cell", "bidirectional", "depth"}) EXPECT_EQ(config["model"].erase(key), 1u) << key;
  file.metadata["config"] = config.dump();
  file.metadata.erase("bough:checksums");
  nn::save_tensors(folder.file("old"), file);
  EXPECT_FALSE(load_character_model(folder.file("old")).carries_memory);
  EXPECT_EQ(generate_text(folder.file("old"), {.prompt = "Ash", .count = 30}),
            generate_text(checkpoint, {.prompt = "Ash", .count = 30}));
}

}  // namespace
}  // namespace bough
