#pragma once

#include <cstdint>

#include "kernels/on_device.h"

namespace bough {

/// An array [outer, length, inner]; operations run along the middle axis.
struct AxisExtents {
  std::int64_t outer = 0;
  std::int64_t length = 0;
  std::int64_t inner = 0;
};

template <typename T>
void softmax(Cpu, AxisExtents extents, const T* x, T* y);
template <typename T>
void softmax_backward(Cpu, AxisExtents extents, const T* y, const T* dy, T* dx);

template <typename T>
void log_softmax(Cpu, AxisExtents extents, const T* x, T* y);
template <typename T>
void log_softmax_backward(Cpu, AxisExtents extents, const T* y, const T* dy, T* dx);

}  // namespace bough
