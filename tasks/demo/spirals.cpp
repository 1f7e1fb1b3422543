#include "tasks/demo/spirals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/nn/module.h"
#include "bough/nn/optimizer.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/matmul.h"

namespace bough::spirals {
namespace {

constexpr std::int64_t hidden = 64;
constexpr std::int64_t train_points_per_arm = 700;
constexpr std::int64_t test_points_per_arm = 300;

class Classifier : public nn::Module {
 public:
  Classifier() {
    make_layer("first", first_, 2, hidden);
    make_layer("second", second_, hidden, hidden);
    make_layer("last", last_, hidden, num_arms);
  }

  /// [N, 2] -> scores of the arms [N, num_arms].
  Tensor forward(const Tensor& positions) const {
    const Tensor near = linear(positions, first_.weight, first_.bias, Activation::gelu);
    const Tensor far = linear(near, second_.weight, second_.bias, Activation::gelu);
    return linear(far, last_.weight, last_.bias);
  }

 private:
  struct Layer {
    Tensor weight, bias;
  };

  void make_layer(const std::string& name, Layer& layer, std::int64_t in, std::int64_t out) {
    const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
    layer = {rand_uniform({out, in}, -bound, bound), zeros({out})};
    add_parameter(name + "_weight", layer.weight);
    add_parameter(name + "_bias", layer.bias);
  }

  Layer first_, second_, last_;
};

double accuracy(const Tensor& scores, const Tensor& arms) {
  const std::span<const float> score = scores.span<float>();
  const std::span<const std::int64_t> arm = arms.span<std::int64_t>();
  std::size_t right = 0;
  for (std::size_t i = 0; i < arm.size(); ++i) {
    const auto row = score.subspan(i * num_arms, num_arms);
    right += std::ranges::max_element(row) - row.begin() == arm[i];
  }
  return static_cast<double>(right) / static_cast<double>(arm.size());
}

}  // namespace

Points make_points(std::int64_t points_per_arm, std::uint64_t seed, std::uint64_t stream) {
  const RandomStream random{seed, stream};
  const std::int64_t count = num_arms * points_per_arm;
  Points points{Tensor::empty({count, 2}), Tensor::empty({count}, DType::int64)};
  const std::span<float> positions = points.positions.span<float>();
  const std::span<std::int64_t> arms = points.arms.span<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = random.block(static_cast<std::uint64_t>(i));
    const std::int64_t arm = i % num_arms;
    const float radius = 0.05f + 0.95f * uniform_float(bits[0]);
    const float turn = 1.5f * radius + static_cast<float>(arm) / num_arms;
    const float angle = 2 * std::numbers::pi_v<float> * turn;
    positions[2 * i] = radius * std::cos(angle) + 0.05f * (uniform_float(bits[1]) - 0.5f);
    positions[2 * i + 1] = radius * std::sin(angle) + 0.05f * (uniform_float(bits[2]) - 0.5f);
    arms[i] = arm;
  }
  return points;
}

Outcome train(const Options& options) {
  if (options.steps < 1) throw ConfigError("steps", fmt::format("must be at least 1, not {}", options.steps));
  manual_seed(options.seed);
  const Points known = make_points(train_points_per_arm, options.seed, 0);
  const Points unseen = make_points(test_points_per_arm, options.seed, 1);
  Classifier classifier;
  nn::Adam optimizer(classifier.named_parameters(), {.learning_rate = 5e-3});

  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Tensor loss = cross_entropy(classifier.forward(known.positions), known.arms);
    loss.backward();
    optimizer.step();
    optimizer.clear_grad();
    options.on_step({step, options.steps, loss.item<double>()});
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const NoGrad no_grad;
  const Tensor scores = classifier.forward(unseen.positions);
  return {.parameters = classifier.parameter_count(),
          .train_points = known.arms.elements(),
          .test_points = unseen.arms.elements(),
          .test_loss = cross_entropy(scores, unseen.arms).item<double>(),
          .test_accuracy = accuracy(scores, unseen.arms),
          .train_seconds = seconds.count()};
}

}  // namespace bough::spirals
