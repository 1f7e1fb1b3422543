#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bough/core/device.h"
#include "bough/tasks/character_model.h"
#include "bough/tasks/character_vocabulary.h"

namespace bough {

/// The model of a char_lm checkpoint with what it needs to read and write text.
struct TrainedCharacterModel {
  CharacterVocabulary vocabulary;             ///< characters that it knows
  std::unique_ptr<GraphGenerator> generator;  ///< its attention pattern
  std::int64_t length;                        ///< of the windows it was trained on
  std::unique_ptr<CharacterModel> model;      ///< with the parameters of the checkpoint
};

/// In evaluation mode, on the device. IoError for a file that is no such checkpoint, DeviceError for a device that is
/// not there, ConfigError for a pattern that the registry does not have.
TrainedCharacterModel load_character_model(const std::string& checkpoint, Device device = Device::cpu());

/// Options of generate_text.
struct GenerateOptions {
  std::string prompt = {};        ///< what the text begins with; none: a line break, if the model knows it
  std::int64_t count = 400;       ///< characters to add
  double temperature = 1;         ///< below 1 likely characters become likelier; 0 takes the likeliest each time
  std::uint64_t seed = 1;         ///< the same seed gives the same text
  Device device = Device::cpu();  ///< where the model computes
  std::function<void(char)> on_character = [](char) {};  ///< each new character as it comes
};

/// Continues a text with the model of a char_lm checkpoint. When the window that the model was trained on is full, the
/// last half of it becomes the context of a new one. ConfigError for a prompt with bytes that the model has never seen
/// or a temperature below 0; DeviceError for a device that is not there; IoError for a file that is no such checkpoint,
/// and for a plug-in of its graph that is neither loaded nor where it was.
std::string generate_text(const std::string& checkpoint, const GenerateOptions& options);

}  // namespace bough
