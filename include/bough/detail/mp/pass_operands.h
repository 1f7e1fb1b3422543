#pragma once

#include <string_view>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/edge_kernel.h"
#include "bough/detail/mp/features.h"
#include "bough/detail/mp/traversal_plan.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

/// What message_reduce needs that does not depend on the functors: checks, shapes and views of its operands.
namespace bough::mp {

class PassOperands {
 public:
  /// Takes the tensors that are defined, in this order. ShapeError, TypeError or DeviceError if they do not fit the
  /// graph or each other, or if there is none.
  PassOperands(std::string_view where, const Graph& graph, const Tensor& source, const Tensor& destination,
               const Tensor& edge);

  std::size_t count() const { return sides_.size(); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  /// DeviceError with a hint if the operands are on a GPU.
  void require_cpu(std::string_view where) const;
  const Shape& common() const { return common_; }
  Target target(std::size_t i) const { return sides_[i].target; }
  const Shape& shape(std::size_t i) const { return sides_[i].shape; }
  std::vector<Tensor> tensors() const;
  Shape result_shape(const Graph& graph) const;

  /// The operands and the result.
  FeatureLayout layout() const;
  /// The gradient of the result, the operands, and the gradient of operand i.
  FeatureLayout gradient_layout(std::size_t i) const;

  template <typename T, int Step>
  Operand<T, Step> operand(std::size_t i, const FeatureLayout::Operand& features, Direction direction) const {
    return {sides_[i].tensor.data<T>(), features.width, end_of(sides_[i].target, direction), features.offsets.data(),
            features.step};
  }

  const Tensor& tensor(std::size_t i) const { return sides_[i].tensor; }
  void forget_tensors();
  void remember_tensor(std::size_t i, const Tensor& tensor) { sides_[i].tensor = tensor; }

  [[noreturn]] void refuse_count() const;
  [[noreturn]] void refuse_type() const;
  [[noreturn]] static void refuse_gradient(std::string_view reason);

 private:
  struct Side {
    Tensor tensor;
    Target target = Target::edge;
    Shape shape;
  };
  std::vector<Side> sides_;
  DType dtype_ = DType::float32;
  Device device_ = Device::cpu();
  Shape common_;
};

/// Each row divided by the number of in-edges of its destination; rows without are left as they are.
Tensor divided_by_in_degree(const Graph& graph, const Tensor& rows);

}  // namespace bough::mp
