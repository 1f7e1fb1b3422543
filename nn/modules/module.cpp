#include "bough/nn/module.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <typeinfo>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "nn/modules/state.h"

namespace bough::nn {
namespace {

template <typename Entry>
void require_new_name(const std::vector<Entry>& entries, const std::string& name) {
  const bool well_formed =
      !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!well_formed) {
    throw ConfigError("module", fmt::format("names hold letters, digits and '_', '{}' does not", name));
  }
  if (std::ranges::find(entries, name, &Entry::first) != entries.end()) {
    throw ConfigError("module", fmt::format("the name '{}' is given twice", name));
  }
}

/// "bough::nn::Linear"; what the compiler calls the type if it cannot be written so.
std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace

template <typename Visit>
void Module::visit_tensors(const std::string& prefix, bool buffers, const Visit& visit) const {
  for (const auto& [name, tensor] : buffers ? buffers_ : parameters_) visit(prefix + name, *tensor);
  for (const auto& [name, part] : parts_) part->visit_tensors(prefix + name + ".", buffers, visit);
}

template <typename Visit>
void Module::visit_constants(const Visit& visit) const {
  for (Tensor* tensor : constants_) visit(*tensor);
  for (const auto& [name, part] : parts_) part->visit_constants(visit);
}

Module::NamedTensors Module::named_parameters() const {
  NamedTensors result;
  visit_tensors("", false, [&result](const std::string& name, const Tensor& tensor) {
    const bool shared = std::ranges::any_of(result, [&](const auto& entry) { return entry.second.same_as(tensor); });
    if (!shared) result.emplace_back(name, tensor);
  });
  return result;
}

Module::NamedTensors Module::named_buffers() const {
  NamedTensors result;
  visit_tensors("", true,
                [&result](const std::string& name, const Tensor& tensor) { result.emplace_back(name, tensor); });
  return result;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (auto& [name, tensor] : named_parameters()) result.push_back(tensor);
  return result;
}

void Module::collect_weight_matrices(const std::string& prefix, std::vector<std::string>& names) const {
  for (const std::string& name : weight_matrices_) names.push_back(prefix + name);
  for (const auto& [name, part] : parts_) part->collect_weight_matrices(prefix + name + ".", names);
}

std::vector<std::string> Module::weight_matrices() const {
  std::vector<std::string> names;
  collect_weight_matrices("", names);
  const NamedTensors parameters = named_parameters();
  std::erase_if(names, [&](const std::string& name) {  // of a shared one that goes by its first name
    return std::ranges::find(parameters, name, &NamedTensors::value_type::first) == parameters.end();
  });
  return names;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& tensor : parameters()) count += tensor.elements();
  return count;
}

void Module::train(bool training) {
  training_ = training;
  for (auto& [name, part] : parts_) part->train(training);
}

void Module::to(Device device) {
  // A tensor that two parts share must stay shared, so each is moved once.
  std::vector<std::pair<Tensor, Tensor>> moved;
  const auto move = [&](Tensor& tensor) {
    const auto known = std::ranges::find_if(moved, [&](const auto& pair) { return pair.first.same_as(tensor); });
    if (known != moved.end()) {
      tensor = known->second;
      return;
    }
    const Tensor before = tensor;
    tensor = before.detach().to(device);
    tensor.set_requires_grad(before.requires_grad());
    moved.emplace_back(before, tensor);
  };
  visit_tensors("", false, [&](const std::string&, Tensor& tensor) { move(tensor); });
  visit_tensors("", true, [&](const std::string&, Tensor& tensor) { move(tensor); });
  visit_constants(move);
}

void Module::clear_grad() {
  for (Tensor& tensor : parameters()) tensor.clear_grad();
}

Module::NamedTensors Module::state() const {
  NamedTensors result = named_parameters();
  for (auto& entry : named_buffers()) result.push_back(std::move(entry));
  return result;
}

void Module::load_state(const NamedTensors& given) {
  require_matching_state("load_state", state(), given);
  assign_state(state(), given);
}

void Module::add_parameter(const std::string& name, Tensor& parameter) {
  require_new_name(parameters_, name);
  if (!parameter.defined()) {
    throw ConfigError("module",
                      fmt::format("the parameter '{}' is undefined; give it a value before add_parameter", name));
  }
  parameter.set_requires_grad(true);
  parameters_.emplace_back(name, &parameter);
}

void Module::add_weight_matrix(const std::string& name, Tensor& parameter) {
  if (parameter.defined() && parameter.rank() != 2) {
    throw ShapeError("module", fmt::format("the weight matrix '{}' is {}; one has two axes, and other parameters are "
                                           "added with add_parameter",
                                           name, to_string(parameter.shape())));
  }
  add_parameter(name, parameter);
  weight_matrices_.push_back(name);
}

void Module::add_buffer(const std::string& name, Tensor& buffer) {
  require_new_name(buffers_, name);
  buffers_.emplace_back(name, &buffer);
}

void Module::add_constant(Tensor& constant) { constants_.push_back(&constant); }

void Module::add_module(const std::string& name, Module& part) {
  require_new_name(parts_, name);
  parts_.emplace_back(name, &part);
}

std::string to_string(const Module& module) {
  constexpr std::size_t lines_at_an_end = 12;
  const Module::NamedTensors parameters = module.named_parameters();
  std::string text = fmt::format("{} with {} parameters", type_name(typeid(module)), module.parameter_count());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i == lines_at_an_end && parameters.size() > 2 * lines_at_an_end) {
      i = parameters.size() - lines_at_an_end;
      text += "\n  ...";
    }
    text += fmt::format("\n  {} {}", parameters[i].first, to_string(parameters[i].second.shape()));
  }
  return text;
}

std::ostream& operator<<(std::ostream& stream, const Module& module) { return stream << to_string(module); }

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
