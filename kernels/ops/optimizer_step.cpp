#include "bough/ops/optimizer_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "bough/core/errors.h"
#include "kernels/cpu/optimizer_step.h"
#include "kernels/on_device.h"

namespace bough {
namespace {

/// Large enough that a piece outweighs handing it to a thread, small enough that all of it stays in the first caches.
constexpr std::int64_t piece_elements = 16384;

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

/// Cuts tensors of `elements` each into pieces: add(slot index, offset, count).
template <typename Add>
void cut(std::int64_t elements, const Add& add) {
  for (std::int64_t offset = 0; offset < elements; offset += piece_elements) {
    add(offset, std::min(piece_elements, elements - offset));
  }
}

/// Runs body(backend, type) once per floating type that occurs, so that a model may mix them.
template <typename TypeOf, typename Body>
void for_each_type(const char* where, std::size_t count, const TypeOf& tensor_of, const Body& body) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (std::size_t i = 0; i < count; ++i) {
      if (tensor_of(i).dtype() != dtype) continue;
      on_device(where, tensor_of(i), body);
      break;
    }
  }
}

}  // namespace

void adam_update(std::span<AdamSlot> slots, const AdamStep& step) {
  for (const AdamSlot& slot : slots) {
    require_alike("adam", slot.parameter, slot.gradient, "gradient");
    require_alike("adam", slot.parameter, slot.first_moment, "first moment");
    require_alike("adam", slot.parameter, slot.second_moment, "second moment");
  }
  const auto run = [&]<typename T>(auto backend, TypeTag<T>) {
    std::vector<AdamPiece<T>> pieces;
    for (AdamSlot& slot : slots) {
      if (slot.parameter.dtype() != dtype_of<T>()) continue;
      const AdamPiece<T> whole{slot.parameter.data<T>(), slot.gradient.data<T>(), slot.first_moment.data<T>(),
                               slot.second_moment.data<T>(), 0};
      cut(slot.parameter.elements(), [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({whole.parameter + offset, whole.gradient + offset, whole.first_moment + offset,
                          whole.second_moment + offset, count});
      });
    }
    adam_update(backend, std::span<const AdamPiece<T>>(pieces), step);
  };
  for_each_type(
      "adam", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (AdamSlot& slot : slots) slot.parameter.mark_written();
}

void sgd_update(std::span<SgdSlot> slots, const SgdStep& step) {
  for (const SgdSlot& slot : slots) {
    require_alike("sgd", slot.parameter, slot.gradient, "gradient");
    if (slot.velocity.defined()) require_alike("sgd", slot.parameter, slot.velocity, "velocity");
  }
  const auto run = [&]<typename T>(auto backend, TypeTag<T>) {
    std::vector<SgdPiece<T>> pieces;
    for (SgdSlot& slot : slots) {
      if (slot.parameter.dtype() != dtype_of<T>()) continue;
      T* velocity = slot.velocity.defined() ? slot.velocity.data<T>() : nullptr;
      cut(slot.parameter.elements(), [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({slot.parameter.data<T>() + offset, slot.gradient.data<T>() + offset,
                          velocity == nullptr ? nullptr : velocity + offset, count});
      });
    }
    sgd_update(backend, std::span<const SgdPiece<T>>(pieces), step);
  };
  for_each_type(
      "sgd", slots.size(), [&](std::size_t i) { return slots[i].parameter; }, run);
  for (SgdSlot& slot : slots) slot.parameter.mark_written();
}

double global_norm(std::span<const Tensor> tensors) {
  double total = 0;
  const auto run = [&]<typename T>(auto backend, TypeTag<T>) {
    std::vector<Piece<const T>> pieces;
    for (const Tensor& tensor : tensors) {
      if (tensor.dtype() != dtype_of<T>()) continue;
      cut(tensor.elements(), [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({tensor.data<T>() + offset, count});
      });
    }
    std::vector<double> sums(pieces.size());
    squared_sums<T>(backend, pieces, sums);
    total = std::accumulate(sums.begin(), sums.end(), total);
  };
  for_each_type(
      "global_norm", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  return std::sqrt(total);
}

void scale_in_place(std::span<Tensor> tensors, double factor) {
  const auto run = [&]<typename T>(auto backend, TypeTag<T>) {
    std::vector<Piece<T>> pieces;
    for (Tensor& tensor : tensors) {
      if (tensor.dtype() != dtype_of<T>()) continue;
      T* data = tensor.data<T>();
      cut(tensor.elements(), [&](std::int64_t offset, std::int64_t count) {
        pieces.push_back({data + offset, count});
      });
    }
    scale<T>(backend, pieces, factor);
  };
  for_each_type(
      "scale_in_place", tensors.size(), [&](std::size_t i) { return tensors[i]; }, run);
  for (Tensor& tensor : tensors) tensor.mark_written();
}

}  // namespace bough
