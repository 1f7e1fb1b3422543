#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/on_device.h"

namespace bough {

/// A piece of one parameter: where to read and write. Pieces are independent and small, so a list of them over all
/// parameters balances a model of a few huge and many tiny tensors.
template <typename T>
struct AdamPiece {
  T* parameter;
  const T* gradient;
  T* first_moment;
  T* second_moment;
  std::int64_t count;
};
template <typename T>
struct SgdPiece {
  T* parameter;
  const T* gradient;
  T* velocity;  ///< null without momentum
  std::int64_t count;
};
template <typename T>
struct Piece {
  T* data;
  std::int64_t count;
};

template <typename T>
void adam_update(Cpu, std::span<const AdamPiece<T>> pieces, const AdamStep& step);
template <typename T>
void sgd_update(Cpu, std::span<const SgdPiece<T>> pieces, const SgdStep& step);
/// Sums of squares of each piece, in double precision.
template <typename T>
void squared_sums(Cpu, std::span<const Piece<const T>> pieces, std::span<double> sums);
template <typename T>
void scale(Cpu, std::span<const Piece<T>> pieces, double factor);

}  // namespace bough
