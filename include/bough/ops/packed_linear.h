#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bough/ops/matmul.h"

namespace bough {

struct PackedWeights;

/// Dense layers of the same input for decoding: the same layers again and again, with few rows each time.
///
/// On the CPU weights are laid out once in the order in which products read them, which linear does in each call: up
/// to 3 times as fast for a few rows, a tenth faster for a hundred. Takes the memory of the weights once more. Results
/// have the bits of linear. Without gradient.
///
///     PackedLinear project({{embedding.weight}});
///     const Tensor scores = project.forward(states);  // [rows, vocabulary]
class PackedLinear {
 public:
  /// No layer; only assignment is allowed.
  PackedLinear() = default;
  /// At least one part, all of the same input width, type and device; float32 or float64. ShapeError as linear_parts.
  explicit PackedLinear(std::vector<LinearPart> parts, Activation activation = Activation::none);

  /// x [rows, in] -> the results of all parts side by side, [rows, sum of out]. Weights that were written to since the
  /// last call (by an optimizer, or a checkpoint that was loaded) are laid out anew; a call that does so is not to run
  /// beside others.
  Tensor forward(const Tensor& x);

  /// The width of the result.
  std::int64_t out() const { return out_; }

 private:
  std::vector<std::uint64_t> versions() const;
  void pack();

  std::vector<LinearPart> parts_;
  Activation activation_ = Activation::none;
  std::int64_t in_ = 0, out_ = 0;
  std::shared_ptr<const PackedWeights> packed_;  ///< on the CPU
  Tensor weight_, bias_;                         ///< of all parts; the weight elsewhere only
  std::vector<std::uint64_t> packed_versions_;
};

}  // namespace bough
