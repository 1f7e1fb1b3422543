// A child-sum Tree-LSTM (Tai et al.) reads logical formulas from their leaves to the root, level by level, and learns
// to tell whether they are true. All trees of the batch run together: prop_nodes over the topological levels.
#include <bough/bough.h>

#include <cstdio>

using bough::Fields;
using bough::Graph;
using bough::Tensor;

namespace {

enum Symbol : std::int32_t { no, yes, both, either, symbols };

/// Random formulas over true and false with "and" and "or"; edges go from the parts to the whole.
struct Formulas {
  Graph graph;
  Tensor symbols;  ///< of each node
  Tensor truth;    ///< of each node
};

class FormulaWriter {
 public:
  explicit FormulaWriter(std::uint64_t seed) : random_{seed, 0} {}

  std::int32_t write(int depth) {
    const auto node = static_cast<std::int32_t>(symbols_.size());
    symbols_.push_back(0);
    truth_.push_back(0);
    const auto place = static_cast<std::size_t>(node);
    if (depth == 0 || next(6) == 0) {
      symbols_[place] = truth_[place] = static_cast<std::int32_t>(next(2));
      return node;
    }
    const bool conjunction = next(2) == 0;
    std::int32_t truth = conjunction ? 1 : 0;
    for (std::uint32_t part = 0, parts = 2 + next(2); part < parts; ++part) {
      const std::int32_t child = write(depth - 1);
      src_.push_back(child);
      dst_.push_back(node);
      const std::int32_t value = truth_[static_cast<std::size_t>(child)];
      truth = conjunction ? truth & value : truth | value;
    }
    symbols_[place] = conjunction ? both : either;
    truth_[place] = truth;
    return node;
  }

  Formulas finish() const {
    const auto nodes = static_cast<std::int64_t>(symbols_.size());
    return {Graph::from_edges(src_, dst_, {.num_nodes = nodes}), Tensor::from_vector(symbols_, {nodes}),
            Tensor::from_vector(truth_, {nodes})};
  }

 private:
  std::uint32_t next(std::uint32_t below) { return random_(draw_++) % below; }

  bough::RandomStream random_;
  std::uint64_t draw_ = 0;
  std::vector<std::int32_t> src_, dst_, symbols_, truth_;
};

Formulas write_formulas(std::uint64_t seed, int count) {
  FormulaWriter writer(seed);
  for (int i = 0; i < count; ++i) writer.write(4);
  return writer.finish();
}

class TreeLstm : public bough::nn::Module {
 public:
  explicit TreeLstm(std::int64_t width)
      : embed_({.count = symbols, .dim = width}),
        gates_({.in = 2 * width, .out = 3 * width}),
        forget_from_input_({.in = width, .out = width}),
        forget_from_child_({.in = width, .out = width, .bias = false}),
        output_({.in = width, .out = 2}),
        width_(width) {
    add_module("embed", embed_);
    add_module("gates", gates_);
    add_module("forget_from_input", forget_from_input_);
    add_module("forget_from_child", forget_from_child_);
    add_module("output", output_);
  }

  /// Scores of false and true for every node.
  Tensor forward(const Formulas& formulas) const {
    bough::Frame frame(formulas.graph);
    const std::int64_t nodes = formulas.graph.num_nodes();
    frame.node("x") = embed_.forward(formulas.symbols);
    frame.node("h") = bough::zeros({nodes, width_});
    frame.node("c") = bough::zeros({nodes, width_});
    frame.node("forget") = forget_from_input_.forward(frame.node("x"));
    // Each child sends its state and what its parent keeps of its memory.
    const auto message = [&](const bough::EdgeBatch& e) {
      const Tensor keep = bough::sigmoid(e.dst("forget") + forget_from_child_.forward(e.src("h")));
      return Fields{{"h", e.src("h")}, {"c", keep * e.src("c")}};
    };
    const auto reduce = [](const bough::Mailbox& m) {
      return Fields{{"h_sum", bough::sum(m.messages("h"), 1)}, {"c_sum", bough::sum(m.messages("c"), 1)}};
    };
    const auto apply = [&](const bough::NodeBatch& n) {
      const Tensor gates = gates_.forward(bough::concatenate({n.node("x"), n.node("h_sum")}, 1));
      const std::vector<Tensor> parts = bough::split(gates, 1, {width_, width_, width_});
      const Tensor c = bough::sigmoid(parts[0]) * bough::tanh(parts[1]) + n.node("c_sum");
      return Fields{{"c", c}, {"h", bough::sigmoid(parts[2]) * bough::tanh(c)}};
    };
    frame.prop_nodes(bough::topological_levels(formulas.graph), message, reduce, "", apply);
    return output_.forward(frame.node("h"));
  }

 private:
  bough::nn::Embedding embed_;
  bough::nn::Linear gates_, forget_from_input_, forget_from_child_, output_;
  std::int64_t width_;
};

double accuracy(const TreeLstm& model, const Formulas& formulas) {
  const std::vector<int> found = bough::argmax(model.forward(formulas), 1).to_vector<int>();
  const std::vector<int> truth = formulas.truth.to_vector<int>();
  double right = 0;
  for (std::size_t node = 0; node < found.size(); ++node) right += found[node] == truth[node] ? 1 : 0;
  return right / static_cast<double>(found.size());
}

}  // namespace

int main() {
  bough::manual_seed(5);
  const Formulas train = write_formulas(1, 40), test = write_formulas(2, 40);
  TreeLstm model(16);
  bough::nn::Adam adam(model.named_parameters(), {.learning_rate = 0.02});
  for (int step = 1; step <= 80; ++step) {
    const Tensor loss = bough::cross_entropy(model.forward(train), train.truth);
    adam.clear_grad();
    loss.backward();
    adam.step();
    if (step % 20 == 0) std::printf("step %d: loss %.4f\n", step, loss.item<double>());
  }
  const double share = accuracy(model, test);
  std::printf("%.1f%% of the parts of new formulas judged right\n", 100 * share);
  return share > 0.97 ? 0 : 1;
}
