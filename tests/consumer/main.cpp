#include <bough/bough.h>

#include <cstdio>
#include <exception>

namespace {

/// Two dense layers, as a user would write them.
class Network : public bough::nn::Module {
 public:
  Network() : hidden_({.in = 2, .out = 32, .activation = bough::Activation::gelu}), output_({.in = 32, .out = 1}) {
    add_module("hidden", hidden_);
    add_module("output", output_);
  }

  bough::Tensor forward(const bough::Tensor& x) const { return output_.forward(hidden_.forward(x)); }

 private:
  bough::nn::Linear hidden_, output_;
};

/// Learns the product of two numbers; returns the mean squared error.
double train() {
  bough::manual_seed(1);
  const bough::Tensor x = bough::rand_uniform({256, 2}, -1, 1);
  const bough::Tensor target = bough::prod(x, 1, {.keepdim = true});
  Network network;
  bough::nn::Adam optimizer(network.named_parameters(), {.learning_rate = 1e-2});
  double loss_value = 1;
  for (int step = 0; step < 600; ++step) {
    const bough::Tensor loss = bough::mean(bough::square(network.forward(x) - target));
    loss.backward();
    optimizer.step();
    optimizer.clear_grad();
    loss_value = loss.item<double>();
  }
  return loss_value;
}

/// A language model of one layer for a few steps, without files; returns its bits per character.
double run_small_experiment() {
  const bough::ExperimentResults results = bough::run_experiment(
      {{"task",
        {{"length", 32},
         {"corpus", {{"train_characters", 2000}, {"valid_characters", 300}, {"test_characters", 300}}}}},
       {"model", {{"layers", 1}, {"dim", 16}, {"heads", 2}}},
       {"graph", {{"kind", "bpt"}, {"k", 1}}},
       {"train", {{"steps", 3}, {"tokens_per_batch", 64}}}});
  return results.runs.at(0).metrics.at("bpc");
}

/// Scores of a character model for a whole text and for the same text read step by step; returns how far they differ.
double decode() {
  const bough::CharacterVocabulary vocabulary("abc");
  const auto pattern = bough::generators().make("bpt", {{"k", 1}});
  bough::CharacterModel model({.vocabulary = vocabulary.size(),
                               .transformer = bough::nn::GraphTransformerOptions::for_graph(
                                   *pattern, 5, {.layers = 2, .layer = {.dim = 8, .heads = 2, .feed_forward = 16}})});
  model.eval();
  const std::vector<std::int32_t> text = vocabulary.encode("abcab");
  const bough::NoGrad no_grad;
  const bough::Tensor whole =
      model.forward(bough::TokenGraph(*pattern, 5, 1, 2), bough::Tensor::from_vector(text, {5}));
  bough::CharacterDecoder decoder(model, *pattern, 5);
  bough::Tensor last;
  for (const std::int32_t character : text) last = decoder.read(character);
  return bough::max(bough::abs(whole.rows(4, 5).reshape({3}) - last)).item<double>();
}

}  // namespace

int main() {
  try {
    const double loss = train();
    const double bits = run_small_experiment();
    const double difference = decode();
    std::printf("loss %.6f, %.3f bits per character, decoded to %.1e\n", loss, bits, difference);
    return loss < 1e-3 && bits > 0 && bits < 10 && difference < 1e-4 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
