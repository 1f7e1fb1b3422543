#pragma once

#include <cublas_v2.h>

namespace bough::cuda {

/// What bough uses of cuBLAS.
struct CublasLibrary {
  decltype(&cublasCreate) create;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetWorkspace) set_workspace;
  decltype(&cublasSetAtomicsMode) set_atomics_mode;
  decltype(&cublasGemmEx_64) gemm;
  decltype(&cublasGemmStridedBatchedEx_64) gemm_batch;
  decltype(&cublasGetStatusString) describe;
};

/// Null where it cannot be loaded. It is when first asked for and not when a program starts: that takes a tenth of a
/// second or more, and most programs that link bough never multiply on a GPU.
const CublasLibrary* cublas_library();

}  // namespace bough::cuda
