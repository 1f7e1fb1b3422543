#pragma once

#include <map>
#include <string>
#include <vector>

#include "bough/mp/frame.h"
#include "bough/nn/recurrent.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/matmul.h"

namespace bough::nn {

/// The formulas of the papers at one node after the other, on rows [1, width], with copies of a model's parameters.
class PlainRecursion {
 public:
  PlainRecursion(const Recurrent& model, const RecurrentOptions& options) : options_(options) {
    for (const auto& [name, parameter] : model.named_parameters()) {
      Tensor copy = parameter.detach().clone();
      parameters_[name] = copy.set_requires_grad(true);
    }
  }

  Tensor forward(const Graph& graph, const Tensor& x) const {
    std::vector<State> states(static_cast<std::size_t>(graph.num_nodes()));
    for (const IdArray& level : topological_levels(graph)) {
      for (const std::int32_t node : level) states[static_cast<std::size_t>(node)] = state(graph, x, node, states);
    }
    std::vector<Tensor> rows;
    for (const State& each : states) rows.push_back(each.h);
    return concatenate(rows, 0);
  }
  Tensor gradient(const std::string& name) const { return parameters_.at(name).grad(); }

 private:
  struct State {
    Tensor h, c, x;
    std::int64_t position = 0;
  };

  const Tensor& at(const std::string& name) const { return parameters_.at("along." + name); }
  /// Rows of a matrix or vector that belong to a gate.
  Tensor gate(const std::string& name, std::int64_t which) const {
    return slice(at(name), 0, which * options_.out, (which + 1) * options_.out);
  }
  Tensor of_input(std::int64_t which, const Tensor& x) const {
    return linear(x, gate("input.weight", which), gate("input.bias", which));
  }

  State state(const Graph& graph, const Tensor& x, std::int32_t node, const std::vector<State>& states) const {
    const Tensor own = slice(x, 0, node, node + 1);
    const Tensor none = zeros({1, options_.out});
    std::vector<State> from;
    const EdgeSelection edges = graph.in_edges({node});
    for (std::size_t e = 0; e < edges.src.size(); ++e) {
      from.push_back(states[static_cast<std::size_t>(edges.src[e])]);
      if (options_.positions > 1) {
        from.back().position = graph.edge_types()[static_cast<std::size_t>(edges.edge_ids[e])];
      }
    }
    if (options_.cell == RecurrentCellKind::lstm)
      return options_.positions > 1 ? n_ary(own, from) : child_sum(own, from);
    if (from.empty()) from.push_back({none, none, zeros(own.shape())});
    State result = options_.cell == RecurrentCellKind::mlstm ? multiplicative(own, from.front())
                   : options_.cell == RecurrentCellKind::rhn ? highway(own, from.front())
                                                             : quasi(own, from.front());
    result.x = own;
    return result;
  }

  State child_sum(const Tensor& x, const std::vector<State>& from) const {
    Tensor h = zeros({1, options_.out}), c = zeros({1, options_.out});
    for (const State& child : from) h = h + child.h;
    const auto value = [&](std::int64_t which, const Tensor& read) {
      return of_input(which, x) + linear(read, gate("recurrent.weight", which));
    };
    for (const State& child : from) c = c + sigmoid(value(1, child.h)) * child.c;
    c = c + sigmoid(value(0, h)) * tanh(value(2, h));
    return {sigmoid(value(3, h)) * tanh(c), c, x};
  }

  State n_ary(const Tensor& x, const std::vector<State>& from) const {
    const std::int64_t out = options_.out, last = 1 + options_.positions;
    const auto value = [&](std::int64_t of_x, std::int64_t of_h) {
      Tensor result = of_input(of_x, x);
      for (const State& child : from) {
        const std::int64_t begin = child.position * out;
        result = result + linear(child.h, slice(gate("recurrent.weight", of_h), 1, begin, begin + out));
      }
      return result;
    };
    Tensor c = sigmoid(value(0, 0)) * tanh(value(2, last));
    for (const State& child : from) c = c + sigmoid(value(1, 1 + child.position)) * child.c;
    return {sigmoid(value(3, last + 1)) * tanh(c), c, x};
  }

  State multiplicative(const Tensor& x, const State& from) const {
    const Tensor m = linear(x, gate("input.weight", 4)) * linear(from.h, at("factor.weight"));
    const auto value = [&](std::int64_t which) {
      return linear(x, gate("input.weight", which)) +
             linear(m, gate("recurrent.weight", which), gate("recurrent.bias", which));
    };
    const Tensor c = sigmoid(value(1)) * from.c + sigmoid(value(0)) * tanh(value(2));
    return {tanh(c) * sigmoid(value(3)), c, x};
  }

  State highway(const Tensor& x, const State& from) const {
    Tensor h = from.h;
    for (std::int64_t layer = 0; layer < options_.depth; ++layer) {
      const std::string name = "layer" + std::to_string(layer);
      const auto value = [&](std::int64_t which) {
        const Tensor read = linear(h, gate(name + ".weight", which));
        return read + (layer == 0 ? of_input(which, x) : gate(name + ".bias", which));
      };
      const Tensor transform = sigmoid(value(1));
      h = tanh(value(0)) * transform + h * (1.0 - transform);
    }
    return {h, {}, x};
  }

  State quasi(const Tensor& x, const State& from) const {
    const auto value = [&](std::int64_t which) {
      return of_input(which, x) + linear(from.x, gate("previous.weight", which));
    };
    const Tensor forget = sigmoid(value(1));
    const Tensor c = forget * from.c + (1.0 - forget) * tanh(value(0));
    return {sigmoid(value(2)) * c, c, x};
  }

  RecurrentOptions options_;
  std::map<std::string, Tensor> parameters_;
};

}  // namespace bough::nn
