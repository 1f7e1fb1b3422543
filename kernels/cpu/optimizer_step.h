#pragma once

#include <span>

#include "bough/ops/optimizer_step.h"
#include "kernels/on_device.h"
#include "kernels/optimizer_chunks.h"

namespace bough {

template <typename T>
void adam_update(Cpu, std::span<const AdamChunk<T>> chunks, const AdamStep& step);
template <typename T>
void sgd_update(Cpu, std::span<const SgdChunk<T>> chunks, const SgdStep& step);
/// Sums of squares of each chunk, in double precision.
template <typename T>
void squared_sums(Cpu, std::span<const TensorChunk<const T>> chunks, std::span<double> sums);
template <typename T>
void scale(Cpu, std::span<const TensorChunk<T>> chunks, double factor);

}  // namespace bough
