#pragma once

#include <span>
#include <vector>

#include "bough/core/tensor.h"
#include "kernels/device_data.h"

/// Plans in the memory of a device.
namespace bough::simt {

/// A vector of numbers on a device.
template <typename T>
Tensor copied(std::span<const T> values, Device device) {
  return Tensor::from_span(values, {static_cast<std::int64_t>(values.size())}).to(device);
}

/// A vector of structures, as whole numbers, because tensors hold no structures.
template <typename T>
Tensor copied_bytes(const std::vector<T>& values, Device device) {
  static_assert(sizeof(T) % sizeof(std::int64_t) == 0);
  const auto* words = reinterpret_cast<const std::int64_t*>(values.data());
  return copied(std::span(words, values.size() * sizeof(T) / sizeof(std::int64_t)), device);
}

/// What copied_bytes copied.
template <typename T>
const T* structures(const Tensor& words) {
  return reinterpret_cast<const T*>(device_data<std::int64_t>(words));
}

/// Tells what is cached for one device from what is for another.
inline std::uint64_t key_of(Device device) {
  return static_cast<std::uint64_t>(device.kind == Device::Kind::cpu ? 0 : 1 + device.index);
}

}  // namespace bough::simt
