#include "bough/core/device_address.h"

#include "bough/core/errors.h"
#include "src/core/tensor_body.h"

namespace bough {

void* device_address(const Tensor& tensor) {
  if (!tensor.defined()) throw ShapeError("device_address", "the tensor is not defined");
  return tensor.body()->bytes();
}

}  // namespace bough
