#include "kernels/cuda/optimizer_step.h"
#include "kernels/cuda/queue.h"

namespace bough {

namespace {

template <typename Piece>
std::int64_t count_of(std::span<const Piece> pieces) {
  return static_cast<std::int64_t>(pieces.size());
}

}  // namespace

template <typename T>
void adam_update(Cuda gpu, std::span<const AdamPiece<T>> pieces, const AdamStep& step,
                 const simt::NumbersOnDevice& on_device) {
  cuda::on_gpu("adam", gpu, [&](auto& queue) {
    simt::adam_update<T>(queue, queue.upload(pieces).data(), count_of(pieces), step, on_device);
  });
}
template void adam_update(Cuda, std::span<const AdamPiece<float>>, const AdamStep&, const simt::NumbersOnDevice&);
template void adam_update(Cuda, std::span<const AdamPiece<double>>, const AdamStep&, const simt::NumbersOnDevice&);

template <typename T>
void sgd_update(Cuda gpu, std::span<const SgdPiece<T>> pieces, const SgdStep& step,
                const simt::NumbersOnDevice& on_device) {
  cuda::on_gpu("sgd", gpu, [&](auto& queue) {
    simt::sgd_update<T>(queue, queue.upload(pieces).data(), count_of(pieces), step, on_device);
  });
}
template void sgd_update(Cuda, std::span<const SgdPiece<float>>, const SgdStep&, const simt::NumbersOnDevice&);
template void sgd_update(Cuda, std::span<const SgdPiece<double>>, const SgdStep&, const simt::NumbersOnDevice&);

template <typename T>
void squared_sums(Cuda gpu, std::span<const Piece<const T>> pieces, double* sums) {
  cuda::on_gpu("global_norm", gpu,
               [&](auto& queue) { simt::squared_sums(queue, queue.upload(pieces).data(), count_of(pieces), sums); });
}
template void squared_sums(Cuda, std::span<const Piece<const float>>, double*);
template void squared_sums(Cuda, std::span<const Piece<const double>>, double*);

void clipped_norm(Cuda gpu, const simt::ClippedNorm& norm) {
  cuda::on_gpu("clipped_norm", gpu, [&](auto& queue) { simt::clipped_norm(queue, norm); });
}

template <typename T>
void scale(Cuda gpu, std::span<const Piece<T>> pieces, double factor) {
  cuda::on_gpu("scale_in_place", gpu,
               [&](auto& queue) { simt::scale<T>(queue, queue.upload(pieces).data(), count_of(pieces), factor); });
}
template void scale(Cuda, std::span<const Piece<float>>, double);
template void scale(Cuda, std::span<const Piece<double>>, double);

}  // namespace bough
