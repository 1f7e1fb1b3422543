#include "bough/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "bough/core/errors.h"
#include "bough/ops/optimizer_step.h"

namespace bough::nn {

Tensor xavier_uniform(const Shape& shape, double gain) {
  if (shape.rank() != 2) {
    throw ShapeError("xavier_uniform", fmt::format("needs a weight [out, in], not {}", to_string(shape)));
  }
  const double reach = gain * std::sqrt(6.0 / std::max<double>(1, static_cast<double>(shape[0] + shape[1])));
  return rand_uniform(shape, -reach, reach);
}

Tensor normal(const Shape& shape, double standard_deviation) {
  Tensor result = randn(shape);
  scale_in_place(std::span(&result, 1), standard_deviation);
  return result;
}

}  // namespace bough::nn
