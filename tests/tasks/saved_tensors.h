#pragma once

#include <map>
#include <string>
#include <vector>

#include "bough/nn/checkpoint.h"

namespace bough::test {

/// Name and bits of every tensor of a checkpoint, the optimiser's too.
inline std::map<std::string, std::vector<float>> saved_tensors(const std::string& path) {
  std::map<std::string, std::vector<float>> result;
  for (const auto& [name, tensor] : nn::load_tensors(path).tensors) result[name] = tensor.to_vector<float>();
  return result;
}

}  // namespace bough::test
