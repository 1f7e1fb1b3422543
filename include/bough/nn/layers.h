#pragma once

#include "bough/nn/activation_policy.h"
#include "bough/nn/module.h"
#include "bough/ops/matmul.h"

/// The parts that models are made of. Where forward takes an ActivationPolicy, recompute_cheap means that backward
/// computes the result again instead of keeping it; all other policies keep it.
namespace bough::nn {

/// Options of Linear.
struct LinearOptions {
  std::int64_t in = 0;                       ///< width of the input
  std::int64_t out = 0;                      ///< width of the result
  bool bias = true;                          ///< whether there is one
  Activation activation = Activation::none;  ///< applied to the sums
  double gain = 1;                           ///< of the Xavier initialisation; the bias starts at zero
};

/// [..., in] -> [..., out]: activation(x weight^T + bias), one fused product.
class Linear : public Module {
 public:
  /// Makes the parameters.
  explicit Linear(const LinearOptions& options);
  /// activation(x weight^T + bias).
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// What linear_parts takes, which leaves the activation out.
  LinearPart part() const { return {weight, bias}; }

  Tensor weight;  ///< [out, in]
  Tensor bias;    ///< [out], or undefined

 private:
  Activation activation_;
};

/// Options of Embedding.
struct EmbeddingOptions {
  std::int64_t count = 0;         ///< entries of the table
  std::int64_t dim = 0;           ///< width of an entry
  double standard_deviation = 0;  ///< of the first values; 0 = 1 / sqrt(dim)
  bool sparse_gradient = false;   ///< only rows that were looked up carry a gradient
};

/// Index tensor [...] -> [..., dim], and the output projection tied to the same table.
class Embedding : public Module {
 public:
  /// Makes the table.
  explicit Embedding(const EmbeddingOptions& options);
  /// The entries looked up.
  Tensor forward(const Tensor& index) const;
  /// x [..., dim] -> scores of all entries [..., count]: x weight^T.
  Tensor project(const Tensor& x) const;

  Tensor weight;  ///< [count, dim]

 private:
  bool sparse_gradient_;
};

/// Options of LayerNorm.
struct LayerNormOptions {
  std::int64_t dim = 0;   ///< width of the last axis
  double epsilon = 1e-5;  ///< added to the variance
};

/// Normalises the last axis to mean 0 and variance 1, then scales and shifts.
class LayerNorm : public Module {
 public:
  /// Weight starts at 1, bias at 0.
  explicit LayerNorm(const LayerNormOptions& options);
  /// norm(x).
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// norm(x + residual) without storing more than the sum and, unless it is computed again, the result.
  Tensor forward(const Tensor& x, const Tensor& residual, ActivationPolicy policy = ActivationPolicy::save_all) const;

  /// [dim]
  Tensor weight, bias;

 private:
  double epsilon_;
};

/// Sets a share p of the elements to zero and scales up the others; the identity outside training.
class Dropout : public Module {
 public:
  /// p in [0, 1).
  explicit Dropout(double p);
  /// x itself outside training.
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// Whether forward drops anything now.
  bool active() const { return is_training() && p_ > 0; }

 private:
  double p_;
};

/// Options of FeedForward.
struct FeedForwardOptions {
  std::int64_t dim = 0;                      ///< width of input and result
  std::int64_t hidden = 0;                   ///< width in between
  Activation activation = Activation::relu;  ///< in between
  bool bias = true;                          ///< of both layers
  double dropout = 0;                        ///< after the activation
  double output_gain = 1;                    ///< of the second layer's initialisation
};

/// Linear (inner), activation, dropout, Linear (outer), on every row.
class FeedForward : public Module {
 public:
  /// Makes the parameters.
  explicit FeedForward(const FeedForwardOptions& options);
  /// [..., dim] -> [..., dim].
  Tensor forward(const Tensor& x, ActivationPolicy policy = ActivationPolicy::save_all) const;
  /// Whether it draws random numbers now.
  bool drops() const { return dropout_.active(); }

  Linear inner;  ///< to the hidden width
  Linear outer;  ///< and back

 private:
  Dropout dropout_;
};

}  // namespace bough::nn
