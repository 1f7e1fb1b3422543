#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "bough/nn/checkpoint.h"
#include "tests/support/compare.h"

namespace bough::nn {

/// A fixture made with torch's own Transformer modules, and what they call each of our parameters.
class TorchState {
 public:
  using Names = std::map<std::string, std::string>;

  /// `names`: our part of a layer -> torch's; of an attention without its projections.
  TorchState(const std::string& file, Names names) : names_(std::move(names)) {
    for (auto& [name, tensor] : load_tensors(std::string(BOUGH_FIXTURES) + "/" + file).tensors) tensors_[name] = tensor;
  }

  Tensor at(const std::string& name) const { return tensors_.at(name); }
  /// A copy that requires a gradient.
  Tensor leaf(const std::string& name) const {
    Tensor copy = at(name).clone();
    return copy.set_requires_grad(true);
  }

  void load_into(Module& model) const {
    Module::NamedTensors state;
    for (const auto& [name, parameter] : model.named_parameters()) state.emplace_back(name, find("", name));
    model.load_state(state);
  }

  void expect_gradients(const Module& model, test::Tolerance allowed) const {
    for (const auto& [name, parameter] : model.named_parameters()) {
      SCOPED_TRACE(name);
      test::expect_close(parameter.grad(), find("gradient:", name), allowed);
    }
  }

 private:
  Tensor find(const std::string& prefix, const std::string& ours) const {
    if (ours.starts_with("final_norm.")) return at(prefix + ours.substr(6));
    const std::size_t dot = ours.find('.'), last = ours.rfind('.');
    const std::string layer = prefix + "layers." + ours.substr(5, dot - 5) + ".";
    const std::string part = ours.substr(dot + 1, last - dot - 1), tensor = ours.substr(last + 1);
    const std::size_t end = part.rfind('.');
    const std::string projection = part.substr(end == std::string::npos ? part.size() : end + 1);
    // torch keeps the projections of queries, keys and values in one tensor.
    const std::map<std::string, int> thirds{{"query", 0}, {"key", 1}, {"value", 2}};
    if (thirds.contains(projection)) {
      const Tensor joint = at(layer + names_.at(part.substr(0, end)) + ".in_proj_" + tensor);
      const std::int64_t height = joint.size(0) / 3, begin = thirds.at(projection) * height;
      return joint.rows(begin, begin + height);
    }
    if (projection == "output") return at(layer + names_.at(part.substr(0, end)) + ".out_proj." + tensor);
    return at(layer + names_.at(part) + "." + tensor);
  }

  Names names_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace bough::nn
