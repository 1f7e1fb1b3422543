#pragma once

#include <cstdint>
#include <vector>

#include "bough/core/tensor.h"

/// Operations that move elements without changing them. They take every element type, copy (a Tensor is always
/// contiguous; reshape and rows are the ones that do not), cost one read and one write of the result, and run in
/// parallel. Negative axes count from the end. Gradients move the other way.
namespace bough {

/// Puts tensors one after the other along an axis; they agree in type, device and all other extents.
/// At least one tensor; extents of 0 along the axis are fine.
Tensor concatenate(const std::vector<Tensor>& tensors, int axis);

/// Puts tensors of equal shape side by side along a new axis, which becomes axis `axis` of the result.
Tensor stack(const std::vector<Tensor>& tensors, int axis);

/// Elements begin, begin+step, ... before end of an axis. Negative begin and end count from the end of the axis; after
/// that 0 <= begin <= end <= extent must hold, and step >= 1. Gradient: zeros elsewhere.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);

/// Splits an axis into parts of the given sizes, which add up to its extent: the reverse of concatenate.
std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<std::int64_t>& sizes);

/// The axis `times` times over: repeat([a, b], 0, 2) is [a, b, a, b]. Gradient: summed. To repeat single elements, or
/// along a new axis, reshape and broadcast_to.
Tensor repeat(const Tensor& x, int axis, std::int64_t times);

/// Axis i of the result is axis axes[i] of x; axes names each axis once.
Tensor permute(const Tensor& x, const std::vector<int>& axes);

/// Exchanges two axes.
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);

}  // namespace bough
