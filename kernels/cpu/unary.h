#pragma once

#include "kernels/functors/unary.h"
#include "kernels/on_device.h"

namespace bough {

/// y = f(x). T: float, double.
template <typename T>
void unary(Cpu, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count);

/// dx = f'(x) dy, where saved is y or x as saves_result says.
template <typename T>
void unary_backward(Cpu, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count);

}  // namespace bough
