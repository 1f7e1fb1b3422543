#include "bough/ops/packed_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "bough/autograd/autograd.h"
#include "bough/ops/arrange.h"
#include "kernels/cpu/gemm.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/operands.h"

namespace bough {

struct PackedWeights {
  std::variant<PackedMatrix<float>, PackedMatrix<double>> matrix;
};

namespace {

constexpr const char* packed_linear = "packed linear";

void require_parts(const std::vector<LinearPart>& parts) {
  if (parts.empty()) throw ShapeError(packed_linear, "there must be at least one part");
  for (const LinearPart& part : parts) {
    require_defined(packed_linear, "a weight", part.weight);
    const Tensor &first = parts.front().weight, &weight = part.weight;
    require_same_device(packed_linear, {first, weight, part.bias});
    if (weight.rank() != 2 || weight.size(1) != first.size(-1)) {
      throw ShapeError(packed_linear,
                       fmt::format("all weights must be [out, in] with one number of inputs, but one is {}, another {}",
                                   to_string(first.shape()), to_string(weight.shape())));
    }
    if (part.bias.defined() && part.bias.shape() != Shape{weight.size(0)}) {
      throw ShapeError(packed_linear, fmt::format("the bias must be [out]; it is {}, the weight [out, in] is {}",
                                                  to_string(part.bias.shape()), to_string(weight.shape())));
    }
    if (weight.dtype() != first.dtype() || (part.bias.defined() && part.bias.dtype() != first.dtype())) {
      throw TypeError(packed_linear, "all weights and biases must have one type");
    }
  }
}

/// The weights of all parts, one below the other.
Tensor joined_weight(const std::vector<LinearPart>& parts) {
  std::vector<Tensor> weights;
  for (const LinearPart& part : parts) weights.push_back(part.weight.detach());
  return weights.size() == 1 ? weights.front() : concatenate(weights, 0);
}

/// Undefined if no part has one.
Tensor joined_bias(const std::vector<LinearPart>& parts) {
  if (std::ranges::none_of(parts, [](const LinearPart& part) { return part.bias.defined(); })) return {};
  std::vector<Tensor> biases;
  for (const LinearPart& part : parts) {
    const Tensor& weight = part.weight;
    biases.push_back(part.bias.defined() ? part.bias.detach()
                                         : zeros({weight.size(0)}, weight.dtype(), weight.device()));
  }
  return biases.size() == 1 ? biases.front() : concatenate(biases, 0);
}

}  // namespace

PackedLinear::PackedLinear(std::vector<LinearPart> parts, Activation activation)
    : parts_(std::move(parts)), activation_(activation) {
  require_parts(parts_);
  in_ = parts_.front().weight.size(1);
  for (const LinearPart& part : parts_) out_ += part.weight.size(0);
  pack();
}

std::vector<std::uint64_t> PackedLinear::versions() const {
  std::vector<std::uint64_t> result;
  for (const LinearPart& part : parts_) {
    result.push_back(part.weight.version());
    if (part.bias.defined()) result.push_back(part.bias.version());
  }
  return result;
}

void PackedLinear::pack() {
  const NoGrad no_grad;
  const Tensor weight = joined_weight(parts_);
  bias_ = joined_bias(parts_);
  packed_versions_ = versions();
  if (weight.device().kind != Device::Kind::cpu) {
    weight_ = weight;
    return;
  }
  on_cpu(packed_linear, weight, [&]<typename T>(Cpu cpu, TypeTag<T>) {
    const Matrix<const T> transposed = dense_matrix(device_data<T>(weight), out_, in_).transposed();
    packed_ = std::make_shared<const PackedWeights>(PackedWeights{pack_matrix(cpu, transposed)});
  });
}

Tensor PackedLinear::forward(const Tensor& x) {
  require_defined(packed_linear, "x", x);
  const Tensor& weight = parts_.front().weight;
  require_same_device(packed_linear, {x, weight});
  if (x.rank() != 2 || x.size(1) != in_) {
    throw ShapeError(packed_linear, fmt::format("x must be [rows, {}], it is {}", in_, to_string(x.shape())));
  }
  if (x.dtype() != weight.dtype()) {
    throw TypeError(packed_linear, fmt::format("x is {}, the weight {}; they must have one type, cast() converts",
                                               name_of(x.dtype()), name_of(weight.dtype())));
  }
  if (packed_versions_ != versions()) pack();
  const NoGrad no_grad;
  if (packed_ == nullptr) return linear(x, weight_, bias_, activation_);
  Tensor y = Tensor::empty({x.size(0), out_}, x.dtype());
  on_cpu(packed_linear, x, [&]<typename T>(Cpu cpu, TypeTag<T>) {
    gemm(cpu, dense_matrix(device_data<T>(x), x.size(0), in_), std::get<PackedMatrix<T>>(packed_->matrix),
         dense_matrix(device_data<T>(y), x.size(0), out_),
         GemmOptions<T>{.bias = bias_.defined() ? device_data<T>(bias_) : nullptr, .activation = activation_});
  });
  return y;
}

}  // namespace bough
