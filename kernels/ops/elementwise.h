#pragma once

#include "bough/core/tensor.h"
#include "kernels/cpu/binary.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/unary.h"

namespace bough {

/// TypeError or DeviceError, naming both, unless two operands agree in type and device.
void require_alike(const char* where, const Tensor& a, const Tensor& b);

/// A number as a tensor of rank 0 with the type and device of `like`; TypeError if the type cannot hold it.
Tensor number_like(const char* where, double value, const Tensor& like);

/// f(a, b) with broadcasting, checked but not recorded.
Tensor binary_values(const char* where, BinaryFunction function, const Tensor& a, const Tensor& b);

/// A function of one tensor with its gradient.
Tensor unary_operation(const char* where, UnaryFunction function, const Tensor& x, UnaryParameters parameters = {});

}  // namespace bough
