#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/backend.h"
#include "kernels/optimizer_pieces.h"
#include "kernels/simt/optimizer_step.h"
#include "kernels/simt/row_sums.h"

/// What a training step needs besides its model on a GPU: sums of rows by an index, and updates of parameters. Views
/// and pieces point into the GPU's memory, the lists of pieces are the host's. float and double. See kernels/simt for
/// what the kernels do.
namespace bough {

/// Writes every row of sums [num_rows, width]; width >= 1.
template <typename T>
void sum_rows(Cuda, const simt::GroupedIndex& index, std::int64_t width, const T* values, T* sums);

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
