#include "bough/tasks/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/core/random.h"
#include "bough/nn/checkpoint.h"
#include "tasks/language_model/char_lm.h"
#include "tasks/recorded_plugins.h"

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

}  // namespace

TrainedCharacterModel load_character_model(const std::string& path, Device device) {
  const std::map<std::string, std::string> notes = nn::load_tensors(path).metadata;
  const auto note = [&](const char* name) -> const std::string& {
    const auto found = notes.find(name);
    if (found != notes.end()) return found->second;
    throw IoError("generate",
                  fmt::format("'{}' is no checkpoint of a character language model: it has no {}", path, name));
  };
  const nlohmann::json config = parse_json(note("config"), path);
  const Settings task("task", config.at("task"));
  // Checkpoints of earlier versions do not say which plug-ins they need.
  if (const auto plugins = notes.find(tasks::plugins_note); plugins != notes.end()) {
    tasks::load_recorded_plugins(config.at("graph"), parse_json(plugins->second, path));
  }
  TrainedCharacterModel trained{.vocabulary = CharacterVocabulary(from_hexadecimal(note(vocabulary_note))),
                                .generator = generators().make(config.at("graph")),
                                .length = task.integer("length"),
                                .model = nullptr};
  trained.model = std::make_unique<CharacterModel>(character_model_options(
      Settings("model", config.at("model")), trained.vocabulary.size(), *trained.generator, trained.length));
  nn::load_checkpoint(path, *trained.model);
  trained.model->to(device);
  trained.model->eval();
  return trained;
}

std::string generate_text(const std::string& checkpoint, const GenerateOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    throw ConfigError("generate", fmt::format("the temperature must be at least 0, not {}", options.temperature));
  }
  const TrainedCharacterModel trained = load_character_model(checkpoint, options.device);
  const std::string& known = trained.vocabulary.bytes();
  const std::string prompt = !options.prompt.empty()                 ? options.prompt
                             : known.find('\n') != std::string::npos ? "\n"
                                                                     : known.substr(0, 1);
  std::vector<std::int32_t> text = trained.vocabulary.encode(prompt);
  CharacterDecoder decoder(*trained.model, *trained.generator, trained.length);

  Tensor scores;
  const auto read_from = [&](std::size_t begin) {
    decoder.restart();
    for (std::size_t i = begin; i < text.size(); ++i) scores = decoder.read(text[i]);
  };
  const auto half = static_cast<std::size_t>(std::max<std::int64_t>(1, trained.length / 2));
  read_from(text.size() - std::min(text.size(), std::max<std::size_t>(half, 1)));
  std::string result = options.prompt;
  for (std::int64_t i = 0; i < options.count; ++i) {
    const std::int64_t next = choose(scores.to_vector<double>(), options.temperature,
                                     RandomStream{options.seed, static_cast<std::uint64_t>(i)});
    text.push_back(static_cast<std::int32_t>(next));
    result += trained.vocabulary.byte(next);
    options.on_character(result.back());
    if (decoder.position() < decoder.length()) {
      scores = decoder.read(text.back());
    } else {
      read_from(text.size() - half);
    }
  }
  return result;
}

}  // namespace bough
