#pragma once

#include "bough/nn/activation_policy.h"
#include "bough/nn/module.h"
#include "bough/ops/matmul.h"

/// The parts that models are made of. Where forward takes an ActivationPolicy, recompute_cheap means that backward
/// computes the result again instead of keeping it; all other policies keep it.
namespace bough::nn {

struct LinearOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  Activation activation = Activation::none;
  double gain = 1;  ///< of the Xavier initialisation; the bias starts at zero
};

/// [..., in] -> [..., out]: activation(x weight^T + bias), one fused product.
class Linear : public Module {
 public:
  explicit Linear(const LinearOptions& options);
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// For linear_parts, which leaves the activation out.
  LinearPart part() const { return {weight, bias}; }

  Tensor weight;  ///< [out, in]
  Tensor bias;    ///< [out], or undefined

 private:
  Activation activation_;
};

struct EmbeddingOptions {
  std::int64_t count = 0;
  std::int64_t dim = 0;
  double standard_deviation = 0;  ///< of the first values; 0 = 1 / sqrt(dim)
  bool sparse_gradient = false;   ///< only rows that were looked up carry a gradient
};

/// Index tensor [...] -> [..., dim], and the output projection tied to the same table.
class Embedding : public Module {
 public:
  explicit Embedding(const EmbeddingOptions& options);
  Tensor forward(const Tensor& index) const;
  /// x [..., dim] -> scores of all entries [..., count]: x weight^T.
  Tensor project(const Tensor& x) const;

  Tensor weight;  ///< [count, dim]

 private:
  bool sparse_gradient_;
};

struct LayerNormOptions {
  std::int64_t dim = 0;
  double epsilon = 1e-5;
};

/// Normalises the last axis to mean 0 and variance 1, then scales and shifts.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const LayerNormOptions& options);
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// norm(x + residual) without storing more than the sum and, unless it is computed again, the result.
  Tensor forward(const Tensor& x, const Tensor& residual, ActivationPolicy policy = ActivationPolicy::save_all) const;

  Tensor weight, bias;  ///< [dim]

 private:
  double epsilon_;
};

/// Sets a share p of the elements to zero and scales up the others; the identity outside training.
class Dropout : public Module {
 public:
  explicit Dropout(double p);
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  bool active() const { return is_training() && p_ > 0; }

 private:
  double p_;
};

struct FeedForwardOptions {
  std::int64_t dim = 0;
  std::int64_t hidden = 0;
  Activation activation = Activation::relu;
  bool bias = true;
  double dropout = 0;
  double output_gain = 1;
};

/// Linear (inner), activation, dropout, Linear (outer), on every row.
class FeedForward : public Module {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// Whether it draws random numbers now.
  bool drops() const { return dropout_.active(); }

  Linear inner, outer;

 private:
  Dropout dropout_;
};

/// sin and cos of position / 10000^(2i/dim), [length, dim].
Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim);

struct LearnedPositionsOptions {
  std::int64_t max_length = 0;
  std::int64_t dim = 0;
  double standard_deviation = 0.02;  ///< of the first values
};

/// A trained vector for each position of a sequence. Where a pattern's relations encode the distance (BPT), none are
/// needed.
class LearnedPositions : public Module {
 public:
  explicit LearnedPositions(const LearnedPositionsOptions& options);
  /// Positions 0 .. length-1: [length, dim], without copying. ConfigError for more than max_length.
  Tensor forward(std::int64_t length) const;
  /// The positions of rows in any order, as in a batch of several sequences: index tensor [...] -> [..., dim].
  Tensor forward(const Tensor& positions) const;

  Tensor weight;  ///< [max_length, dim]
};

}  // namespace bough::nn
