// Two communities, one labelled member each: a graph convolution finds out who belongs where.
#include <bough/bough.h>

#include <cmath>
#include <cstdio>

using bough::Graph;
using bough::Tensor;

namespace {

constexpr std::int32_t members = 40;  // of each community

/// Friends are likely inside a community, rare across. Edges go both ways, and every member has an edge to itself.
Graph two_communities() {
  const bough::RandomStream random{7, 0};
  std::vector<std::int32_t> src, dst;
  std::uint64_t draw = 0;
  for (std::int32_t a = 0; a < 2 * members; ++a) {
    for (std::int32_t b = 0; b < a; ++b) {
      const float likelihood = (a < members) == (b < members) ? 0.3f : 0.02f;
      if (bough::uniform_float(random(draw++)) >= likelihood) continue;
      src.insert(src.end(), {a, b});
      dst.insert(dst.end(), {b, a});
    }
  }
  return Graph::from_edges(std::move(src), std::move(dst), {.num_nodes = 2 * members}).add_self_loops();
}

/// Kipf and Welling's layer: features of friends, weighted by 1 / sqrt(degree of both), then a linear map.
class GraphConvolution : public bough::nn::Module {
 public:
  GraphConvolution(std::int64_t in, std::int64_t out) : linear_({.in = in, .out = out}) {
    add_module("linear", linear_);
  }

  Tensor forward(const Graph& graph, const Tensor& edge_weight, const Tensor& features) const {
    return bough::gspmm(graph, bough::BinaryOp::mul, bough::ReduceOp::sum, linear_.forward(features), edge_weight);
  }

 private:
  bough::nn::Linear linear_;
};

class Network : public bough::nn::Module {
 public:
  explicit Network(std::int64_t nodes) : first_(nodes, 16), second_(16, 2) {
    add_module("first", first_);
    add_module("second", second_);
  }
  Tensor forward(const Graph& graph, const Tensor& edge_weight, const Tensor& features) const {
    return second_.forward(graph, edge_weight, bough::relu(first_.forward(graph, edge_weight, features)));
  }

 private:
  GraphConvolution first_, second_;
};

Tensor symmetric_weights(const Graph& graph) {
  std::vector<float> scale;
  for (const std::int64_t degree : graph.in_degrees()) scale.push_back(1 / std::sqrt(static_cast<float>(degree)));
  const Tensor node_scale = Tensor::from_vector(scale, {graph.num_nodes(), 1});
  return bough::gsddmm(graph, bough::BinaryOp::mul, node_scale, node_scale);
}

}  // namespace

int main() {
  bough::manual_seed(1);
  const Graph graph = two_communities();
  const std::int64_t nodes = graph.num_nodes();
  const Tensor weights = symmetric_weights(graph);

  std::vector<float> identity(static_cast<std::size_t>(nodes * nodes), 0);  // nothing is known but who is who
  for (std::int64_t node = 0; node < nodes; ++node) identity[static_cast<std::size_t>(node * nodes + node)] = 1;
  const Tensor features = Tensor::from_vector(identity, {nodes, nodes});
  constexpr std::int32_t unknown = -100;
  std::vector<std::int32_t> known(static_cast<std::size_t>(nodes), unknown);
  known.front() = 0;
  known.back() = 1;
  const Tensor labels = Tensor::from_vector(known, {nodes});

  Network network(nodes);
  bough::nn::Adam adam(network.named_parameters(), {.learning_rate = 0.02});
  for (int step = 1; step <= 60; ++step) {
    const Tensor loss = bough::cross_entropy(network.forward(graph, weights, features), labels);
    adam.clear_grad();
    loss.backward();
    adam.step();
    if (step % 20 == 0) std::printf("step %d: loss %.4f\n", step, loss.item<double>());
  }

  const std::vector<std::int64_t> found =
      bough::argmax(network.forward(graph, weights, features), 1).to_vector<std::int64_t>();
  std::int64_t right = 0;
  for (std::int64_t node = 0; node < nodes; ++node) {
    right += found[static_cast<std::size_t>(node)] == (node < members ? 0 : 1) ? 1 : 0;
  }
  std::printf("%lld of %lld members found, from 2 labels\n", static_cast<long long>(right),
              static_cast<long long>(nodes));
  return right == nodes ? 0 : 1;
}
