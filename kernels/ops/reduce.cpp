#include "bough/ops/reduce.h"

#include <array>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/ops/arithmetic.h"
#include "kernels/cpu/arg_reduce.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cuda/arg_reduce.h"
#include "kernels/cuda/gspmm_prod_backward.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/select.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/operands.h"

namespace bough {
namespace {

/// A reduction over any axes as a chain of [outer, reduced, inner] steps, the last axes first.
struct ReducePlan {
  std::vector<ReduceShape> steps;
  Shape kept;              ///< reduced axes with extent 1
  Shape result;            ///< without them, or with, as the caller wants
  std::int64_t count = 1;  ///< elements that go into one of the result
};

ReducePlan plan_reduce(const char* where, const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  require_defined(where, "x", x);
  if (x.dtype() == DType::boolean) throw TypeError(where, "takes numbers, not bool; cast() converts");
  const Shape& shape = x.shape();
  std::array<bool, Shape::max_rank> reduced{};
  for (int axis : axes.list()) {
    const int resolved = resolve_axis(where, axis, shape.rank());
    if (reduced[resolved]) {
      throw ShapeError(where, fmt::format("axis {} of {} is named twice", resolved, to_string(shape)));
    }
    reduced[resolved] = true;
  }
  ReducePlan plan;
  std::vector<std::int64_t> kept, result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    kept.push_back(reduced[axis] ? 1 : shape[axis]);
    if (!reduced[axis] || options.keepdim) result.push_back(kept.back());
    if (reduced[axis]) plan.count *= shape[axis];
  }
  plan.kept = Shape(kept);
  plan.result = Shape(result);

  const auto product = [](const std::vector<std::int64_t>& extents, int begin, int end) {
    return std::accumulate(extents.begin() + begin, extents.begin() + end, std::int64_t{1}, std::multiplies<>());
  };
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  for (int end = shape.rank(); end > 0; --end) {
    if (!reduced[end - 1]) continue;
    int begin = end - 1;
    // Axes of extent 1 may stand between reduced ones without parting them.
    while (begin > 0 && (reduced[begin - 1] || extents[begin - 1] == 1)) --begin;
    const ReduceShape step{product(extents, 0, begin), product(extents, begin, end),
                           product(extents, end, shape.rank())};
    if (step.reduced != 1) plan.steps.push_back(step);
    std::fill(extents.begin() + begin, extents.begin() + end, 1);
    end = begin + 1;
  }
  return plan;
}

Axes all_axes(const Tensor& x) {
  std::vector<int> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

void require_elements(const char* where, const Tensor& x, const ReducePlan& plan) {
  if (plan.count > 0 || plan.result.elements() == 0) return;
  throw ShapeError(
      where, fmt::format("there is nothing to take it of: {} has no elements along these axes", to_string(x.shape())));
}

// The GPU's, with the arguments of the CPU's.

simt::ReduceExtents extents_of(const ReduceShape& shape) { return {shape.outer, shape.reduced, shape.inner}; }

template <typename T>
void reduce(Cuda gpu, AxisReduction reduction, const ReduceShape& shape, const T* x, T* result) {
  constexpr std::array functions{BinaryFunction::add, BinaryFunction::mul, BinaryFunction::maximum,
                                 BinaryFunction::minimum};
  reduce(gpu, functions[static_cast<std::size_t>(reduction)], extents_of(shape), x, result);
}

template <typename T>
void arg_reduce(Cuda gpu, AxisReduction extreme, const ReduceShape& shape, const T* x, T* values,
                std::int64_t* positions) {
  arg_reduce(gpu, simt::ArgReduce<T>{extreme == AxisReduction::max, extents_of(shape), x, values, positions});
}

template <typename T>
void arg_reduce_backward(Cuda gpu, const ReduceShape& shape, const std::int64_t* positions, const T* dy, T* dx) {
  arg_reduce_backward(gpu, simt::ArgReduceBackward<T>{extents_of(shape), positions, dy, dx});
}

template <typename T>
void prod_backward(Cuda gpu, const ReduceShape& shape, const T* x, const T* dy, T* dx) {
  std::vector<std::int64_t> begins;
  for (std::int64_t row = 0; row <= shape.outer; ++row) begins.push_back(row * shape.reduced);
  const Tensor offsets = Tensor::from_vector(begins, {shape.outer + 1}, Device::cuda(gpu.device));
  prod_backward(
      gpu, simt::ProdBackward<T>{device_data<std::int64_t>(offsets), nullptr, shape.outer, shape.inner, x, dy, dx});
}

/// All steps of a reduction; not recorded.
Tensor reduce_values(const char* where, AxisReduction reduction, const Tensor& x, const ReducePlan& plan) {
  Tensor values = x.detach();
  for (const ReduceShape& step : plan.steps) {
    Tensor next = Tensor::empty({step.results()}, x.dtype(), x.device());
    on_any_device_number(where, x, [&]<typename T>(auto backend, TypeTag<T>) {
      reduce(backend, reduction, step, device_data<T>(values), device_data<T>(next));
    });
    values = next;
  }
  if (plan.steps.empty()) values = values.clone();
  return values.reshape(plan.result);
}

/// One step of max or min, recorded. y = x[position]:  dx = dy at the position, 0 elsewhere
Tensor extreme_step(const char* where, AxisReduction extreme, const Tensor& x, const ReduceShape& step,
                    const Shape& result) {
  Tensor y = Tensor::empty(result, x.dtype(), x.device());
  Tensor positions = Tensor::empty({step.results()}, DType::int64, x.device());
  on_any_device_number(where, x, [&]<typename T>(auto backend, TypeTag<T>) {
    arg_reduce(backend, extreme, step, device_data<T>(x), device_data<T>(y), device_data<std::int64_t>(positions));
  });
  return autograd::record({.name = where,
                           .inputs = {x},
                           .saved = {positions},
                           .backward = [where, step, from = x.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor &at = call.saved(0), &dy = call.gradient();
                             Tensor dx = Tensor::empty(from, dy.dtype(), dy.device());
                             on_any_device(where, dy, [&]<typename T>(auto backend, TypeTag<T>) {
                               arg_reduce_backward(backend, step, device_data<std::int64_t>(at), device_data<T>(dy),
                                                   device_data<T>(dx));
                             });
                             return {dx};
                           }},
                          y);
}

Tensor extreme(const char* where, AxisReduction which, const Tensor& x, const Axes& axes,
               const ReduceOptions& options) {
  const ReducePlan plan = plan_reduce(where, x, axes, options);
  require_elements(where, x, plan);
  if (!autograd::should_record({x})) return reduce_values(where, which, x, plan);
  if (plan.steps.empty()) return x.clone().reshape(plan.result);
  // The last axes first: the first of equals in each, and then the first of those, is the first in row-major order.
  Tensor values = x;
  for (const ReduceShape& step : plan.steps) {
    const bool last = &step == &plan.steps.back();
    values = extreme_step(where, which, values, step, last ? plan.result : Shape{step.results()});
  }
  return values;
}

/// One step of prod, recorded. y = x_1 ... x_n:  dx_i = dy times all other x
Tensor product_step(const Tensor& x, const ReduceShape& step, const Shape& result) {
  Tensor y = Tensor::empty(result, x.dtype(), x.device());
  on_any_device_number("prod", x, [&]<typename T>(auto backend, TypeTag<T>) {
    reduce(backend, AxisReduction::prod, step, device_data<T>(x), device_data<T>(y));
  });
  return autograd::record({.name = "prod",
                           .inputs = {x},
                           .saved = {x},
                           .backward = [step](const BackwardCall& call) -> Gradients {
                             const Tensor &factors = call.saved(0), &dy = call.gradient();
                             Tensor dx = empty_like(factors);
                             on_any_device("prod", dy, [&]<typename T>(auto backend, TypeTag<T>) {
                               prod_backward(backend, step, device_data<T>(factors), device_data<T>(dy),
                                             device_data<T>(dx));
                             });
                             return {dx};
                           }},
                          y);
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  const ReducePlan plan = plan_reduce("sum", x, axes, options);
  // y = sum of x:  dx = dy, repeated
  return autograd::record({.name = "sum",
                           .inputs = {x},
                           .backward = [kept = plan.kept, from = x.shape()](const BackwardCall& call) -> Gradients {
                             return {broadcast_to(call.gradient().reshape(kept), from)};
                           }},
                          reduce_values("sum", AxisReduction::sum, x, plan));
}

Tensor mean(const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  visit_floating("mean", x.dtype(), [](auto) {});
  const ReducePlan plan = plan_reduce("mean", x, axes, options);
  require_elements("mean", x, plan);
  return div(sum(x, axes, options), static_cast<double>(plan.count));
}

Tensor prod(const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  const ReducePlan plan = plan_reduce("prod", x, axes, options);
  if (plan.steps.empty()) return x.clone().reshape(plan.result);
  Tensor values = x;
  for (const ReduceShape& step : plan.steps) {
    const bool last = &step == &plan.steps.back();
    values = product_step(values, step, last ? plan.result : Shape{step.results()});
  }
  return values;
}

Tensor max(const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  return extreme("max", AxisReduction::max, x, axes, options);
}
Tensor min(const Tensor& x, const Axes& axes, const ReduceOptions& options) {
  return extreme("min", AxisReduction::min, x, axes, options);
}

Tensor sum(const Tensor& x) { return sum(x, all_axes(x)); }
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }
Tensor prod(const Tensor& x) { return prod(x, all_axes(x)); }
Tensor max(const Tensor& x) { return max(x, all_axes(x)); }
Tensor min(const Tensor& x) { return min(x, all_axes(x)); }

Tensor argmax(const Tensor& x, int axis, const ReduceOptions& options) {
  const ReducePlan plan = plan_reduce("argmax", x, axis, options);
  require_elements("argmax", x, plan);
  const NoGrad no_grad;
  const int resolved = resolve_axis("argmax", axis, x.rank());
  ReduceShape step{1, x.size(axis), 1};
  for (int i = 0; i < resolved; ++i) step.outer *= x.size(i);
  for (int i = resolved + 1; i < x.rank(); ++i) step.inner *= x.size(i);
  Tensor values = Tensor::empty({step.results()}, x.dtype(), x.device());
  Tensor positions = Tensor::empty(plan.result, DType::int64, x.device());
  on_any_device_number("argmax", x, [&]<typename T>(auto backend, TypeTag<T>) {
    arg_reduce(backend, AxisReduction::max, step, device_data<T>(x), device_data<T>(values),
               device_data<std::int64_t>(positions));
  });
  return positions;
}

Tensor argmax(const Tensor& x) { return argmax(x.detach().reshape({x.elements()}), 0); }

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast_shapes("broadcast_to", x.shape(), shape) == shape)) {
    throw ShapeError("broadcast_to", fmt::format("{} cannot become {}: axes only grow from extent 1",
                                                 to_string(x.shape()), to_string(shape)));
  }
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  on_any_device_any_type("broadcast_to", x, [&]<typename T>(auto backend, TypeTag<T>) {
    repeat(backend, broadcast_layout<1>(shape, {x.shape()}), device_data<T>(x), device_data<T>(y));
  });
  // y = x, repeated:  dx = sum of dy over the repetitions
  return autograd::record({.name = "broadcast_to",
                           .inputs = {x},
                           .backward = [from = x.shape()](const BackwardCall& call) -> Gradients {
                             return {sum_to_shape(call.gradient(), from)};
                           }},
                          y);
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!(broadcast_shapes("sum_to_shape", x.shape(), shape) == x.shape())) {
    throw ShapeError("sum_to_shape", fmt::format("{} is not what {} broadcasts to, so it cannot be summed to it",
                                                 to_string(x.shape()), to_string(shape)));
  }
  std::vector<int> axes;
  const int added = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && x.size(axis) != 1)) axes.push_back(axis);
  }
  return sum(x, axes).reshape(shape);
}

}  // namespace bough
