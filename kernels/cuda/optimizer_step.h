#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/backend.h"
#include "kernels/optimizer_chunks.h"
#include "kernels/simt/optimizer_step.h"

/// Updates of parameters. Chunks point into the memory of the GPU, the lists of chunks are the host's. T: float,
/// double.
namespace bough {

template <typename T>
void adam_update(Cuda, std::span<const AdamChunk<T>> chunks, const AdamStep& step,
                 const simt::NumbersOnDevice& on_device);
template <typename T>
void sgd_update(Cuda, std::span<const SgdChunk<T>> chunks, const SgdStep& step, const simt::NumbersOnDevice& on_device);
/// Sums of squares of each chunk, in double precision, on the GPU too.
template <typename T>
void squared_sums(Cuda, std::span<const TensorChunk<const T>> chunks, double* sums);
/// From sums on the GPU; writes norm and scale.
void clipped_norm(Cuda, const simt::ClippedNorm& norm);
template <typename T>
void scale(Cuda, std::span<const TensorChunk<T>> chunks, double factor);

}  // namespace bough
