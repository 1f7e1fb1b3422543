#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bough/core/device.h"
#include "bough/tasks/character_model.h"
#include "bough/tasks/vocabulary.h"

namespace bough {

/// The model of a char_lm checkpoint with what it needs to read and write text.
struct TrainedCharacterModel {
  std::unique_ptr<const Vocabulary> vocabulary;  ///< tokens that it knows: characters, words or pieces of words
  std::unique_ptr<GraphGenerator> generator;     ///< its attention pattern
  std::int64_t length;                           ///< of the windows it was trained on
  std::unique_ptr<CharacterModel> model;         ///< with the parameters of the checkpoint
  bool carries_memory = false;                   ///< it was trained to remember the windows before

  /// The graph on which the model reads a text token by token: of one window, or of as many as it can remember and one
  /// more, where it carries its memory.
  AttentionGraph decoding_graph() const;
};

/// Loads a model, in evaluation mode, to the device. IoError for a file that is no such checkpoint, DeviceError for a
/// device that is not there, ConfigError for a pattern that the registry does not have.
TrainedCharacterModel load_character_model(const std::string& checkpoint, Device device = Device::cpu());

/// Options of generate_text.
struct GenerateOptions {
  std::string prompt = {};        ///< what the text begins with; none: a line break, if the model knows it
  std::int64_t count = 400;       ///< tokens to add
  double temperature = 1;         ///< below 1 likely tokens become likelier; 0 takes the likeliest each time
  std::int64_t top_k = 0;         ///< only so many of the likeliest tokens are chosen from; 0: all
  double top_p = 1;               ///< of these the likeliest whose probabilities together reach it
  std::uint64_t seed = 1;         ///< the same seed gives the same text
  Device device = Device::cpu();  ///< where the model computes
  std::function<void(std::string_view)> on_text = [](std::string_view) {};  ///< what each new token adds, as it comes
};

/// Continues a text with the model of a char_lm checkpoint. When the graph on which it reads is full, the last half of
/// its tokens becomes the context of a new one. Words of the prompt that the model does not know are read as unknown
/// ones. ConfigError for a prompt with bytes that a model of characters has never seen, a temperature or count below 0,
/// and as nn::sample; DeviceError for a device that is not there; IoError for a file that is no such checkpoint, and
/// for a plug-in of its graph that is neither loaded nor where it was.
std::string generate_text(const std::string& checkpoint, const GenerateOptions& options);

/// So many continuations, side by side: the first is that of generate_text, and the only one that on_text hears of.
/// ConfigError for fewer than one.
std::vector<std::string> generate_texts(const std::string& checkpoint, const GenerateOptions& options,
                                        std::int64_t samples);

}  // namespace bough
