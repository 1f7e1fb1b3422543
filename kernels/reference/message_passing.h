#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

/// Message passing as its definition says: double precision, one edge and one feature at a time, messages stored.
namespace bough::reference {

/// Rows of numbers with the shape of a tensor.
struct Table {
  Shape shape;
  std::vector<double> values;

  Tensor tensor() const { return Tensor::from_vector(values, shape); }
};

struct Operand {
  Tensor tensor;
  Target target = Target::edge;
};

inline Shape shape_of(std::int64_t rows, const Shape& row) {
  std::vector<std::int64_t> extents(row.begin(), row.end());
  extents.insert(extents.begin(), rows);
  return Shape(extents);
}

/// Element number `index` of the common row shape, in a row of an operand that broadcasts to it.
inline double broadcast_element(const std::vector<double>& values, const Shape& shape, std::int64_t row,
                                const Shape& common, std::int64_t index) {
  std::int64_t offset = 0, stride = 1;
  for (int back = 1; back <= common.rank(); ++back) {
    const std::int64_t position = index % common[-back];
    index /= common[-back];
    if (back < shape.rank()) {
      if (shape[-back] != 1) offset += position * stride;
      stride *= shape[-back];
    }
  }
  return values[static_cast<std::size_t>(row * stride + offset)];
}

inline double apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
    case BinaryOp::dot:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::copy_lhs:
      return a;
    case BinaryOp::copy_rhs:
      return b;
  }
  return 0;
}

inline Table gsddmm(const Graph& graph, BinaryOp op, const Operand& lhs, const Operand& rhs) {
  const auto row_of = [](const Tensor& tensor) {
    return tensor.defined() ? Shape(tensor.shape().extents().subspan(1)) : Shape{};
  };
  const auto values_of = [](const Tensor& tensor) {
    return tensor.defined() ? tensor.to_vector<double>() : std::vector<double>();
  };
  const std::vector<double> left = values_of(lhs.tensor), right = values_of(rhs.tensor);
  const Shape common = op == BinaryOp::copy_lhs ? row_of(lhs.tensor)
                       : op == BinaryOp::copy_rhs
                           ? row_of(rhs.tensor)
                           : broadcast_shapes("reference", row_of(lhs.tensor), row_of(rhs.tensor));
  const bool dot = op == BinaryOp::dot && common.rank() > 0;
  const std::int64_t terms = dot ? common[-1] : 1;
  const Shape row = dot ? common.with(-1, 1) : common;

  Table messages{shape_of(graph.num_edges(), row), {}};
  for (std::int64_t edge = 0; edge < graph.num_edges(); ++edge) {
    const auto row_number = [&](Target target) -> std::int64_t {
      if (target == Target::edge) return edge;
      const auto e = static_cast<std::size_t>(edge);
      return target == Target::source ? graph.coo().src[e] : graph.coo().dst[e];
    };
    for (std::int64_t i = 0; i < row.elements(); ++i) {
      double message = 0;
      for (std::int64_t term = 0; term < terms; ++term) {
        const std::int64_t index = i * terms + term;
        const double a = op == BinaryOp::copy_rhs
                             ? 0
                             : broadcast_element(left, lhs.tensor.shape(), row_number(lhs.target), common, index);
        const double b = op == BinaryOp::copy_lhs
                             ? 0
                             : broadcast_element(right, rhs.tensor.shape(), row_number(rhs.target), common, index);
        message += apply(op, a, b);
      }
      messages.values.push_back(message);
    }
  }
  return messages;
}

/// One number from the messages of a row, which is not empty.
inline double reduce(ReduceOp op, const std::vector<double>& messages) {
  double result = messages[0];
  for (std::size_t i = 1; i < messages.size(); ++i) {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::mean:
        result += messages[i];
        break;
      case ReduceOp::max:
        result = std::max(result, messages[i]);
        break;
      case ReduceOp::min:
        result = std::min(result, messages[i]);
        break;
      case ReduceOp::prod:
        result *= messages[i];
        break;
    }
  }
  return op == ReduceOp::mean ? result / static_cast<double>(messages.size()) : result;
}

/// Reduces rows of `messages` into rows of the result; row i of the messages belongs to group[i].
inline Table reduce_groups(const Table& messages, const std::vector<std::int64_t>& group, std::int64_t groups,
                           ReduceOp op, double empty_value = 0) {
  const Shape row(messages.shape.extents().subspan(1));
  const std::int64_t width = row.elements();
  std::vector<std::vector<std::size_t>> members(static_cast<std::size_t>(groups));
  for (std::size_t i = 0; i < group.size(); ++i) members[static_cast<std::size_t>(group[i])].push_back(i);

  Table result{shape_of(groups, row), {}};
  for (const std::vector<std::size_t>& rows : members) {
    for (std::int64_t feature = 0; feature < width; ++feature) {
      std::vector<double> column;
      for (const std::size_t i : rows) {
        column.push_back(messages.values[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(feature)]);
      }
      result.values.push_back(column.empty() ? empty_value : reduce(op, column));
    }
  }
  return result;
}

inline std::vector<std::int64_t> ends(const Graph& graph, Target target) {
  const auto side = target == Target::source ? graph.coo().src : graph.coo().dst;
  return {side.begin(), side.end()};
}

inline Table gspmm(const Graph& graph, BinaryOp op, ReduceOp reduce, const Operand& lhs, const Operand& rhs,
                   double empty_value = 0) {
  return reduce_groups(gsddmm(graph, op, lhs, rhs), ends(graph, Target::destination), graph.num_dst(), reduce,
                       empty_value);
}

/// Softmax over the rows of each group, column by column.
inline Table softmax_groups(const Tensor& scores, const std::vector<std::int64_t>& group, std::int64_t groups) {
  Table table{scores.shape(), scores.to_vector<double>()};
  const Table row_max = reduce_groups(table, group, groups, ReduceOp::max);
  const auto width = static_cast<std::size_t>(scores.shape().row_width());
  const auto at_group = [&](std::size_t i) { return static_cast<std::size_t>(group[i / width]) * width + i % width; };
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const double shift = row_max.values[at_group(i)];
    table.values[i] = std::isinf(table.values[i]) && table.values[i] < 0 ? 0 : std::exp(table.values[i] - shift);
  }
  const Table sum = reduce_groups(table, group, groups, ReduceOp::sum);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const double row_sum = sum.values[at_group(i)];
    table.values[i] = row_sum == 0 ? 0 : table.values[i] / row_sum;
  }
  return table;
}

}  // namespace bough::reference
