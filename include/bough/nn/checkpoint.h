#pragma once

#include <map>
#include <string>

#include "bough/core/random.h"
#include "bough/nn/module.h"

namespace bough::nn {

class Optimizer;
class ParameterAverage;

/// Tensors by name and text by name: what one safetensors file holds.
struct TensorFile {
  Module::NamedTensors tensors;                 ///< in the order of the file
  std::map<std::string, std::string> metadata;  ///< free text by name
};

/// Writes a safetensors file (of every type that tensors have), atomically: a process killed in between leaves
/// the old file whole. ConfigError for a name given twice, IoError if it cannot be written.
void save_tensors(const std::string& path, const TensorFile& file);

/// Reads a safetensors file, from whatever program: the types above, and float16 as float32, which is exact. Other
/// types are an IoError that names the tensor. A truncated, damaged or hostile file is an IoError that says what is
/// wrong; nothing is allocated on the word of a header that the file's size does not bear out.
TensorFile load_tensors(const std::string& path);

/// What a checkpoint holds beside the model; what is null is neither written nor read.
struct CheckpointParts {
  Optimizer* optimizer = nullptr;        ///< its state
  ParameterAverage* average = nullptr;   ///< its state
  RandomGenerator* generator = nullptr;  ///< where its streams stand
  /// Tensors of the program's own, e.g. what a training run remembers. Written as they are; filled on loading.
  Module::NamedTensors* own = nullptr;
  /// Free text, e.g. the configuration as JSON, the step, the position in the data. Written as it is; filled on
  /// loading.
  std::map<std::string, std::string>* metadata = nullptr;
};

/// The model's parameters and buffers under their own names; the optimiser's state as "optimizer:<name>", that of the
/// average as "average:<name>", tensors of the program's own as "own:<name>". A checksum of every tensor and of the
/// metadata stands in the metadata, under "bough:checksums".
void save_checkpoint(const std::string& path, const Module& module, const CheckpointParts& parts = {});

/// Everything is read and checked before the model or any of the parts is touched. IoError for a damaged
/// file (any flipped bit, where it holds checksums; files of other programs need none) or one that does not fit the
/// model, naming what is wrong. Tensors of bfloat16 become float32, which is exact.
void load_checkpoint(const std::string& path, Module& module, const CheckpointParts& parts = {});

}  // namespace bough::nn
