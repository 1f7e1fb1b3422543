#pragma once

#include <cstdint>
#include <functional>

#include "bough/core/tensor.h"

/// A task that needs no files: tell apart the arms of spirals that are wound into each other.
namespace bough::spirals {

struct Points {
  Tensor positions;  ///< float32 [N, 2], within [-1.1, 1.1]
  Tensor arms;       ///< int64 [N]
};

constexpr std::int64_t num_arms = 3;

/// N = num_arms * points_per_arm points with a little noise; the same for the same stream, whatever else is random.
Points make_points(std::int64_t points_per_arm, std::uint64_t seed, std::uint64_t stream);

struct Progress {
  std::int64_t step = 0;  ///< counts from 1
  std::int64_t steps = 0;
  double loss = 0;
};

struct Options {
  std::int64_t steps = 500;
  std::uint64_t seed = 1;
  std::function<void(const Progress&)> on_step = [](const Progress&) {};
};

struct Outcome {
  std::int64_t parameters = 0;
  std::int64_t train_points = 0, test_points = 0;
  double test_loss = 0;
  double test_accuracy = 0;  ///< of 1, on points that training has not seen
  double train_seconds = 0;
};

/// Trains three dense layers with Adam, all points in every step. The same numbers for any number of threads.
/// ConfigError unless there is at least one step.
Outcome train(const Options& options);

}  // namespace bough::spirals
