#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/on_device.h"
#include "kernels/optimizer_pieces.h"

namespace bough {

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
