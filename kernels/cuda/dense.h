#pragma once

#include <span>

#include "bough/core/random.h"
#include "kernels/backend.h"
#include "kernels/broadcast.h"
#include "kernels/functors/binary.h"
#include "kernels/simt/cross_entropy.h"
#include "kernels/simt/elementwise.h"
#include "kernels/simt/gemm.h"
#include "kernels/simt/layer_norm.h"

/// Operations on dense tensors on a GPU; all views point into its memory. float and double. See kernels/simt for what
/// the kernels do.
namespace bough {

template <typename T>
void unary(Cuda, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count);
template <typename T>
void unary_gradient(Cuda, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count);

/// result = f(a, b) over the plan's elements. T: int32_t and int64_t too, but not to divide.
template <typename T>
void binary(Cuda, BinaryFunction function, const BroadcastPlan<2>& plan, const T* a, const T* b, T* result);

/// c = a b, one product or a batch: by cuBLAS where there is one, see kernels/cuda/products.h.
template <typename T>
void gemm(Cuda, const simt::Gemm<T>& product);
/// sums[j] = the sum of column j of x [rows, width].
template <typename T>
void column_sums(Cuda, std::int64_t rows, std::int64_t width, const T* x, T* sums);

template <typename T>
void dropout(Cuda, std::span<const T> x, double p, RandomStream stream, T* y);

template <typename T>
void layer_norm(Cuda, const simt::LayerNorm<T>& rows);
template <typename T>
void layer_norm_backward(Cuda, const simt::LayerNormInputGradient<T>& rows, T* dweight, T* dbias);

/// `total`, on the GPU too, gets the sum of the losses.
template <typename T>
void cross_entropy(Cuda, const simt::CrossEntropy<T>& rows, double* total);
template <typename T>
void cross_entropy_backward(Cuda, const simt::CrossEntropyGradient<T>& rows);

}  // namespace bough
