#include "kernels/on_device.h"

#include "kernels/ops/operands.h"
#include "src/core/tensor_body.h"

namespace bough {

void require_defined(std::string_view where, std::string_view operand, const Tensor& tensor) {
  if (tensor.defined()) return;
  throw_if_missing(tensor);
  throw Error(where, fmt::format("{} is undefined; it was never given a value", operand));
}

void throw_with_tensor(const DeviceError& error, const Tensor& tensor) {
  throw DeviceError(fmt::format("{}, computing with {} {} on {}", error.what(), name_of(tensor.dtype()),
                                to_string(tensor.shape()), to_string(tensor.device())));
}

void require_same_device(std::string_view where, std::initializer_list<Tensor> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    throw_if_missing(tensor);
    if (!tensor.defined()) continue;
    if (first == nullptr) first = &tensor;
    if (!(tensor.device() == first->device())) {
      throw DeviceError(where, fmt::format("one tensor is on {}, another on {}; to(device) moves them together",
                                           to_string(first->device()), to_string(tensor.device())));
    }
  }
}

}  // namespace bough
