// The program of docs/guide.md, which shows it piece by piece.
#include <bough/bough.h>

#include <filesystem>
#include <iostream>
#include <memory>

namespace {

using namespace bough;

/// The mean of the neighbours' features beside a node's own, through a linear map.
class Neighbourhood : public nn::Module {
 public:
  Neighbourhood(std::int64_t in, std::int64_t out) : own_({.in = in, .out = out}), others_({.in = in, .out = out}) {
    add_module("own", own_);
    add_module("others", others_);
  }

  Tensor forward(const Graph& graph, const Tensor& h) const {
    Frame frame(graph);
    frame.node("h") = h;
    frame.update_all(fn::copy_u("h", "m"), fn::mean("m", "mean"));
    return own_.forward(h) + others_.forward(frame.node("mean"));
  }

 private:
  nn::Linear own_, others_;
};

/// Several of them: a list of layers is a vector of pointers.
class Network : public nn::Module {
 public:
  explicit Network(const std::vector<std::int64_t>& widths) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      layers_.push_back(std::make_unique<Neighbourhood>(widths[i], widths[i + 1]));
      add_module("layer" + std::to_string(i), *layers_.back());
    }
  }

  Tensor forward(const Graph& graph, Tensor h) const {
    for (const auto& layer : layers_) {
      if (layer != layers_.front()) h = relu(h);
      h = layer->forward(graph, h);
    }
    return h;
  }

 private:
  std::vector<std::unique_ptr<Neighbourhood>> layers_;
};

/// Tokens attend to themselves and to so many tokens before them.
class Before final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "before",
            .summary = "the tokens just before",
            .parameters = {integer_parameter("width", "how many", {.initial = 2})}};
  }
  explicit Before(const Settings& settings) : width_(settings.integer("width")) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const auto before = builder.add_relation("before"), self = builder.add_relation("self");
    builder.add_rule([=, this](std::int32_t token, InEdges& in) {
      in.add_interval(std::max<std::int64_t>(0, token - width_), token, before);
      in.add(token, self);
    });
    return builder.build();
  }
  std::int64_t num_relations(std::int64_t) const override { return 2; }

 private:
  std::int64_t width_;
};

void tensors() {
  Tensor w = Tensor::from_vector<float>({1, 2, 3}, {3});
  w.set_requires_grad(true);
  const Tensor loss = sum(square(w) * 0.5);
  loss.backward();
  std::cout << loss.item<float>() << " " << w.grad() << "\n";
}

void graphs() {
  const Graph ring = Graph::from_edges({0, 1, 2, 3}, {1, 2, 3, 0});
  const Graph both_ways = Graph::from_edges({0, 1, 1, 2}, {1, 0, 2, 1}, {.num_nodes = 4}).add_self_loops();
  std::cout << ring << "\n" << both_ways.num_edges() << " edges, node 1 has " << both_ways.in_degrees()[1] << "\n";

  Frame frame(ring);
  frame.node("h") = randn({4, 8});
  frame.edge("weight") = Tensor::from_vector<float>({0.1f, 0.2f, 0.3f, 0.4f}, {4, 1});
  frame.update_all(fn::u_mul_e("h", "weight", "m"), fn::sum("m", "sum"));
  frame.update_all([](const EdgeBatch& e) { return relu(e.src("h") - e.dst("h")); }, fn::max("m", "steepest"));
  std::cout << frame.node("sum").shape() << " " << frame.node("steepest").shape() << "\n";

  const Graph typed = Graph::from_edges({0, 1, 2, 3}, {1, 2, 3, 0}, {.edge_types = {0, 1, 0, 1}});
  const Tensor weights = randn({typed.num_edge_types(), 8, 8});
  Frame relational(typed);
  relational.node("h") = randn({4, 1, 8});
  relational.update_all([&](const EdgeBatch& e) { return matmul(e.src("h"), gather_rows(weights, e.type())); },
                        fn::mean("m", "h"));
  std::cout << relational.node("h").shape() << "\n";
}

void files() {
  const std::string file = (std::filesystem::temp_directory_path() / "bough-guide.npz").string();
  save_npz(file, {{"features", randn({4, 8})}, {"labels", Tensor::from_vector<std::int64_t>({0, 1, 1, 0}, {4})}});
  const NamedTensors data = load_npz(file);
  std::cout << data.at("features").shape() << " " << data.at("labels") << "\n";
  std::filesystem::remove(file);
}

bool training() {
  // Two rings of 20 nodes; each node is to find out from noisy features which ring it is on.
  std::vector<std::int32_t> src, dst, ring;
  for (std::int32_t node = 0; node < 40; ++node) {
    src.push_back(node);
    dst.push_back(node / 20 * 20 + (node + 1) % 20);
    ring.push_back(node / 20);
  }
  const Graph graph = Graph::from_edges(src, dst).add_self_loops();
  const Tensor labels = Tensor::from_vector(ring, {40});
  const Tensor x = randn({40, 8}) + cast(labels, DType::float32).reshape({40, 1});

  Network model({8, 16, 2});
  nn::Adam optimizer(model, {.learning_rate = 0.01});
  for (int step = 0; step < 200; ++step) {
    optimizer.clear_grad();
    cross_entropy(model.forward(graph, x), labels).backward();
    optimizer.step();
  }

  const std::string path = (std::filesystem::temp_directory_path() / "bough-guide.safetensors").string();
  nn::save_checkpoint(path, model);
  Network loaded({8, 16, 2});
  nn::load_checkpoint(path, loaded);
  loaded.eval();
  const NoGrad no_grad;
  const Tensor right = equal(argmax(loaded.forward(graph, x), 1), cast(labels, DType::int64));
  std::cout << sum(cast(right, DType::float32)).item<float>() << " of 40 nodes\n";

  std::filesystem::remove(path);
  return sum(cast(right, DType::float32)).item<float>() > 36;
}

bool transformer() {
  const auto tree = generators().make("bpt", {{"k", 2}});
  const AttentionGraph both = batch({tree->build({.length = 12}), tree->build({.length = 20})});
  const auto options = nn::GraphTransformerOptions::for_graph(
      *tree, 64, {.layers = 2, .layer = {.dim = 16, .heads = 2, .feed_forward = 32}});
  const nn::GraphTransformer encoder(options);
  const auto schedule = nn::make_layer_schedule(both, {.layers = options.layers, .readout = both.readout});
  const Tensor sentences = encoder.forward(schedule, randn({both.num_tokens(), 16}));
  std::cout << sentences.shape() << "\n";
  return sentences.shape() == Shape{2, 16};
}

bool attention_patterns() {
  generators().add<Before>();
  const ExperimentResults results =
      run_experiment({{"graph", {{"kind", "before"}, {"width", 4}}},
                      {"task", {{"length", 32}, {"corpus", {{"kind", "turn_taking"}, {"train_characters", 4000}}}}},
                      {"model", {{"layers", 1}, {"dim", 16}, {"heads", 2}}},
                      {"train", {{"steps", 20}, {"tokens_per_batch", 256}}}});
  for (const RunOutcome& run : results.runs) std::cout << run.name << ": " << run.metric("bpc") << " bits\n";
  return results.failed == 0;
}

}  // namespace

int main() {
  manual_seed(1);
  tensors();
  graphs();
  files();
  const bool trained = training(), read_out = transformer(), compared = attention_patterns();
  return trained && read_out && compared ? 0 : 1;
}
