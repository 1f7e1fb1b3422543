#include "nn/modules/recurrent_cells.h"

#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/nn/layers.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"

namespace bough::nn {
namespace {

/// Cuts rows of gates into tensors of equal width.
std::vector<Tensor> gates_of(const Tensor& sums, std::int64_t width) {
  return split(sums, 1, std::vector<std::int64_t>(static_cast<std::size_t>(sums.size(1) / width), width));
}

/// The end of lstm and mlstm: memory from what was kept (undefined: nothing) and the gates before their functions.
RecurrentState lstm_state(const Tensor& kept, const Tensor& i, const Tensor& g, const Tensor& o) {
  const Tensor added = sigmoid(i) * tanh(g);
  const Tensor c = kept.defined() ? kept + added : added;
  return {sigmoid(o) * tanh(c), c};
}

class LstmCell : public RecurrentCell {
 public:
  explicit LstmCell(const RecurrentOptions& options)
      : out_(options.out),
        rules_{"this lstm", options.positions},
        places_(options.positions > 0 ? options.positions : 1),
        input_({.in = options.in, .out = 4 * out_}),
        recurrent_({.in = places_ * out_, .out = (3 + places_) * out_, .bias = false}) {
    add_module("input", input_);
    add_module("recurrent", recurrent_);
  }

  LevelRules rules() const override { return rules_; }

  /// i, f for each position, g, o.
  RecurrentInput project(const Tensor& x) const override {
    const Tensor projected = input_.forward(x);
    if (places_ == 1) return {projected, {}};
    std::vector<Tensor> gates = gates_of(projected, out_);
    const Tensor forget = gates[1];
    gates.insert(gates.begin() + 1, static_cast<std::size_t>(places_ - 1), forget);
    return {concatenate(gates, 1), {}};
  }

  RecurrentState step(const Tensor& projected, const Predecessors& predecessors) const override {
    if (!predecessors.none() && rules_.positions == 0 && !predecessors.one_each()) {
      return child_sum(projected, predecessors);
    }
    const auto count = static_cast<std::size_t>(places_);
    if (predecessors.none()) {
      const std::vector<Tensor> gates = gates_of(projected, out_);
      return lstm_state({}, gates[0], gates[1 + count], gates[2 + count]);
    }
    std::vector<Tensor> h;
    for (std::size_t place = 0; place < count; ++place) h.push_back(predecessors.at_nodes(&RecurrentState::h, place));
    const Tensor read = recurrent_.forward(count == 1 ? h.front() : concatenate(h, 1));
    const std::vector<Tensor> gates = gates_of(projected + read, out_);
    Tensor kept;
    for (std::size_t place = 0; place < count; ++place) {
      const Tensor part = sigmoid(gates[1 + place]) * predecessors.at_nodes(&RecurrentState::c, place);
      kept = kept.defined() ? kept + part : part;
    }
    return lstm_state(kept, gates[0], gates[1 + count], gates[2 + count]);
  }

 private:
  /// One product of all edges: i, g and o are linear in h, so they are summed after it as well as before.
  RecurrentState child_sum(const Tensor& projected, const Predecessors& predecessors) const {
    const std::vector<Tensor> own = gates_of(projected, out_);
    const Tensor read = recurrent_.forward(predecessors.at_edges(&RecurrentState::h));
    const Tensor forget = sigmoid(predecessors.to_edges(own[1]) + slice(read, 1, out_, 2 * out_));
    const Tensor kept = predecessors.sum_edges(forget * predecessors.at_edges(&RecurrentState::c));
    const std::vector<Tensor> sums = gates_of(predecessors.sum_edges(read), out_);
    return lstm_state(kept, own[0] + sums[0], own[2] + sums[2], own[3] + sums[3]);
  }

  std::int64_t out_;
  LevelRules rules_;
  std::int64_t places_;
  Linear input_, recurrent_;
};

class MultiplicativeLstmCell : public RecurrentCell {
 public:
  explicit MultiplicativeLstmCell(const RecurrentOptions& options)
      : out_(options.out),
        input_({.in = options.in, .out = 5 * out_, .bias = false}),
        factor_({.in = out_, .out = out_, .bias = false}),
        recurrent_({.in = out_, .out = 4 * out_}) {
    add_module("input", input_);
    add_module("factor", factor_);
    add_module("recurrent", recurrent_);
  }

  LevelRules rules() const override { return {"mlstm", 1}; }
  RecurrentInput project(const Tensor& x) const override { return {input_.forward(x), {}}; }

  RecurrentState step(const Tensor& projected, const Predecessors& predecessors) const override {
    const std::vector<Tensor> own = split(projected, 1, {4 * out_, out_});
    if (predecessors.none()) {
      const std::vector<Tensor> gates = gates_of(own[0] + recurrent_.bias, out_);
      return lstm_state({}, gates[0], gates[2], gates[3]);
    }
    const Tensor m = own[1] * factor_.forward(predecessors.at_nodes(&RecurrentState::h));
    const std::vector<Tensor> gates = gates_of(own[0] + recurrent_.forward(m), out_);
    return lstm_state(sigmoid(gates[1]) * predecessors.at_nodes(&RecurrentState::c), gates[0], gates[2], gates[3]);
  }

 private:
  std::int64_t out_;
  Linear input_, factor_, recurrent_;
};

class HighwayCell : public RecurrentCell {
 public:
  explicit HighwayCell(const RecurrentOptions& options)
      : out_(options.out), input_({.in = options.in, .out = 2 * out_}) {
    add_module("input", input_);
    for (std::int64_t layer = 0; layer < options.depth; ++layer) {
      // The bias of the first layer is that of the input.
      layers_.push_back(std::make_unique<Linear>(LinearOptions{.in = out_, .out = 2 * out_, .bias = layer > 0}));
      add_module(fmt::format("layer{}", layer), *layers_.back());
    }
  }

  LevelRules rules() const override { return {"rhn", 1}; }
  RecurrentInput project(const Tensor& x) const override { return {input_.forward(x), {}}; }

  RecurrentState step(const Tensor& projected, const Predecessors& predecessors) const override {
    Tensor h;
    for (const std::unique_ptr<Linear>& layer : layers_) {
      Tensor sums = h.defined() ? layer->forward(h) : projected;
      if (!h.defined() && !predecessors.none()) {
        h = predecessors.at_nodes(&RecurrentState::h);
        sums = sums + layer->forward(h);
      }
      const std::vector<Tensor> gates = gates_of(sums, out_);
      const Tensor candidate = tanh(gates[0]), transform = sigmoid(gates[1]);
      h = h.defined() ? h + transform * (candidate - h) : transform * candidate;
    }
    return {h, {}};
  }

 private:
  std::int64_t out_;
  Linear input_;
  std::vector<std::unique_ptr<Linear>> layers_;
};

class QuasiRecurrentCell : public RecurrentCell {
 public:
  explicit QuasiRecurrentCell(const RecurrentOptions& options)
      : out_(options.out),
        input_({.in = options.in, .out = 3 * out_}),
        previous_({.in = options.in, .out = 3 * out_, .bias = false}) {
    add_module("input", input_);
    add_module("previous", previous_);
  }

  LevelRules rules() const override { return {"qrnn", 1}; }

  RecurrentInput project(const Tensor& x) const override {
    const std::vector<Tensor> parts = linear_parts(x, {input_.part(), previous_.part()});
    return {parts[0], parts[1]};
  }

  RecurrentState step(const Tensor& projected, const Predecessors& predecessors) const override {
    const std::vector<Tensor> gates = gates_of(projected, out_);
    const Tensor z = tanh(gates[0]), forget = sigmoid(gates[1]);
    if (predecessors.none()) {
      const Tensor c = z - forget * z;
      return {sigmoid(gates[2]) * c, c};
    }
    const Tensor c = z + forget * (predecessors.at_nodes(&RecurrentState::c) - z);
    return {sigmoid(gates[2]) * c, c};
  }

 private:
  std::int64_t out_;
  Linear input_, previous_;
};

/// Keeps widths of gates, and keys of the levels in a graph's cache, far from overflow.
constexpr std::int64_t widest_state = 10'000'000, most_positions = 1'000;

void require_sensible(const RecurrentOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw ConfigError("recurrent", message);
  };
  require(options.in >= 1, fmt::format("in must be at least 1, it is {}", options.in));
  require(options.out >= 1 && options.out <= widest_state,
          fmt::format("out must be in 1..{}, it is {}", widest_state, options.out));
  require(options.positions >= 0 && options.positions <= most_positions,
          fmt::format("positions must be in 0..{}, it is {}", most_positions, options.positions));
  require(options.depth >= 1, fmt::format("depth must be at least 1, it is {}", options.depth));
  require(options.positions == 0 || options.cell == RecurrentCellKind::lstm,
          fmt::format("positions are for lstm; {} takes one predecessor", to_string(options.cell)));
  require(options.depth == 1 || options.cell == RecurrentCellKind::rhn,
          fmt::format("depth is for rhn, not for {}", to_string(options.cell)));
}

}  // namespace

std::unique_ptr<RecurrentCell> make_recurrent_cell(const RecurrentOptions& options) {
  require_sensible(options);
  switch (options.cell) {
    case RecurrentCellKind::lstm:
      return std::make_unique<LstmCell>(options);
    case RecurrentCellKind::mlstm:
      return std::make_unique<MultiplicativeLstmCell>(options);
    case RecurrentCellKind::rhn:
      return std::make_unique<HighwayCell>(options);
    case RecurrentCellKind::qrnn:
      return std::make_unique<QuasiRecurrentCell>(options);
  }
  throw ConfigError("recurrent", "no such cell");
}

}  // namespace bough::nn
