#include "bough/ops/dropout.h"

#include <fmt/format.h>

#include "bough/autograd/autograd.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cuda/dropout.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

Tensor dropped(const Tensor& x, double p, RandomStream stream) {
  Tensor y = empty_like(x);
  on_any_device("dropout", x, [&]<typename T>(auto backend, TypeTag<T>) {
    dropout(backend, device_span<T>(x), p, stream, device_data<T>(y));
  });
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const DropoutOptions& options) {
  if (!(p >= 0 && p <= 1)) throw ConfigError("dropout", fmt::format("p must be from 0 to 1, not {}", p));
  visit_floating("dropout", x.dtype(), [](auto) {});
  if (!options.training || p == 0) return x;
  const RandomStream stream = (options.generator != nullptr ? *options.generator : default_generator()).next_stream();
  // y = x * mask / (1 - p):  dx = dy * mask / (1 - p)
  return autograd::record({.name = "dropout",
                           .inputs = {x},
                           .backward = [p, stream](const BackwardCall& call) -> Gradients {
                             return {dropped(call.gradient(), p, stream)};
                           }},
                          dropped(x, p, stream));
}

}  // namespace bough
