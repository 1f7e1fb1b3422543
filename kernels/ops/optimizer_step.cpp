#include "bough/ops/optimizer_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bough/core/errors.h"
#include "kernels/cpu/optimizer_step.h"
#include "kernels/cuda/optimizer_step.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

/// On the CPU large enough that a chunk outweighs handing it to a thread, small enough that all of it stays in the
/// first caches; on a GPU some elements for each thread of a block.
std::int64_t elements_of_chunk(Device device) { return device.kind == Device::Kind::cpu ? 16384 : 4096; }

void require_alike(const char* where, const Tensor& parameter, const Tensor& other, const char* what) {
  if (!(other.shape() == parameter.shape())) {
    throw ShapeError(where, fmt::format("a parameter is {}, its {} {}; they must be equal",
                                        to_string(parameter.shape()), what, to_string(other.shape())));
  }
  if (other.dtype() != parameter.dtype()) {
    throw TypeError(where, fmt::format("a parameter holds {}, its {} {}; they must be equal",
                                       name_of(parameter.dtype()), what, name_of(other.dtype())));
  }
  require_same_device(where, {parameter, other});
}

/// Cuts a tensor into chunks: add(offset, count).
template <typename Add>
void cut(const Tensor& tensor, const Add& add) {
  const std::int64_t elements = tensor.elements(), chunk = elements_of_chunk(tensor.device());
  for (std::int64_t offset = 0; offset < elements; offset += chunk) add(offset, std::min(chunk, elements - offset));
}

bool alike(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.device() == b.device(); }

/// Runs body(backend, type, like) once per floating type and device that occur, so that a model may mix them: `like` is
/// a tensor of that kind.
template <typename TensorOf, typename Body>
void for_each_kind(const char* where, std::size_t count, const TensorOf& tensor_of, const Body& body) {
  std::vector<Tensor> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor like = tensor_of(i);
    if (std::ranges::any_of(kinds, [&](const Tensor& kind) { return alike(kind, like); })) continue;
    kinds.push_back(like);
    on_any_device(where, like, [&](auto backend, auto type) { body(backend, type, like); });
  }
}

/// Where the GPU finds what a step leaves to it.
simt::NumbersOnDevice pointers_to(const StepOnDevice& step) {
  if (!step.numbers.defined()) return {};
  return {device_data<double>(step.gradient_scale), device_data<double>(step.numbers)};
}

/// The chunks of those tensors that have the type and device of another.
template <typename T>
std::vector<TensorChunk<const T>> chunks_of(std::span<const Tensor> tensors, const Tensor& like) {
  std::vector<TensorChunk<const T>> chunks;
  for (const Tensor& tensor : tensors) {
    if (!alike(tensor, like)) continue;
    cut(tensor, [&](std::int64_t offset, std::int64_t count) {
      chunks.push_back({device_data<T>(tensor) + offset, count});
    });
  }
  return chunks;
}

/// Of tensors on the CPU.
double norm_on_cpu(std::span<const Tensor> tensors) {
  double total = 0;
  const auto run = [&]<typename Backend, typename T>(Backend backend, TypeTag<T>, const Tensor& like) {
    if constexpr (std::is_same_v<Backend, Cpu>) {
      const std::vector<TensorChunk<const T>> chunks = chunks_of<T>(tensors, like);
      std::vector<double> sums(chunks.size());
      squared_sums<T>(backend, chunks, sums);
      total = std::accumulate(sums.begin(), sums.end(), total);
    }
  };
  for_each_kind(
      "global_norm", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  return std::sqrt(total);
}

}  // namespace

std::array<double, 3> changing_numbers_of(const AdamStep& step) {
  const double bias1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
  const double bias2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
  return {step.decoupled_weight_decay ? 1 - step.learning_rate * step.weight_decay : 1.0, step.learning_rate / bias1,
          1 / std::sqrt(bias2)};
}

std::array<double, 1> changing_numbers_of(const SgdStep& step) { return {step.learning_rate}; }

void adam_update(std::span<AdamSlot> slots, const AdamStep& step, const StepOnDevice& on_device) {
  for (const AdamSlot& slot : slots) {
    require_alike("adam", slot.parameter, slot.gradient, "gradient");
    require_alike("adam", slot.parameter, slot.first_moment, "first moment");
    require_alike("adam", slot.parameter, slot.second_moment, "second moment");
  }
  const auto run = [&]<typename Backend, typename T>(Backend backend, TypeTag<T>, const Tensor& like) {
    std::vector<AdamChunk<T>> chunks;
    for (AdamSlot& slot : slots) {
      if (!alike(slot.parameter, like)) continue;
      const AdamChunk<T> whole{device_data<T>(slot.parameter),
                               device_data<T>(slot.gradient),
                               device_data<T>(slot.first_moment),
                               device_data<T>(slot.second_moment),
                               0,
                               slot.decays};
      cut(slot.parameter, [&](std::int64_t offset, std::int64_t count) {
        chunks.push_back({whole.parameter + offset, whole.gradient + offset, whole.first_moment + offset,
                          whole.second_moment + offset, count, whole.decays});
      });
    }
    if constexpr (std::is_same_v<Backend, Cuda>) {
      adam_update(backend, std::span<const AdamChunk<T>>(chunks), step, pointers_to(on_device));
    } else {
      adam_update(backend, std::span<const AdamChunk<T>>(chunks), step);
    }
  };
  for_each_kind(
      "adam", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (AdamSlot& slot : slots) slot.parameter.mark_written();
}

void sgd_update(std::span<SgdSlot> slots, const SgdStep& step, const StepOnDevice& on_device) {
  for (const SgdSlot& slot : slots) {
    require_alike("sgd", slot.parameter, slot.gradient, "gradient");
    if (slot.velocity.defined()) require_alike("sgd", slot.parameter, slot.velocity, "velocity");
  }
  const auto run = [&]<typename Backend, typename T>(Backend backend, TypeTag<T>, const Tensor& like) {
    std::vector<SgdChunk<T>> chunks;
    for (SgdSlot& slot : slots) {
      if (!alike(slot.parameter, like)) continue;
      T* velocity = slot.velocity.defined() ? device_data<T>(slot.velocity) : nullptr;
      cut(slot.parameter, [&](std::int64_t offset, std::int64_t count) {
        chunks.push_back({device_data<T>(slot.parameter) + offset, device_data<T>(slot.gradient) + offset,
                          velocity == nullptr ? nullptr : velocity + offset, count, slot.decays});
      });
    }
    if constexpr (std::is_same_v<Backend, Cuda>) {
      sgd_update(backend, std::span<const SgdChunk<T>>(chunks), step, pointers_to(on_device));
    } else {
      sgd_update(backend, std::span<const SgdChunk<T>>(chunks), step);
    }
  };
  for_each_kind(
      "sgd", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (SgdSlot& slot : slots) slot.parameter.mark_written();
}

ClippedNorm clipped_norm(std::span<const Tensor> tensors, double gradient_scale, double limit) {
  if (tensors.empty()) throw ShapeError("clipped_norm", "there is no tensor to say on which GPU");
  const Device device = tensors[0].device();
  std::int64_t num_chunks = 0;
  for (const Tensor& tensor : tensors) {
    require_same_device("clipped_norm", {tensors[0], tensor});
    cut(tensor, [&](std::int64_t, std::int64_t) { ++num_chunks; });
  }
  Tensor sums = Tensor::empty({num_chunks}, DType::float64, device);
  std::int64_t done = 0;
  const auto run = [&]<typename Backend, typename T>(Backend backend, TypeTag<T>, const Tensor& like) {
    if constexpr (std::is_same_v<Backend, Cuda>) {
      const std::vector<TensorChunk<const T>> chunks = chunks_of<T>(tensors, like);
      squared_sums<T>(backend, chunks, device_data<double>(sums) + done);
      done += static_cast<std::int64_t>(chunks.size());
    } else {
      throw DeviceError("clipped_norm", "is for tensors on a GPU; global_norm gives the norm of others");
    }
  };
  for_each_kind(
      "clipped_norm", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  ClippedNorm result{Tensor::empty({}, DType::float64, device), Tensor::empty({}, DType::float64, device)};
  clipped_norm(Cuda{device.index}, {.sums = device_data<double>(sums),
                                    .count = num_chunks,
                                    .gradient_scale = gradient_scale,
                                    .limit = limit,
                                    .norm = device_data<double>(result.norm),
                                    .scale = device_data<double>(result.scale)});
  return result;
}

double global_norm(std::span<const Tensor> tensors) {
  std::vector<std::vector<Tensor>> by_device;
  for (const Tensor& tensor : tensors) {
    const auto known = std::ranges::find(by_device, tensor.device(), [](const auto& list) { return list[0].device(); });
    if (known == by_device.end()) {
      by_device.push_back({tensor});
    } else {
      known->push_back(tensor);
    }
  }
  double norm = 0;
  for (const std::vector<Tensor>& list : by_device) {
    const bool on_cpu = list[0].device().kind == Device::Kind::cpu;
    norm = std::hypot(norm, on_cpu ? norm_on_cpu(list) : clipped_norm(list, 1, 0).norm.item<double>());
  }
  return norm;
}

void scale_in_place(std::span<Tensor> tensors, double factor) {
  const auto run = [&]<typename T>(auto backend, TypeTag<T>, const Tensor& like) {
    std::vector<TensorChunk<T>> chunks;
    for (Tensor& tensor : tensors) {
      if (!alike(tensor, like)) continue;
      T* data = device_data<T>(tensor);
      cut(tensor, [&](std::int64_t offset, std::int64_t count) { chunks.push_back({data + offset, count}); });
    }
    scale<T>(backend, chunks, factor);
  };
  for_each_kind(
      "scale_in_place", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  for (Tensor& tensor : tensors) tensor.mark_written();
}

}  // namespace bough
