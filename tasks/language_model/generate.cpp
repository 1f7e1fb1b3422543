#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/nn/checkpoint.h"
#include "bough/nn/decoding.h"
#include "tasks/checkpoint_notes.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/language_model/tokenized_corpus.h"

namespace bough {
namespace {

/// Texts without an end: when the graph of the decoder is full, the last half of its tokens becomes the context of a
/// new one. All texts have the same length.
class EndlessTexts : public nn::NextTokenScorer {
 public:
  /// The decoder reads the end of the prompt but for its last token, which the first score reads.
  EndlessTexts(CharacterDecoder& decoder, const std::vector<std::int32_t>& prompt, std::int64_t texts)
      : decoder_(decoder), texts_(1, {prompt.begin(), prompt.end() - 1}) {
    read_context(std::min(half_graph(), prompt.size()) - 1);
    reorder(std::vector<std::int32_t>(static_cast<std::size_t>(texts), 0));
  }

  std::int64_t size() const override { return std::ssize(texts_); }
  std::int64_t room() const override { return std::numeric_limits<std::int64_t>::max(); }

  Tensor score(std::span<const std::int32_t> tokens) override {
    if (decoder_.room() < 1) read_context(half_graph() - 1);
    for (std::size_t i = 0; i < texts_.size(); ++i) texts_[i].push_back(tokens[i]);
    return decoder_.score(tokens);
  }

  void reorder(std::span<const std::int32_t> parents) override {
    decoder_.reorder(parents);
    std::vector<std::vector<std::int32_t>> copies;
    for (const std::int32_t parent : parents) copies.push_back(texts_[static_cast<std::size_t>(parent)]);
    texts_ = std::move(copies);
  }

 private:
  std::size_t half_graph() const { return static_cast<std::size_t>(std::max<std::int64_t>(1, decoder_.length() / 2)); }

  /// Has the decoder read the last `count` tokens of each text and nothing else.
  void read_context(std::size_t count) {
    std::vector<std::vector<std::int32_t>> contexts;
    for (const std::vector<std::int32_t>& text : texts_) {
      contexts.emplace_back(text.end() - static_cast<std::ptrdiff_t>(count), text.end());
    }
    decoder_.restart(size());
    decoder_.read(contexts);
  }

  CharacterDecoder& decoder_;
  std::vector<std::vector<std::int32_t>> texts_;
};

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

std::vector<std::string> generate_texts(const std::string& checkpoint, const GenerateOptions& options,
                                        std::int64_t samples) {
  nn::SamplingOptions sampling{.temperature = options.temperature,
                               .top_k = options.top_k,
                               .top_p = options.top_p,
                               .seed = options.seed,
                               .limits = {.max_length = options.count}};
  nn::check_sampling_options(sampling);
  if (options.count < 0) {
    throw ConfigError("generate", fmt::format("the count of characters must be at least 0, not {}", options.count));
  }
  if (samples < 1) throw ConfigError("generate", fmt::format("there must be at least 1 sample, not {}", samples));
  const TrainedCharacterModel trained = load_character_model(checkpoint, options.device);
  std::vector<std::int32_t> prompt = trained.vocabulary->encode(options.prompt);
  if (prompt.empty()) prompt.push_back(trained.vocabulary->start());
  CharacterDecoder decoder(*trained.model, trained.decoding_graph());
  EndlessTexts texts(decoder, prompt, samples);

  const auto count = static_cast<std::size_t>(samples);
  const std::vector<std::int32_t> last(count, prompt.back());
  std::vector<std::string> results(count, options.prompt);
  std::vector<std::int32_t> before = last;
  sampling.on_token = [&](std::size_t sample, std::int32_t token) {
    const std::string added =
        trained.vocabulary->text_of(token, results[sample].empty() ? std::nullopt : std::optional(before[sample]));
    before[sample] = token;
    results[sample] += added;
    if (sample == 0) options.on_text(added);
  };
  nn::sample(texts, last, sampling);
  return results;
}

std::string generate_text(const std::string& checkpoint, const GenerateOptions& options) {
  return generate_texts(checkpoint, options, 1).front();
}

}  // namespace bough
