#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "bough/core/tensor.h"
#include "kernels/backend.h"

namespace bough {

/// DeviceError unless all defined tensors are on one device.
void require_same_device(std::string_view where, std::initializer_list<Tensor> tensors);

/// Calls f(backend, TypeTag<T>) for the device and floating type of `tensor`: the one place where an operation chooses.
template <typename F>
void on_device(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.device().kind != Device::Kind::cpu) {
    throw DeviceError(where,
                      fmt::format("has no kernel for {} in this build; use Device::cpu()", to_string(tensor.device())));
  }
  visit_floating(where, tensor.dtype(), [&](auto type) { f(Cpu{}, type); });
}

/// The same for operations that also take int32 and int64; TypeError for bool.
template <typename F>
void on_device_number(std::string_view where, const Tensor& tensor, F&& f) {
  if (is_floating(tensor.dtype())) return on_device(where, tensor, f);
  if (tensor.device().kind != Device::Kind::cpu) {
    throw DeviceError(where,
                      fmt::format("has no kernel for {} in this build; use Device::cpu()", to_string(tensor.device())));
  }
  if (tensor.dtype() == DType::boolean) throw TypeError(where, "takes numbers, not bool; cast() converts");
  if (tensor.dtype() == DType::int32) return f(Cpu{}, TypeTag<std::int32_t>{});
  f(Cpu{}, TypeTag<std::int64_t>{});
}

/// The same for operations that take every element type but bfloat16.
template <typename F>
void on_device_any_type(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.device().kind != Device::Kind::cpu) {
    throw DeviceError(where,
                      fmt::format("has no kernel for {} in this build; use Device::cpu()", to_string(tensor.device())));
  }
  visit_all_but_bfloat16(where, tensor.dtype(), [&](auto type) { f(Cpu{}, type); });
}

}  // namespace bough
