#include "bough/ops/optimizer_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bough/core/errors.h"
#include "kernels/cpu/optimizer_step.h"
#include "kernels/cuda/training.h"
#include "kernels/device_data.h"
#include "kernels/on_any_device.h"

namespace bough {
namespace {

/// On the CPU large enough that a piece outweighs handing it to a thread, small enough that all of it stays in the
/// first caches; on a GPU some elements for each thread of a block.
std::int64_t piece_elements(Device device) { return device.kind == Device::Kind::cpu ? 16384 : 4096; }

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

/// Cuts a tensor into pieces: add(offset, count).
template <typename Add>
void cut(const Tensor& tensor, const Add& add) {
  const std::int64_t elements = tensor.elements(), piece = piece_elements(tensor.device());
  for (std::int64_t offset = 0; offset < elements; offset += piece) add(offset, std::min(piece, elements - offset));
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

template <typename T>
std::vector<double> squared_sums_of(Cpu cpu, const std::vector<Piece<const T>>& pieces) {
  std::vector<double> sums(pieces.size());
  squared_sums<T>(cpu, pieces, sums);
  return sums;
}
template <typename T>
std::vector<double> squared_sums_of(Cuda gpu, const std::vector<Piece<const T>>& pieces) {
  Tensor sums = Tensor::empty({static_cast<std::int64_t>(pieces.size())}, DType::float64, Device::cuda(gpu.device));
  squared_sums<T>(gpu, pieces, device_data<double>(sums));
  return sums.to_vector<double>();
}

}  // namespace

void adam_update(std::span<AdamSlot> slots, const AdamStep& step) {
  for (const AdamSlot& slot : slots) {
    require_alike("adam", slot.parameter, slot.gradient, "gradient");
    require_alike("adam", slot.parameter, slot.first_moment, "first moment");
    require_alike("adam", slot.parameter, slot.second_moment, "second moment");
  }
  const auto run = [&]<typename T>(auto backend, TypeTag<T>, const Tensor& like) {
    std::vector<AdamPiece<T>> pieces;
    for (AdamSlot& slot : slots) {
      if (!alike(slot.parameter, like)) continue;
      const AdamPiece<T> whole{device_data<T>(slot.parameter), device_data<T>(slot.gradient),
                               device_data<T>(slot.first_moment), device_data<T>(slot.second_moment), 0};
      cut(slot.parameter, [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({whole.parameter + offset, whole.gradient + offset, whole.first_moment + offset,
                          whole.second_moment + offset, count});
      });
    }
    adam_update(backend, std::span<const AdamPiece<T>>(pieces), step);
  };
  for_each_kind(
      "adam", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (AdamSlot& slot : slots) slot.parameter.mark_written();
}

void sgd_update(std::span<SgdSlot> slots, const SgdStep& step) {
  for (const SgdSlot& slot : slots) {
    require_alike("sgd", slot.parameter, slot.gradient, "gradient");
    if (slot.velocity.defined()) require_alike("sgd", slot.parameter, slot.velocity, "velocity");
  }
  const auto run = [&]<typename T>(auto backend, TypeTag<T>, const Tensor& like) {
    std::vector<SgdPiece<T>> pieces;
    for (SgdSlot& slot : slots) {
      if (!alike(slot.parameter, like)) continue;
      T* velocity = slot.velocity.defined() ? device_data<T>(slot.velocity) : nullptr;
      cut(slot.parameter, [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({device_data<T>(slot.parameter) + offset, device_data<T>(slot.gradient) + offset,
                          velocity == nullptr ? nullptr : velocity + offset, count});
      });
    }
    sgd_update(backend, std::span<const SgdPiece<T>>(pieces), step);
  };
  for_each_kind(
      "sgd", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (SgdSlot& slot : slots) slot.parameter.mark_written();
}

double global_norm(std::span<const Tensor> tensors) {
  double total = 0;
  const auto run = [&]<typename T>(auto backend, TypeTag<T>, const Tensor& like) {
    std::vector<Piece<const T>> pieces;
    for (const Tensor& tensor : tensors) {
      if (!alike(tensor, like)) continue;
      cut(tensor, [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({device_data<T>(tensor) + offset, count});
      });
    }
    const std::vector<double> sums = squared_sums_of<T>(backend, pieces);
    total = std::accumulate(sums.begin(), sums.end(), total);
  };
  for_each_kind(
      "global_norm", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  return std::sqrt(total);
}

void scale_in_place(std::span<Tensor> tensors, double factor) {
  const auto run = [&]<typename T>(auto backend, TypeTag<T>, const Tensor& like) {
    std::vector<Piece<T>> pieces;
    for (Tensor& tensor : tensors) {
      if (!alike(tensor, like)) continue;
      T* data = device_data<T>(tensor);
      cut(tensor, [&](std::int64_t offset, std::int64_t count) { pieces.push_back({data + offset, count}); });
    }
    scale<T>(backend, pieces, factor);
  };
  for_each_kind(
      "scale_in_place", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  for (Tensor& tensor : tensors) tensor.mark_written();
}

}  // namespace bough
