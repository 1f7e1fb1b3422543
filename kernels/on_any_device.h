#pragma once

#include "bough/core/errors.h"
#include "kernels/on_device.h"

/// on_device and its sisters for operations that have kernels on GPUs too: f gets Cpu or Cuda.
namespace bough {

/// The error with what it was about: DeviceError adding type, shape and device of the tensor.
[[noreturn]] void throw_with_tensor(const DeviceError& error, const Tensor& tensor);

/// Calls f(backend) with the backend of the device that the tensor is on. What goes wrong on a GPU names the tensor.
template <typename F>
void with_backend(const Tensor& tensor, F&& f) {
  if (tensor.device().kind == Device::Kind::cpu) return f(Cpu{});
  try {
    f(Cuda{tensor.device().index});
  } catch (const DeviceError& error) {
    throw_with_tensor(error, tensor);
  }
}

template <typename F>
void on_any_device(std::string_view where, const Tensor& tensor, F&& f) {
  with_backend(tensor,
               [&](auto backend) { visit_floating(where, tensor.dtype(), [&](auto type) { f(backend, type); }); });
}

/// TypeError for bool.
template <typename F>
void on_any_device_number(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.dtype() == DType::boolean) throw TypeError(where, "takes numbers, not bool; cast() converts");
  if (is_floating(tensor.dtype())) return on_any_device(where, tensor, f);
  with_backend(tensor, [&](auto backend) {
    if (tensor.dtype() == DType::int32) return f(backend, TypeTag<std::int32_t>{});
    f(backend, TypeTag<std::int64_t>{});
  });
}

template <typename F>
void on_any_device_any_type(std::string_view where, const Tensor& tensor, F&& f) {
  with_backend(tensor, [&](auto backend) {
    visit_all_but_bfloat16(where, tensor.dtype(), [&](auto type) { f(backend, type); });
  });
}

}  // namespace bough
