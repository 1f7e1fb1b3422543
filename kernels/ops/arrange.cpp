#include "bough/ops/arrange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/ops/reduce.h"
#include "kernels/cpu/strided_copy.h"
#include "kernels/cuda/strided_copy.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

using Strides = std::array<std::int64_t, Shape::max_rank>;

Strides strides_of(const Shape& shape) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// Moves elements from source + source_begin to target + target_begin.
void move_elements(const StridedMove& move, const Tensor& source, std::int64_t source_begin, Tensor& target,
                   std::int64_t target_begin) {
  with_backend(source, [&](auto backend) {
    visit_dtype(source.dtype(), [&]<typename T>(TypeTag<T>) {
      strided_copy(backend, move, device_data<T>(source) + source_begin, device_data<T>(target) + target_begin);
    });
  });
}

/// A part of an axis: every step-th of its elements from `begin`, `extent` of them.
struct AxisPart {
  int axis = 0;
  std::int64_t begin = 0;
  std::int64_t extent = 0;
  std::int64_t step = 1;
};

/// part = the part of whole, or the other way round.
void copy_from_part(const Tensor& whole, AxisPart of, Tensor& part) {
  const Strides from = strides_of(whole.shape()), to = strides_of(part.shape());
  StridedMove move;
  for (int axis = 0; axis < part.rank(); ++axis) {
    move.add_axis(part.size(axis), axis == of.axis ? from[axis] * of.step : from[axis], to[axis]);
  }
  move_elements(move, whole, of.begin * from[of.axis], part, 0);
}
void copy_to_part(const Tensor& part, AxisPart of, Tensor& whole) {
  const Strides from = strides_of(part.shape()), to = strides_of(whole.shape());
  StridedMove move;
  for (int axis = 0; axis < part.rank(); ++axis) {
    move.add_axis(part.size(axis), from[axis], axis == of.axis ? to[axis] * of.step : to[axis]);
  }
  move_elements(move, part, 0, whole, of.begin * to[of.axis]);
}

Tensor part_of(const Tensor& whole, AxisPart part) {
  Tensor result = Tensor::empty(whole.shape().with(part.axis, part.extent), whole.dtype(), whole.device());
  copy_from_part(whole, part, result);
  return result;
}

/// The parts that sizes cut an axis into, one after the other.
std::vector<AxisPart> consecutive_parts(const char* where, int axis, const std::vector<std::int64_t>& sizes) {
  std::vector<AxisPart> parts;
  std::int64_t begin = 0;
  for (std::int64_t size : sizes) {
    parts.push_back({.axis = axis, .begin = begin, .extent = size});
    if (__builtin_add_overflow(begin, size, &begin)) {
      throw ShapeError(where, fmt::format("the extents [{}] add up to more than 64 bits hold", fmt::join(sizes, ", ")));
    }
  }
  return parts;
}

Tensor joined(const std::vector<Tensor>& tensors, const std::vector<AxisPart>& parts) {
  const Tensor& first = tensors.front();
  const AxisPart& last = parts.back();
  Tensor result = Tensor::empty(first.shape().with(last.axis, last.begin + last.extent), first.dtype(), first.device());
  for (std::size_t i = 0; i < tensors.size(); ++i) copy_to_part(tensors[i], parts[i], result);
  return result;
}

void require_joinable(std::string_view where, const Tensor& first, const Tensor& other, int open_axis) {
  require_same_device(where, {first, other});
  if (first.dtype() != other.dtype()) {
    throw TypeError(where, fmt::format("all tensors must have one type, these hold {} and {}; cast() converts",
                                       name_of(first.dtype()), name_of(other.dtype())));
  }
  const bool fits = first.rank() == other.rank() &&
                    (open_axis < 0 ? first.shape() == other.shape()
                                   : first.shape().with(open_axis, 0) == other.shape().with(open_axis, 0));
  if (!fits) {
    throw ShapeError(where, fmt::format("{} and {} {}", to_string(first.shape()), to_string(other.shape()),
                                        open_axis < 0 ? std::string("must have the same shape")
                                                      : fmt::format("may differ in axis {} only", open_axis)));
  }
}

Tensor permuted(const Tensor& x, const std::vector<int>& axes) {
  std::vector<std::int64_t> extents;
  for (int axis : axes) extents.push_back(x.size(axis));
  Tensor result = Tensor::empty(Shape(extents), x.dtype(), x.device());
  const Strides from = strides_of(x.shape()), to = strides_of(result.shape());
  StridedMove move;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) move.add_axis(extents[axis], from[axes[axis]], to[axis]);
  move_elements(move, x, 0, result, 0);
  return result;
}

}  // namespace

Tensor concatenate(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw ShapeError("concatenate", "needs at least one tensor, none was given");
  axis = resolve_axis("concatenate", axis, tensors.front().rank());
  std::vector<std::int64_t> sizes;
  for (const Tensor& tensor : tensors) {
    require_joinable("concatenate", tensors.front(), tensor, axis);
    sizes.push_back(tensor.size(axis));
  }
  const std::vector<AxisPart> parts = consecutive_parts("concatenate", axis, sizes);
  // y = [x0, x1, ...]:  dx_i = the part of dy that x_i became
  return autograd::record({.name = "concatenate",
                           .inputs = tensors,
                           .backward =
                               [parts](const BackwardCall& call) {
                                 Gradients gradients(parts.size());
                                 for (std::size_t i = 0; i < parts.size(); ++i) {
                                   if (call.needs(i)) gradients[i] = part_of(call.gradient(), parts[i]);
                                 }
                                 return gradients;
                               }},
                          joined(tensors, parts));
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw ShapeError("stack", "needs at least one tensor, none was given");
  const Shape& shape = tensors.front().shape();
  axis = resolve_axis("stack", axis, shape.rank() + 1);
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.insert(extents.begin() + axis, 1);
  std::vector<Tensor> layers;
  for (const Tensor& tensor : tensors) {
    require_joinable("stack", tensors.front(), tensor, -1);
    layers.push_back(tensor.reshape(Shape(extents)));
  }
  return concatenate(layers, axis);
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  axis = resolve_axis("slice", axis, x.rank());
  const std::int64_t extent = x.size(axis);
  const std::int64_t first = begin < 0 ? begin + extent : begin, last = end < 0 ? end + extent : end;
  if (first < 0 || last < first || last > extent) {
    throw ShapeError("slice",
                     fmt::format("{} to {} does not lie in axis {} of {}", begin, end, axis, to_string(x.shape())));
  }
  if (step < 1) throw ShapeError("slice", fmt::format("the step must be at least 1, it is {}", step));
  const std::int64_t count = last == first ? 0 : (last - first - 1) / step + 1;
  // One step from the last element would leave the axis anyway: a step beyond it must not overflow a product.
  const AxisPart part{
      .axis = axis, .begin = first, .extent = count, .step = std::min(step, std::max<std::int64_t>(extent, 1))};
  // y = x[begin:end:step]:  dx = dy there, 0 elsewhere
  return autograd::record({.name = "slice",
                           .inputs = {x},
                           .backward = [part, shape = x.shape()](const BackwardCall& call) -> Gradients {
                             Tensor dx = zeros(shape, call.gradient().dtype(), call.gradient().device());
                             copy_to_part(call.gradient(), part, dx);
                             return {dx};
                           }},
                          part_of(x, part));
}

std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<std::int64_t>& sizes) {
  axis = resolve_axis("split", axis, x.rank());
  std::int64_t left = x.size(axis);
  for (std::int64_t size : sizes) {
    if (size < 0 || size > left) {
      left = -1;
      break;
    }
    left -= size;
  }
  if (left != 0 || sizes.empty()) {
    throw ShapeError("split", fmt::format("the sizes [{}] do not add up to axis {} of {}", fmt::join(sizes, ", "), axis,
                                          to_string(x.shape())));
  }
  const std::vector<AxisPart> parts = consecutive_parts("split", axis, sizes);
  std::vector<Tensor> outputs;
  for (const AxisPart& part : parts) outputs.push_back(part_of(x, part));
  // y0, y1, ... = parts of x:  dx = [dy0, dy1, ...]
  return autograd::record({.name = "split",
                           .inputs = {x},
                           .backward = [parts](const BackwardCall& call) -> Gradients {
                             std::vector<Tensor> gradients;
                             for (std::size_t i = 0; i < parts.size(); ++i) gradients.push_back(call.gradient(i));
                             return {joined(gradients, parts)};
                           }},
                          std::move(outputs));
}

Tensor repeat(const Tensor& x, int axis, std::int64_t times) {
  axis = resolve_axis("repeat", axis, x.rank());
  std::int64_t extent = 0;
  if (times < 0 || __builtin_mul_overflow(x.size(axis), times, &extent)) {
    throw ShapeError("repeat",
                     fmt::format("axis {} of {} cannot be repeated {} times", axis, to_string(x.shape()), times));
  }
  const Shape shape = x.shape().with(axis, extent);
  if (shape.elements() == 0) return x.reshape({-1, 1}).rows(0, 0).reshape(shape);
  std::int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= x.size(i);
  const std::int64_t run = x.elements() / outer;
  return broadcast_to(x.reshape(Shape{outer, 1, run}), {outer, times, run}).reshape(shape);
}

Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  std::vector<int> order;
  for (int axis : axes) order.push_back(resolve_axis("permute", axis, x.rank()));
  std::vector<int> inverse(order.size(), -1);
  for (std::size_t i = 0; i < order.size() && order.size() == static_cast<std::size_t>(x.rank()); ++i) {
    inverse[order[i]] = static_cast<int>(i);
  }
  if (order.size() != static_cast<std::size_t>(x.rank()) || std::ranges::count(inverse, -1) > 0) {
    throw ShapeError(
        "permute", fmt::format("[{}] does not name each axis of {} once", fmt::join(axes, ", "), to_string(x.shape())));
  }
  // y = x with its axes in another order:  dx = dy with the order undone
  return autograd::record(
      {.name = "permute",
       .inputs = {x},
       .backward = [inverse](const BackwardCall& call) -> Gradients { return {permuted(call.gradient(), inverse)}; }},
      permuted(x, order));
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  std::vector<int> axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[resolve_axis("transpose", axis_a, x.rank())], axes[resolve_axis("transpose", axis_b, x.rank())]);
  return permute(x, axes);
}

}  // namespace bough
