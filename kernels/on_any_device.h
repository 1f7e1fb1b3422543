#pragma once

#include "kernels/on_device.h"

namespace bough {

/// on_device for operations that have kernels on GPUs too: calls f(Cpu or Cuda, TypeTag<T>).
template <typename F>
void on_any_device(std::string_view where, const Tensor& tensor, F&& f) {
  if (tensor.device().kind == Device::Kind::cpu) return on_device(where, tensor, f);
  const Cuda gpu{tensor.device().index};
  visit_floating(where, tensor.dtype(), [&](auto type) { f(gpu, type); });
}

}  // namespace bough
