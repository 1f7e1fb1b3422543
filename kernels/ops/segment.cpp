#include "bough/ops/segment.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/edge_softmax.h"
#include "kernels/cpu/gspmm.h"
#include "kernels/cpu/gspmm_product_gradient.h"
#include "kernels/cpu/segment.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {
namespace {

void require_segments(std::string_view where, const Tensor& values, const Tensor& offsets) {
  if (values.rank() == 0) throw ShapeError(where, "values has no rows, its shape is []");
  if (offsets.dtype() != DType::int64) {
    throw TypeError(where, fmt::format("offsets must be int64, they are {}", name_of(offsets.dtype())));
  }
  if (offsets.rank() != 1 || offsets.elements() == 0) {
    throw ShapeError(where, fmt::format("offsets {} must have one axis and one entry more than there are segments",
                                        to_string(offsets.shape())));
  }
  require_same_device(where, {values, offsets});
  const std::span<const std::int64_t> entries = offsets.span<std::int64_t>();
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

mp::Adjacency segments_of(const Tensor& offsets) {
  return {.offsets = offsets.data<std::int64_t>(), .rows = offsets.elements() - 1};
}

Tensor reduce_gradient(ReduceOp reduce, const Tensor& gradient, const Tensor& offsets, const Tensor& values,
                       const Tensor& winners) {
  Tensor result =
      Tensor::empty(gradient.shape().with(0, offsets.span<std::int64_t>().back()), gradient.dtype(), gradient.device());
  if (result.elements() == 0) return result;
  on_device("segment_reduce", gradient, [&]<typename T>(auto backend, TypeTag<T>) {
    const mp::Adjacency segments = segments_of(offsets);
    if (reduce == ReduceOp::prod) {
      product_gradient(backend, segments, mp::make_plan(offsets.span<std::int64_t>()), rows_of<T>(values),
                       rows_of<T>(gradient), rows_of<T>(result));
    } else {
      spread_segments(backend,
                      SegmentGradient<T>{.segments = segments,
                                         .gradient = rows_of<T>(gradient),
                                         .winners = winners.defined() ? winners.data<std::int32_t>() : nullptr,
                                         .mean = reduce == ReduceOp::mean},
                      rows_of<T>(result));
    }
  });
  return result;
}

}  // namespace

Tensor segment_reduce(const Tensor& values, const Tensor& offsets, ReduceOp reduce,
                      const SegmentReduceOptions& options) {
  require_segments("segment_reduce", values, offsets);
  const Shape row = mp::row_shape(values.shape());
  const Shape shape = mp::with_rows(offsets.elements() - 1, row);
  const bool recorded = should_record({values});
  const bool selects = reduce == ReduceOp::max || reduce == ReduceOp::min;
  if (recorded && selects && values.size(0) > std::numeric_limits<std::int32_t>::max()) {
    throw ShapeError("segment_reduce", fmt::format("the gradient of {} is limited to 2^31-1 rows, values has {}",
                                                   name_of(reduce), values.size(0)));
  }
  Tensor result = Tensor::empty(shape, values.dtype(), values.device());
  Tensor winners = recorded && selects ? Tensor::empty(shape, DType::int32, values.device()) : Tensor{};

  if (result.elements() > 0) {
    const std::vector<Shape> shapes(2, row);
    const mp::FeatureLayout layout = mp::line_up(row, shapes);
    const mp::TraversalPlan plan = mp::make_plan(offsets.span<std::int64_t>());
    on_device("segment_reduce", values, [&]<typename T>(auto backend, TypeTag<T>) {
      gspmm(backend,
            GspmmArguments<T>{
                .edges = segments_of(offsets),
                .plan = plan,
                .message = {.op = BinaryOp::copy_lhs, .lhs = {values.data<T>(), mp::End::edge}, .layout = &layout},
                .reduce = reduce,
                .results = {.rows = result.data<T>(),
                            .width = row.elements(),
                            .winners = winners.defined() ? winners.data<std::int32_t>() : nullptr,
                            .empty = static_cast<T>(options.empty_value)}});
    });
  }
  // y[s] = reduce of x[i] over the segment: dx[i] = dy[s], shared out as the reduction says
  return record({.name = "segment_reduce",
                 .inputs = {values},
                 .saved = {offsets, reduce == ReduceOp::prod ? values : Tensor{}, winners},
                 .backward = [reduce](const BackwardCall& call) -> Gradients {
                   return {reduce_gradient(reduce, call.gradient(), call.saved(0), call.saved(1), call.saved(2))};
                 }},
                result);
}

Tensor segment_softmax(const Tensor& values, const Tensor& offsets) {
  require_segments("segment_softmax", values, offsets);
  Tensor weights = empty_like(values);
  on_device("segment_softmax", values, [&]<typename T>(auto backend, TypeTag<T>) {
    edge_softmax(backend, segments_of(offsets), mp::make_plan(offsets.span<std::int64_t>()), rows_of<T>(values),
                 rows_of<T>(weights));
  });
  // y = exp(x) / sum exp(x):  dx = y (dy - sum y dy)
  return record({.name = "segment_softmax",
                 .inputs = {values},
                 .saved = {weights, offsets},
                 .backward = [](const BackwardCall& call) -> Gradients {
                   const Tensor& y = call.saved(0);
                   const Tensor& segments = call.saved(1);
                   Tensor dx = empty_like(y);
                   on_device("segment_softmax", y, [&]<typename T>(auto backend, TypeTag<T>) {
                     edge_softmax_backward(backend, segments_of(segments), mp::make_plan(segments.span<std::int64_t>()),
                                           rows_of<T>(y), rows_of<T>(call.gradient()), rows_of<T>(dx));
                   });
                   return {dx};
                 }},
                weights);
}

}  // namespace bough
