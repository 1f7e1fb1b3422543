#include "bough/detail/mp/pass_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bough/core/parallel.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/cast.h"
#include "kernels/on_device.h"
#include "kernels/views.h"
#include "src/core/tensor_body.h"

namespace bough::mp {
namespace {

constexpr const char* where = "message_reduce";

}  // namespace

PassOperands::PassOperands(std::string_view caller, const Graph& graph, const Tensor& source, const Tensor& destination,
                           const Tensor& edge) {
  for (const auto& [tensor, target] : {std::pair{source, Target::source}, std::pair{destination, Target::destination},
                                       std::pair{edge, Target::edge}}) {
    throw_if_missing(tensor);
    if (!tensor.defined()) continue;
    if (tensor.rank() == 0 || tensor.size(0) != rows_of_target(graph, target)) {
      throw ShapeError(caller, fmt::format("the operand {} must have one row for each {}, the graph has {}",
                                           to_string(tensor.shape()), name_of(target), rows_of_target(graph, target)));
    }
    if (!sides_.empty() && tensor.dtype() != dtype_) {
      throw TypeError(caller, fmt::format("operands must have the same type, they are {} and {}", name_of(dtype_),
                                          name_of(tensor.dtype())));
    }
    dtype_ = tensor.dtype();
    common_ = broadcast_shapes(where, common_, row_shape(tensor.shape()));
    sides_.push_back({tensor, target, tensor.shape()});
  }
  if (sides_.empty()) throw ShapeError(caller, "needs at least one operand, none is defined");
  require_same_device(caller, {source, destination, edge});
  device_ = sides_[0].tensor.device();
}

void PassOperands::require_cpu(std::string_view caller) const {
  if (device_ == Device::cpu()) return;
  throw DeviceError(caller, fmt::format("compiles functors for the CPU, the operands are on {}; compile the call with "
                                        "nvcc and bough/cuda/message_reduce.h, or let a Frame take the same message "
                                        "and reduction as functions of tensors, or move the operands by "
                                        "to(Device::cpu())",
                                        to_string(device_)));
}

std::vector<Tensor> PassOperands::tensors() const {
  std::vector<Tensor> tensors;
  for (const Side& side : sides_) tensors.push_back(side.tensor);
  return tensors;
}

Shape PassOperands::result_shape(const Graph& graph) const { return with_rows(graph.num_dst(), common_); }

FeatureLayout PassOperands::layout() const {
  std::vector<Shape> shapes;
  for (const Side& side : sides_) shapes.push_back(row_shape(side.shape));
  shapes.push_back(common_);
  return broadcast_layout(common_, shapes);
}

FeatureLayout PassOperands::gradient_layout(std::size_t i) const {
  std::vector<Shape> shapes{common_};
  for (const Side& side : sides_) shapes.push_back(row_shape(side.shape));
  shapes.push_back(row_shape(sides_[i].shape));
  return broadcast_layout(common_, shapes);
}

void PassOperands::forget_tensors() {
  for (Side& side : sides_) side.tensor = {};
}

void PassOperands::refuse_count() const {
  throw ShapeError(where, fmt::format("the message does not take {} values of one type, but {} operands are given",
                                      count(), count()));
}

void PassOperands::refuse_type() const {
  throw TypeError(where, fmt::format("the message does not take and give {}; make it a template or cast() the operands",
                                     name_of(dtype_)));
}

void PassOperands::refuse_gradient(std::string_view reason) {
  throw AutogradError(where, fmt::format("an operand requires a gradient, but {}", reason));
}

Tensor divided_by_in_degree(const Graph& graph, const Tensor& rows) {
  const CscView csc = graph.csc(EdgeIds::implied);
  if (rows.device().kind != Device::Kind::cpu) {
    Shape shape = rows.shape();
    for (int axis = 1; axis < shape.rank(); ++axis) shape = shape.with(axis, 1);
    std::vector<double> degrees;
    for (std::int64_t row = 0; row < rows.size(0); ++row) {
      degrees.push_back(static_cast<double>(std::max<std::int64_t>(1, csc.degree(row))));
    }
    return rows / cast(Tensor::from_vector(degrees, shape), rows.dtype()).to(rows.device());
  }
  Tensor divided = empty_like(rows);
  on_cpu("mean", rows, [&]<typename T>(auto, TypeTag<T>) {
    const Rows<const T> from = rows_of<T>(rows);
    const Rows<T> to = rows_of<T>(divided);
    parallel_chunks(from.count, rows_per_chunk(from.width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T count = static_cast<T>(std::max<std::int64_t>(1, csc.degree(row)));
        for (std::int64_t i = 0; i < from.width; ++i) to[row][i] = from[row][i] / count;
      }
    });
  });
  return divided;
}

}  // namespace bough::mp
