#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/backend.h"
#include "kernels/optimizer_pieces.h"
#include "kernels/simt/optimizer_step.h"

/// Updates of parameters. Pieces point into the memory of the GPU, the lists of pieces are the host's. T: float,
/// double.
namespace bough {

template <typename T>
void adam_update(Cuda, std::span<const AdamPiece<T>> pieces, const AdamStep& step,
                 const simt::NumbersOnDevice& on_device);
template <typename T>
void sgd_update(Cuda, std::span<const SgdPiece<T>> pieces, const SgdStep& step, const simt::NumbersOnDevice& on_device);
/// Sums of squares of each piece, in double precision, on the GPU too.
template <typename T>
void squared_sums(Cuda, std::span<const Piece<const T>> pieces, double* sums);
/// From sums on the GPU; writes norm and scale.
void clipped_norm(Cuda, const simt::ClippedNorm& norm);
template <typename T>
void scale(Cuda, std::span<const Piece<T>> pieces, double factor);

}  // namespace bough
