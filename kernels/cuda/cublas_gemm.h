#pragma once

#include "kernels/simt/gemm.h"

/// Products by cuBLAS. kernels/cuda/cublas has them; kernels/cuda/no_cublas has the same functions for builds without
/// it and for the emulated GPU, where kernels/simt/gemm.h multiplies.
namespace bough::cuda {

/// Whether cuBLAS is in this build and can be loaded, which happens when it is first asked for.
bool cublas_loads();

/// c = a b, or c += a b to accumulate, for the whole batch, in order on the stream of the current device; bias and
/// activation are left to simt::finish_gemm. False, and nothing happens, where there is no cuBLAS or no depth to add up
/// over. Equal from run to run on one kind of GPU. DeviceError names the call and the shapes. float and double.
template <typename T>
bool cublas_gemm(int device, void* stream, const simt::Gemm<T>& product, bool tf32);

}  // namespace bough::cuda
