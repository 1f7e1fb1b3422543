#pragma once

#include <functional>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::reference {

/// Position in row-major order of each axis of element `index`.
inline std::vector<std::int64_t> position_of(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> position(shape.rank());
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return position;
}

/// Which element of an operand stands at a position of the broadcast result.
inline std::int64_t broadcast_index(const std::vector<std::int64_t>& position, const Shape& operand) {
  std::int64_t index = 0;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    const std::int64_t at = position[position.size() - operand.rank() + axis];
    index = index * operand[axis] + (operand[axis] == 1 ? 0 : at);
  }
  return index;
}

/// f of each element, in float64.
inline Tensor unary(const Tensor& x, const std::function<double(double)>& f) {
  std::vector<double> values = x.to_vector<double>();
  for (double& value : values) value = f(value);
  return Tensor::from_vector(values, x.shape());
}

/// f of two broadcast tensors, in float64.
inline Tensor binary(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& f) {
  const Shape shape = broadcast_shapes("reference", a.shape(), b.shape());
  const std::vector<double> left = a.to_vector<double>(), right = b.to_vector<double>();
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::vector<std::int64_t> position = position_of(i, shape);
    values.push_back(f(left[broadcast_index(position, a.shape())], right[broadcast_index(position, b.shape())]));
  }
  return Tensor::from_vector(values, shape);
}

/// Folds x into `result`, a shape that broadcasts to that of x, in row-major order and float64.
inline Tensor reduce(const Tensor& x, const Shape& result, double start,
                     const std::function<double(double, double)>& f) {
  const std::vector<double> elements = x.to_vector<double>();
  std::vector<double> values(static_cast<std::size_t>(result.elements()), start);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    double& value = values[broadcast_index(position_of(i, x.shape()), result)];
    value = f(value, elements[i]);
  }
  return Tensor::from_vector(values, result);
}

}  // namespace bough::reference
