// A graph attention layer (Velickovic et al.) that learns to listen to the one neighbour that carries a mark.
#include <bough/bough.h>

#include <cstdio>

namespace fn = bough::fn;
using bough::Graph;
using bough::Tensor;

namespace {

constexpr std::int64_t nodes = 200, degree = 6, heads = 2, width = 8;

class GraphAttentionLayer : public bough::nn::Module {
 public:
  GraphAttentionLayer(std::int64_t in, std::int64_t num_heads, std::int64_t head_width)
      : heads_(num_heads),
        width_(head_width),
        project_({.in = in, .out = num_heads * head_width, .bias = false}),
        attend_source_(bough::nn::xavier_uniform({num_heads, head_width})),
        attend_destination_(bough::nn::xavier_uniform({num_heads, head_width})) {
    add_module("project", project_);
    add_parameter("attend_source", attend_source_);
    add_parameter("attend_destination", attend_destination_);
  }

  Tensor forward(const Graph& graph, const Tensor& x) const {
    bough::Frame frame(graph);
    const Tensor h = project_.forward(x).reshape({x.size(0), heads_, width_});
    frame.node("h") = h;
    frame.node("from") = bough::sum(h * attend_source_, -1, {.keepdim = true});  // [nodes, heads, 1]
    frame.node("to") = bough::sum(h * attend_destination_, -1, {.keepdim = true});
    frame.apply_edges(fn::u_add_v("from", "to", "score"));
    frame.edge("a") = bough::edge_softmax(graph, bough::leaky_relu(frame.edge("score"), {.slope = 0.2}));
    frame.update_all(fn::u_mul_e("h", "a", "m"), fn::sum("m", "out"));
    return frame.node("out").reshape({x.size(0), heads_ * width_});
  }

 private:
  std::int64_t heads_, width_;
  bough::nn::Linear project_;
  Tensor attend_source_, attend_destination_;
};

class Network : public bough::nn::Module {
 public:
  Network() : layer_(3, heads, width), output_({.in = heads * width, .out = 2}) {
    add_module("layer", layer_);
    add_module("output", output_);
  }
  Tensor forward(const Graph& graph, const Tensor& x) const { return output_.forward(layer_.forward(graph, x)); }

 private:
  GraphAttentionLayer layer_;
  bough::nn::Linear output_;
};

/// Every node has in-edges from `degree` senders of its own; one of them is marked, and its bit is the answer.
struct Task {
  Graph graph;
  Tensor features;  // [nodes + senders, 3]: bit 0, bit 1, mark
  Tensor answers;   // [nodes + senders], -100 for senders
};

Task make_task(std::uint64_t seed) {
  const bough::RandomStream random{seed, 0};
  constexpr std::int64_t senders = nodes * degree;
  std::vector<std::int32_t> src, dst, answers(nodes + senders, -100);
  std::vector<float> features((nodes + senders) * 3, 0);
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int64_t marked = random(static_cast<std::uint64_t>(node)) % degree;
    for (std::int64_t i = 0; i < degree; ++i) {
      const std::int64_t sender = nodes + node * degree + i;
      const std::uint32_t bit = random(static_cast<std::uint64_t>(sender)) % 2;
      src.push_back(static_cast<std::int32_t>(sender));
      dst.push_back(static_cast<std::int32_t>(node));
      features[static_cast<std::size_t>(sender * 3 + bit)] = 1;
      if (i != marked) continue;
      features[static_cast<std::size_t>(sender * 3 + 2)] = 1;
      answers[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(bit);
    }
  }
  return {Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = nodes + senders}),
          Tensor::from_vector(features, {nodes + senders, 3}), Tensor::from_vector(answers, {nodes + senders})};
}

double accuracy(const Network& network, const Task& task) {
  const std::vector<std::int64_t> found =
      bough::argmax(network.forward(task.graph, task.features), 1).to_vector<std::int64_t>();
  const std::vector<std::int64_t> answers = task.answers.to_vector<std::int64_t>();
  double right = 0;
  for (std::size_t node = 0; node < nodes; ++node) right += found[node] == answers[node] ? 1 : 0;
  return right / nodes;
}

}  // namespace

int main() {
  bough::manual_seed(3);
  const Task train = make_task(1), test = make_task(2);
  Network network;
  bough::nn::Adam adam(network.named_parameters(), {.learning_rate = 0.02});
  for (int step = 1; step <= 300; ++step) {
    const Tensor loss = bough::cross_entropy(network.forward(train.graph, train.features), train.answers);
    adam.clear_grad();
    loss.backward();
    adam.step();
    if (step % 100 == 0) std::printf("step %d: loss %.4f\n", step, loss.item<double>());
  }
  const double share = accuracy(network, test);
  std::printf("%.1f%% of new nodes answered right; without attention it would be about 65%%\n", 100 * share);
  return share > 0.98 ? 0 : 1;
}
