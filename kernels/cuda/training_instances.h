// The types that kernels/cuda/training.h promises. Ends the source that defines its functions, on a GPU or without
// one, so no #pragma once.
#include "kernels/cuda/training.h"

namespace bough {

template void sum_rows(Cuda, const simt::GroupedIndex&, std::int64_t, const float*, float*);
template void adam_update(Cuda, std::span<const AdamPiece<float>>, const AdamStep&, const simt::NumbersOnDevice&);
template void sgd_update(Cuda, std::span<const SgdPiece<float>>, const SgdStep&, const simt::NumbersOnDevice&);
template void squared_sums(Cuda, std::span<const Piece<const float>>, double*);
template void scale(Cuda, std::span<const Piece<float>>, double);
template void sum_rows(Cuda, const simt::GroupedIndex&, std::int64_t, const double*, double*);
template void adam_update(Cuda, std::span<const AdamPiece<double>>, const AdamStep&, const simt::NumbersOnDevice&);
template void sgd_update(Cuda, std::span<const SgdPiece<double>>, const SgdStep&, const simt::NumbersOnDevice&);
template void squared_sums(Cuda, std::span<const Piece<const double>>, double*);
template void scale(Cuda, std::span<const Piece<double>>, double);

}  // namespace bough
