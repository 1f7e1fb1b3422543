#include "kernels/cuda/queue.h"
#include "kernels/cuda/training.h"

namespace bough {
namespace {

template <typename Piece>
std::int64_t count_of(std::span<const Piece> pieces) {
  return static_cast<std::int64_t>(pieces.size());
}

}  // namespace

template <typename T>
void sum_rows(Cuda gpu, const simt::GroupedIndex& index, std::int64_t width, const T* values, T* sums) {
  cuda::Queue queue(gpu.device);
  simt::sum_rows(queue, index, width, values, sums);
}

template <typename T>
void adam_update(Cuda gpu, std::span<const AdamPiece<T>> pieces, const AdamStep& step,
                 const simt::NumbersOnDevice& on_device) {
  cuda::Queue queue(gpu.device);
  simt::adam_update<T>(queue, queue.upload(pieces).data(), count_of(pieces), step, on_device);
}

template <typename T>
void sgd_update(Cuda gpu, std::span<const SgdPiece<T>> pieces, const SgdStep& step,
                const simt::NumbersOnDevice& on_device) {
  cuda::Queue queue(gpu.device);
  simt::sgd_update<T>(queue, queue.upload(pieces).data(), count_of(pieces), step, on_device);
}

template <typename T>
void squared_sums(Cuda gpu, std::span<const Piece<const T>> pieces, double* sums) {
  cuda::Queue queue(gpu.device);
  simt::squared_sums(queue, queue.upload(pieces).data(), count_of(pieces), sums);
}

void clipped_norm(Cuda gpu, const simt::ClippedNorm& norm) {
  cuda::Queue queue(gpu.device);
  simt::clipped_norm(queue, norm);
}

template <typename T>
void scale(Cuda gpu, std::span<const Piece<T>> pieces, double factor) {
  cuda::Queue queue(gpu.device);
  simt::scale<T>(queue, queue.upload(pieces).data(), count_of(pieces), factor);
}

}  // namespace bough

#include "kernels/cuda/training_instances.h"
