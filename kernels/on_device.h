#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "bough/core/errors.h"
#include "bough/core/tensor.h"
#include "kernels/backend.h"

/// The one place where an operation chooses its kernels, by device and element type of a tensor: on_any_device and its
/// variants where there are kernels for GPUs too, on_cpu where there are none.
namespace bough {

/// DeviceError unless all defined tensors are on one device.
void require_same_device(std::string_view where, std::initializer_list<Tensor> tensors);

/// The error with what it was about: DeviceError adding type, shape and device of the tensor.
[[noreturn]] void throw_with_tensor(const DeviceError& error, const Tensor& tensor);

/// Calls f(backend) with the backend of the device that the tensor is on: Cpu or Cuda. An error on a GPU names the
/// tensor.
template <typename F>
void with_backend(const Tensor& tensor, F&& f) {
  if (tensor.device().kind == Device::Kind::cpu) return f(Cpu{});
  try {
    f(Cuda{tensor.device().index});
  } catch (const DeviceError& error) {
    throw_with_tensor(error, tensor);
  }
}

/// Calls f(backend, TypeTag<T>) for float32 and float64; TypeError for other types.
template <typename F>
void on_any_device(std::string_view where, const Tensor& tensor, F&& f) {
  with_backend(tensor,
               [&](auto backend) { visit_floating(where, tensor.dtype(), [&](auto type) { f(backend, type); }); });
}

/// Calls f(backend, TypeTag<T>) for float32, float64, int32 and int64; TypeError for bool.
template <typename F>
void on_any_device_number(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.dtype() == DType::boolean) throw TypeError(where, "takes numbers, not bool; cast() converts");
  if (is_floating(tensor.dtype())) return on_any_device(where, tensor, f);
  with_backend(tensor, [&](auto backend) {
    if (tensor.dtype() == DType::int32) return f(backend, TypeTag<std::int32_t>{});
    f(backend, TypeTag<std::int64_t>{});
  });
}

/// Calls f(backend, TypeTag<T>) for every element type but bfloat16.
template <typename F>
void on_any_device_any_type(std::string_view where, const Tensor& tensor, F&& f) {
  with_backend(tensor, [&](auto backend) {
    visit_all_but_bfloat16(where, tensor.dtype(), [&](auto type) { f(backend, type); });
  });
}

/// Calls f(Cpu, TypeTag<T>) for float32 and float64; DeviceError for a tensor on a GPU.
template <typename F>
void on_cpu(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.device().kind != Device::Kind::cpu) {
    throw DeviceError(where,
                      fmt::format("has no kernel for {} in this build; use Device::cpu()", to_string(tensor.device())));
  }
  visit_floating(where, tensor.dtype(), [&](auto type) { f(Cpu{}, type); });
}

}  // namespace bough
