#include "nn/modules/state.h"

#include <fmt/format.h>

#include <map>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"

namespace bough::nn {

void require_matching_state(const char* where, const Module::NamedTensors& own, const Module::NamedTensors& given) {
  std::map<std::string, Tensor> by_name;
  for (const auto& [name, tensor] : given) {
    if (!by_name.emplace(name, tensor).second) throw ConfigError(where, fmt::format("'{}' is given twice", name));
  }
  for (const auto& [name, tensor] : own) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw ConfigError(where, fmt::format("'{}' is missing from what is loaded", name));
    const Tensor& source = found->second;
    if (!(source.shape() == tensor.shape())) {
      throw ShapeError(where, fmt::format("'{}' is {} here, {} in what is loaded", name, to_string(tensor.shape()),
                                          to_string(source.shape())));
    }
    if (source.dtype() != tensor.dtype()) {
      throw TypeError(where, fmt::format("'{}' is {} here, {} in what is loaded", name, name_of(tensor.dtype()),
                                         name_of(source.dtype())));
    }
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    throw ConfigError(where, fmt::format("there is nothing called '{}' here", by_name.begin()->first));
  }
}

void assign_state(Module::NamedTensors own, const Module::NamedTensors& given) {
  const std::map<std::string, Tensor> by_name(given.begin(), given.end());
  const NoGrad no_grad;
  for (auto& [name, tensor] : own) tensor.assign(by_name.at(name).detach().to(tensor.device()));
}

}  // namespace bough::nn
