#pragma once

#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// y = layer_norm(x + residual). All have the shape of x, weight and bias its width. `statistics` gets mean and
/// 1 / deviation of each row. `residual` may be null, for 0; `sum` may be null, for not wanted.
template <typename T>
void layer_norm(Cpu, Rows<const T> x, const T* residual, const T* weight, const T* bias, double epsilon, T* sum, T* y,
                Rows<T> statistics);

/// Where the gradients of layer_norm go; null for not wanted. dweight and dbias come together.
template <typename T>
struct LayerNormGradients {
  T* dx = nullptr;
  T* dweight = nullptr;
  T* dbias = nullptr;
};

/// From the gradient dy of the result; `dsum`, if not null, is added to dx.
template <typename T>
void layer_norm_backward(Cpu, Rows<const T> x, const T* weight, Rows<const T> statistics, const T* dy, const T* dsum,
                         const LayerNormGradients<T>& gradients);

}  // namespace bough
