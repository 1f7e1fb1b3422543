#include "bough/ops/segment.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/edge_softmax.h"
#include "kernels/cpu/gspmm_prod_backward.h"
#include "kernels/cpu/segment.h"
#include "kernels/cuda/edge_softmax.h"
#include "kernels/cuda/gspmm_prod_backward.h"
#include "kernels/cuda/segment.h"
#include "kernels/on_device.h"
#include "kernels/ops/message_passes.h"
#include "kernels/views.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

void require_segments(std::string_view where, const Tensor& values, const Tensor& offsets) {
  throw_if_missing(values);
  throw_if_missing(offsets);
  if (!values.defined() || !offsets.defined()) {
    throw ShapeError(
        where, fmt::format("{} is undefined; it was never given a value", values.defined() ? "offsets" : "values"));
  }
  if (values.rank() == 0) throw ShapeError(where, "values has no rows, its shape is []");
  if (offsets.dtype() != DType::int64) {
    throw TypeError(where, fmt::format("offsets must be int64, they are {}", name_of(offsets.dtype())));
  }
  if (offsets.rank() != 1 || offsets.elements() == 0) {
    throw ShapeError(where, fmt::format("offsets {} must have one axis and one entry more than there are segments",
                                        to_string(offsets.shape())));
  }
  require_same_device(where, {values, offsets});
  const Tensor here = offsets.detach().to(Device::cpu());
  const std::span<const std::int64_t> entries = here.span<std::int64_t>();
  std::int64_t previous = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] < previous || entries[i] > values.size(0) || (i == 0 && entries[i] != 0)) {
      throw ShapeError(where,
                       fmt::format("offsets must ascend from 0 to {}, entry {} is {}", values.size(0), i, entries[i]));
    }
    previous = entries[i];
  }
  if (entries.back() != values.size(0)) {
    throw ShapeError(where, fmt::format("offsets must end at the number of rows {}, the last is {}", values.size(0),
                                        entries.back()));
  }
}

std::int64_t count_of(const Tensor& offsets) { return offsets.elements() - 1; }

mp::Adjacency segments_of(const Tensor& offsets) {
  return {.offsets = offsets.data<std::int64_t>(), .rows = count_of(offsets)};
}
mp::TraversalPlan traversal_plan_of(const Tensor& offsets) {
  return mp::make_traversal_plan(offsets.span<std::int64_t>());
}

/// Segments as the rows of a graph on a GPU. They are shared out among warps on the host, which waits for the offsets.
simt::DeviceRows device_segments(const Tensor& offsets) {
  const Tensor here = offsets.to(Device::cpu());
  return simt::DeviceRows({here.span<std::int64_t>(), {}, {}}, {}, offsets.device());
}

template <typename T>
void reduce_segments(Cpu cpu, const Tensor& offsets, const MessageArguments<T>& message, ReduceOp reduce,
                     const mp::RowResults<T>& results) {
  const mp::TraversalPlan plan = traversal_plan_of(offsets);
  gspmm(cpu,
        GspmmArguments<T>{
            .edges = segments_of(offsets), .plan = plan, .message = message, .reduce = reduce, .results = results});
}
template <typename T>
void reduce_segments(Cuda gpu, const Tensor& offsets, const MessageArguments<T>& message, ReduceOp reduce,
                     const mp::RowResults<T>& results) {
  const simt::DeviceRows segments = device_segments(offsets);
  gspmm(gpu, segments.rows(), simt::EdgeView{.offsets = segments.edges().offsets}, message_call(message), reduce,
        simt::GspmmResults<T>{.rows = results.rows, .arg_indices = results.arg_indices, .empty = results.empty});
}

/// What flows back into the values of a product.
template <typename T>
void prod_backward(Cpu cpu, const Tensor& offsets, Rows<const T> values, Rows<const T> gradient, Rows<T> result) {
  prod_backward(cpu, segments_of(offsets), traversal_plan_of(offsets), values, gradient, result);
}
template <typename T>
void prod_backward(Cuda gpu, const Tensor& offsets, Rows<const T> values, Rows<const T> gradient, Rows<T> result) {
  prod_backward(gpu, simt::ProdBackward<T>{device_data<std::int64_t>(offsets), nullptr, count_of(offsets), values.width,
                                           values.data, gradient.data, result.data});
}

/// What flows back into the values of any other reduction.
template <typename T>
void spread_gradient(Cpu cpu, const Tensor& offsets, Rows<const T> gradient, const std::int32_t* arg_indices, bool mean,
                     Rows<T> result) {
  segment_reduce_backward(
      cpu,
      SegmentGradient<T>{
          .segments = segments_of(offsets), .gradient = gradient, .arg_indices = arg_indices, .mean = mean},
      result);
}
template <typename T>
void spread_gradient(Cuda gpu, const Tensor& offsets, Rows<const T> gradient, const std::int32_t* arg_indices,
                     bool mean, Rows<T> result) {
  segment_reduce_backward(
      gpu, simt::SegmentReduceBackward<T>{device_data<std::int64_t>(offsets), count_of(offsets), result.count,
                                          result.width, gradient.data, arg_indices, mean, result.data});
}

Tensor reduce_gradient(ReduceOp reduce, std::int64_t num_rows, const Tensor& gradient, const Tensor& offsets,
                       const Tensor& values, const Tensor& arg_indices) {
  Tensor result = Tensor::empty(gradient.shape().with(0, num_rows), gradient.dtype(), gradient.device());
  if (result.elements() == 0) return result;
  on_any_device("segment_reduce", gradient, [&]<typename T>(auto backend, TypeTag<T>) {
    if (reduce == ReduceOp::prod) {
      prod_backward(backend, offsets, rows_of<T>(values), rows_of<T>(gradient), rows_of<T>(result));
    } else {
      spread_gradient(backend, offsets, rows_of<T>(gradient),
                      arg_indices.defined() ? device_data<std::int32_t>(arg_indices) : nullptr,
                      reduce == ReduceOp::mean, rows_of<T>(result));
    }
  });
  return result;
}

template <typename T>
void normalize(Cpu cpu, const Tensor& offsets, Rows<const T> values, Rows<T> weights) {
  edge_softmax(cpu, segments_of(offsets), traversal_plan_of(offsets), values, weights);
}
template <typename T>
void normalize(Cuda gpu, const Tensor& offsets, Rows<const T> values, Rows<T> weights) {
  const simt::DeviceRows segments = device_segments(offsets);
  edge_softmax(gpu, segments.rows(), segments.num_rows(), nullptr, values.width,
               simt::SoftmaxForward<T>{values.data, weights.data});
}

template <typename T>
void normalize_backward(Cpu cpu, const Tensor& offsets, Rows<const T> weights, Rows<const T> gradient, Rows<T> result) {
  edge_softmax_backward(cpu, segments_of(offsets), traversal_plan_of(offsets), weights, gradient, result);
}
template <typename T>
void normalize_backward(Cuda gpu, const Tensor& offsets, Rows<const T> weights, Rows<const T> gradient,
                        Rows<T> result) {
  const simt::DeviceRows segments = device_segments(offsets);
  edge_softmax_backward(gpu, segments.rows(), segments.num_rows(), nullptr, weights.width,
                        simt::SoftmaxBackward<T>{weights.data, gradient.data, result.data});
}

}  // namespace

Tensor segment_reduce(const Tensor& values, const Tensor& offsets, ReduceOp reduce,
                      const SegmentReduceOptions& options) {
  require_segments("segment_reduce", values, offsets);
  const Shape row = mp::row_shape(values.shape());
  const Shape shape = mp::with_rows(offsets.elements() - 1, row);
  const bool recorded = autograd::should_record({values});
  const bool selects = reduce == ReduceOp::max || reduce == ReduceOp::min;
  if (recorded && selects && values.size(0) > std::numeric_limits<std::int32_t>::max()) {
    throw ShapeError("segment_reduce", fmt::format("the gradient of {} is limited to 2^31-1 rows, values has {}",
                                                   name_of(reduce), values.size(0)));
  }
  Tensor result = Tensor::empty(shape, values.dtype(), values.device());
  Tensor arg_indices = recorded && selects ? Tensor::empty(shape, DType::int32, values.device()) : Tensor{};

  if (result.elements() > 0) {
    const std::vector<Shape> shapes(2, row);
    const mp::FeatureLayout layout = mp::broadcast_layout(row, shapes);
    on_any_device("segment_reduce", values, [&]<typename T>(auto backend, TypeTag<T>) {
      reduce_segments<T>(backend, offsets,
                         {.op = BinaryOp::copy_lhs, .lhs = {device_data<T>(values), mp::End::edge}, .layout = &layout},
                         reduce,
                         {.rows = device_data<T>(result),
                          .width = row.elements(),
                          .arg_indices = arg_indices.defined() ? device_data<std::int32_t>(arg_indices) : nullptr,
                          .empty = static_cast<T>(options.empty_value)});
    });
  }
  // y[s] = reduce of x[i] over the segment: dx[i] = dy[s], shared out as the reduction says
  return autograd::record(
      {.name = "segment_reduce",
       .inputs = {values},
       .saved = {offsets, reduce == ReduceOp::prod ? values : Tensor{}, arg_indices},
       .backward = [reduce, num_rows = values.size(0)](const BackwardCall& call) -> Gradients {
         return {reduce_gradient(reduce, num_rows, call.gradient(), call.saved(0), call.saved(1), call.saved(2))};
       }},
      result);
}

Tensor segment_softmax(const Tensor& values, const Tensor& offsets) {
  require_segments("segment_softmax", values, offsets);
  Tensor weights = empty_like(values);
  on_any_device("segment_softmax", values, [&]<typename T>(auto backend, TypeTag<T>) {
    normalize(backend, offsets, rows_of<T>(values), rows_of<T>(weights));
  });
  // y = exp(x) / sum exp(x):  dx = y (dy - sum y dy)
  return autograd::record({.name = "segment_softmax",
                           .inputs = {values},
                           .saved = {weights, offsets},
                           .backward = [](const BackwardCall& call) -> Gradients {
                             const Tensor& y = call.saved(0);
                             Tensor dx = empty_like(y);
                             on_any_device("segment_softmax", y, [&]<typename T>(auto backend, TypeTag<T>) {
                               normalize_backward(backend, call.saved(1), rows_of<T>(y), rows_of<T>(call.gradient()),
                                                  rows_of<T>(dx));
                             });
                             return {dx};
                           }},
                          weights);
}

}  // namespace bough
