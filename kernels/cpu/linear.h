#pragma once

#include "bough/ops/matmul.h"
#include "kernels/backend.h"
#include "kernels/views.h"

namespace bough {

/// dz = dy f'(z) for the activation f of a dense layer, and in the same pass the sum of its rows if sums is not null
/// ([width]; zeros without rows). `saved` is what the layer keeps for backward: y = f(z) for relu, z for gelu. The
/// order of summation depends on the sizes only. float and double.
template <typename T>
void linear_backward(Cpu, Activation activation, Rows<const T> saved, Rows<const T> dy, Rows<T> dz, T* sums);

/// sums[j] = x[0][j] + x[1][j] + ... in an order that depends on the sizes only. float and double.
template <typename T>
void column_sums(Cpu, Rows<const T> x, T* sums);

}  // namespace bough
