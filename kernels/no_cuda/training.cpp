#include "kernels/cuda/training.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

template <typename T>
void sum_rows(Cuda, const simt::GroupedIndex&, std::int64_t, const T*, T*) {
  no_cuda("sum_rows");
}
template <typename T>
void adam_update(Cuda, std::span<const AdamPiece<T>>, const AdamStep&, const simt::NumbersOnDevice&) {
  no_cuda("adam");
}
template <typename T>
void sgd_update(Cuda, std::span<const SgdPiece<T>>, const SgdStep&, const simt::NumbersOnDevice&) {
  no_cuda("sgd");
}
template <typename T>
void squared_sums(Cuda, std::span<const Piece<const T>>, double*) {
  no_cuda("global_norm");
}
void clipped_norm(Cuda, const simt::ClippedNorm&) { no_cuda("clipped_norm"); }
template <typename T>
void scale(Cuda, std::span<const Piece<T>>, double) {
  no_cuda("scale_in_place");
}

}  // namespace bough

#include "kernels/cuda/training_instances.h"
