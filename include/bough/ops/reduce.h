#pragma once

#include <initializer_list>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// The axes a reduction runs over: one, or several in any order. Negative ones count from the end.
class Axes {
 public:
  /// One axis, or several.
  Axes(int axis) : axes_{axis} {}
  Axes(std::initializer_list<int> axes) : axes_(axes) {}
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}

  /// The axes as they were given.
  const std::vector<int>& list() const { return axes_; }

 private:
  std::vector<int> axes_;
};

/// Options of reductions over axes.
struct ReduceOptions {
  bool keepdim = false;  ///< keep reduced axes, with extent 1
};

/// Reductions over all elements (result of rank 0) or over axes; an empty list of axes reduces nothing.
///
/// float32, float64, int32 and int64; the result has the type of x, and integers wrap around. ShapeError for an axis
/// that does not exist or is named twice. Over no elements: sum 0, prod 1; mean, max, min and argmax are a ShapeError.
///
/// Bitwise equal for any number of threads: fixed blocks, merged in order. float32 is summed in chains of at most 64
/// additions, and these in float64: the error is at most about 5e-6 of sum |x|, and near 1e-7 of it in practice.
/// O(elements), at the speed of memory.

Tensor sum(const Tensor& x);  ///< keeps nothing for backward
/// Over some axes.
Tensor sum(const Tensor& x, const Axes& axes, const ReduceOptions& options = {});
/// float32 and float64 only.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Axes& axes, const ReduceOptions& options = {});
/// The gradient is right also where elements are 0; its loop over one long row is serial. Keeps x.
Tensor prod(const Tensor& x);
Tensor prod(const Tensor& x, const Axes& axes, const ReduceOptions& options = {});

/// NaN if any is NaN. Of equal elements the first, in row-major order, gets the gradient. Keep one position an element
/// of the result.
Tensor max(const Tensor& x);
Tensor max(const Tensor& x, const Axes& axes, const ReduceOptions& options = {});
Tensor min(const Tensor& x);
Tensor min(const Tensor& x, const Axes& axes, const ReduceOptions& options = {});

/// Position of the largest element, int64: the first of equals, the first NaN if there is one. Without an axis it
/// counts in row-major order.
Tensor argmax(const Tensor& x);
Tensor argmax(const Tensor& x, int axis, const ReduceOptions& options = {});

/// Repeats x along axes of extent 1 and new leading ones until it has the given shape. Every type. Gradient: summed
/// back. ShapeError if x does not broadcast to the shape.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Sums over the axes along which `shape` would be broadcast to that of x: the gradient of broadcast_to.
/// ShapeError if it would not.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace bough
