#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "tasks/checkpoint_notes.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/language_model/tokenized_corpus.h"

namespace bough {
namespace {

std::int64_t choose(const std::vector<double>& scores, double temperature, const RandomStream& random) {
  const auto best = std::ranges::max_element(scores);
  if (temperature == 0) return best - scores.begin();
  std::vector<double> weights;
  double total = 0;
  for (const double score : scores) total += weights.emplace_back(std::exp((score - *best) / temperature));
  const auto bits = random.block(0);
  double left = total * static_cast<double>(std::uint64_t{bits[0]} << 21 | bits[1] >> 11) * 0x1p-53;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<std::int64_t>(i);
  }
  return best - scores.begin();
}

/// The task of a checkpoint. Those of earlier versions lack keys that came later; they were made as these values say.
Settings task_of(const nlohmann::json& config) {
  nlohmann::json task = {{"tokens", "characters"}, {"evaluation_length", nullptr}, {"carry_memory", false}};
  task.update(config.at("task"));
  return {"task", task};
}

}  // namespace

TrainedCharacterModel load_character_model(const std::string& path, Device device) {
  const tasks::CheckpointNotes notes(path, "a character language model");
  const nlohmann::json& config = notes.config();
  if (const std::string kind = config.at("task").value("kind", "char_lm"); kind != char_lm_task().name()) {
    throw IoError("checkpoint", fmt::format("'{}' is a model of the task {}, which continues no text; bough predict "
                                            "(TrainedTextClassifier) says of which class texts are",
                                            path, kind));
  }
  const std::string& vocabulary = notes.at(vocabulary_note);
  const Settings task = task_of(config);
  TrainedCharacterModel trained{.vocabulary = read_vocabulary(task, vocabulary),
                                .generator = generators().make(config.at("graph")),
                                .length = task.integer("length"),
                                .model = nullptr};
  const std::int64_t longest = std::max(trained.length, task.optional_integer("evaluation_length").value_or(0));
  trained.model = std::make_unique<CharacterModel>(character_model_options(
      Settings("model", config.at("model")), trained.vocabulary->size(), *trained.generator, longest));
  trained.carries_memory = task.boolean("carry_memory") && remembered_tokens(*trained.generator, trained.length) > 0;
  nn::load_checkpoint(path, *trained.model);
  trained.model->to(device);
  trained.model->eval();
  return trained;
}

AttentionGraph TrainedCharacterModel::decoding_graph() const {
  if (!carries_memory) return window_graph(*generator, length);
  return carried_graph(*generator, length, 1 + (remembered_tokens(*generator, length) + length - 1) / length);
}

std::string generate_text(const std::string& checkpoint, const GenerateOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    throw ConfigError("generate", fmt::format("the temperature must be at least 0, not {}", options.temperature));
  }
  if (options.count < 0) {
    throw ConfigError("generate", fmt::format("the count of characters must be at least 0, not {}", options.count));
  }
  const TrainedCharacterModel trained = load_character_model(checkpoint, options.device);
  std::vector<std::int32_t> text = trained.vocabulary->encode(options.prompt);
  if (text.empty()) text.push_back(trained.vocabulary->start());
  CharacterDecoder decoder(*trained.model, trained.decoding_graph());

  Tensor scores;
  const auto read_from = [&](std::size_t begin) {
    decoder.restart();
    for (std::size_t i = begin; i < text.size(); ++i) scores = decoder.read(text[i]);
  };
  const auto half = static_cast<std::size_t>(std::max<std::int64_t>(1, decoder.length() / 2));
  read_from(text.size() - std::min(text.size(), std::max<std::size_t>(half, 1)));
  std::string result = options.prompt;
  for (std::int64_t i = 0; i < options.count; ++i) {
    const std::int64_t next = choose(scores.to_vector<double>(), options.temperature,
                                     RandomStream{options.seed, static_cast<std::uint64_t>(i)});
    const std::optional<std::int32_t> before = result.empty() ? std::nullopt : std::optional(text.back());
    text.push_back(static_cast<std::int32_t>(next));
    const std::string added = trained.vocabulary->text_of(text.back(), before);
    result += added;
    options.on_text(added);
    if (decoder.position() < decoder.length()) {
      scores = decoder.read(text.back());
    } else {
      read_from(text.size() - half);
    }
  }
  return result;
}

}  // namespace bough
