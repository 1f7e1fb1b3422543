#include "kernels/cuda/optimizer_step.h"
#include "kernels/cuda/queue.h"

namespace bough {

namespace {

template <typename Chunk>
std::int64_t count_of(std::span<const Chunk> chunks) {
  return static_cast<std::int64_t>(chunks.size());
}

}  // namespace

template <typename T>
void adam_update(Cuda gpu, std::span<const AdamChunk<T>> chunks, const AdamStep& step,
                 const simt::NumbersOnDevice& on_device) {
  cuda::on_gpu("adam", gpu, [&](auto& queue) {
    simt::adam_update<T>(queue, queue.upload(chunks).data(), count_of(chunks), step, on_device);
  });
}
template void adam_update(Cuda, std::span<const AdamChunk<float>>, const AdamStep&, const simt::NumbersOnDevice&);
template void adam_update(Cuda, std::span<const AdamChunk<double>>, const AdamStep&, const simt::NumbersOnDevice&);

template <typename T>
void sgd_update(Cuda gpu, std::span<const SgdChunk<T>> chunks, const SgdStep& step,
                const simt::NumbersOnDevice& on_device) {
  cuda::on_gpu("sgd", gpu, [&](auto& queue) {
    simt::sgd_update<T>(queue, queue.upload(chunks).data(), count_of(chunks), step, on_device);
  });
}
template void sgd_update(Cuda, std::span<const SgdChunk<float>>, const SgdStep&, const simt::NumbersOnDevice&);
template void sgd_update(Cuda, std::span<const SgdChunk<double>>, const SgdStep&, const simt::NumbersOnDevice&);

template <typename T>
void squared_sums(Cuda gpu, std::span<const TensorChunk<const T>> chunks, double* sums) {
  cuda::on_gpu("global_norm", gpu,
               [&](auto& queue) { simt::squared_sums(queue, queue.upload(chunks).data(), count_of(chunks), sums); });
}
template void squared_sums(Cuda, std::span<const TensorChunk<const float>>, double*);
template void squared_sums(Cuda, std::span<const TensorChunk<const double>>, double*);

void clipped_norm(Cuda gpu, const simt::ClippedNorm& norm) {
  cuda::on_gpu("clipped_norm", gpu, [&](auto& queue) { simt::clipped_norm(queue, norm); });
}

template <typename T>
void scale(Cuda gpu, std::span<const TensorChunk<T>> chunks, double factor) {
  cuda::on_gpu("scale_in_place", gpu,
               [&](auto& queue) { simt::scale<T>(queue, queue.upload(chunks).data(), count_of(chunks), factor); });
}
template void scale(Cuda, std::span<const TensorChunk<float>>, double);
template void scale(Cuda, std::span<const TensorChunk<double>>, double);

}  // namespace bough
