// Classifies texts of different length: a partition tree over the words, of which the root is read out. Texts run in
// batches, and the trained model goes to a checkpoint and comes back.
#include <bough/bough.h>

#include <cstdio>
#include <filesystem>

namespace nn = bough::nn;
using bough::Tensor;

namespace {

constexpr std::int64_t shortest = 4, longest = 32, layers = 2, width = 32, texts_of_a_batch = 32;

enum Word : std::int32_t { filler, good, bad, reversed, words };

/// A text is liked if it has more good words than bad ones, where "reversed" turns the word after it around.
struct Review {
  std::vector<std::int32_t> text;
  std::int32_t liked = 0;
};

Review write_review(const bough::RandomStream& random, std::uint64_t number) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    std::uint64_t draw = (number * 64 + attempt) * (longest + 1);
    Review review;
    std::int64_t balance = 0, sign = 1;
    for (std::int64_t left = shortest + random(draw++) % (longest - shortest + 1); left > 0; --left) {
      const auto word = static_cast<std::int32_t>(random(draw++) % words);
      balance += word == good ? sign : word == bad ? -sign : 0;
      sign = word == reversed ? -1 : 1;
      review.text.push_back(word);
    }
    review.liked = balance > 0 ? 1 : 0;
    if (balance != 0) return review;
  }
}

/// Texts side by side: one graph, prepared for the model, and the words of all of them.
struct Batch {
  nn::LayerSchedule schedule;
  Tensor text;   ///< [words of all texts]
  Tensor liked;  ///< [texts]
};

Batch make_batch(const bough::GraphGenerator& pattern, const bough::RandomStream& random, std::uint64_t number) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int32_t> text, liked;
  for (std::uint64_t i = 0; i < texts_of_a_batch; ++i) {
    const Review review = write_review(random, number * texts_of_a_batch + i);
    lengths.push_back(std::ssize(review.text));
    text.insert(text.end(), review.text.begin(), review.text.end());
    liked.push_back(review.liked);
  }
  const bough::AttentionGraph graph = bough::build_batch(pattern, lengths, false);
  // graph.readout has the root of each text; without it the model would give a row for each word.
  return {nn::make_layer_schedule(graph, {.layers = layers, .readout = graph.readout}),
          Tensor::from_vector(text, {std::ssize(text)}), Tensor::from_vector(liked, {texts_of_a_batch})};
}

class Classifier : public nn::Module {
 public:
  explicit Classifier(const bough::GraphGenerator& pattern)
      : embedding_({.count = words, .dim = width}),
        transformer_(nn::GraphTransformerOptions::for_graph(
            pattern, longest,
            {.layers = layers, .layer = {.dim = width, .heads = 4, .feed_forward = 2 * width, .pre_norm = true}})),
        output_({.in = width, .out = 2}) {
    add_module("embedding", embedding_);
    add_module("transformer", transformer_);
    add_module("output", output_);
  }

  /// Scores of "not liked" and "liked", [texts, 2].
  Tensor forward(const Batch& batch) const {
    return output_.forward(transformer_.forward(batch.schedule, embedding_.forward(batch.text)));
  }

 private:
  nn::Embedding embedding_;
  nn::GraphTransformer transformer_;
  nn::Linear output_;
};

}  // namespace

int main(int argc, char** argv) {
  bough::manual_seed(1);
  const auto pattern = bough::generators().make("bpt", {{"k", 2}});
  const bough::RandomStream training_texts{1, 0}, test_texts{2, 0};

  Classifier model(*pattern);
  nn::Adam adam(model.named_parameters(), {.learning_rate = 2e-3, .clip_norm = 1});
  for (std::uint64_t step = 1; step <= 600; ++step) {
    const Batch batch = make_batch(*pattern, training_texts, step);
    const Tensor loss = bough::cross_entropy(model.forward(batch), batch.liked);
    adam.clear_grad();
    loss.backward();
    adam.step();
    if (step % 200 == 0) std::printf("step %d: loss %.4f\n", static_cast<int>(step), loss.item<double>());
  }

  const std::string path =
      argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "bough_classification.safetensors").string();
  nn::save_checkpoint(path, model);
  Classifier loaded(*pattern);
  nn::load_checkpoint(path, loaded);
  model.eval();
  loaded.eval();

  const bough::NoGrad no_grad;
  double right = 0, texts = 0;
  bool same = true;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Batch batch = make_batch(*pattern, test_texts, i);
    const Tensor scores = loaded.forward(batch);
    same &= scores.to_vector<float>() == model.forward(batch).to_vector<float>();
    const std::vector<int> found = bough::argmax(scores, 1).to_vector<int>(), liked = batch.liked.to_vector<int>();
    for (std::size_t text = 0; text < found.size(); ++text) right += found[text] == liked[text] ? 1 : 0;
    texts += static_cast<double>(found.size());
  }
  std::printf("%.1f%% of new texts judged right, by the model from the checkpoint%s\n", 100 * right / texts,
              same ? "" : ", which differs from the trained one");
  return same && right > 0.95 * texts ? 0 : 1;
}
