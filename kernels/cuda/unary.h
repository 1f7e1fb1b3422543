#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/functors/unary.h"

/// Pointers are into the memory of the GPU. T: float, double.
namespace bough {

/// y = f(x).
template <typename T>
void unary(Cuda, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count);

/// dx = f'(x) dy, where saved is y or x as saves_result says.
template <typename T>
void unary_backward(Cuda, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count);

}  // namespace bough
