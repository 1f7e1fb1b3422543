#include "kernels/cuda/cublas/library.h"

#include <dlfcn.h>

#include <optional>
#include <string>

namespace bough::cuda {
namespace {

/// Leaves the function null, and says so, where the library does not have it.
template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

void* open_library() {
  // By name first, so that LD_LIBRARY_PATH can point to another one; then where it was when bough was built.
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const char* place : {name.c_str(), BOUGH_CUBLAS_FILE}) {
    if (void* library = dlopen(place, RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

std::optional<CublasLibrary> load() {
  void* library = open_library();
  if (library == nullptr) return std::nullopt;
  CublasLibrary functions{};
  const bool complete = find(library, "cublasCreate_v2", functions.create) &&
                        find(library, "cublasSetStream_v2", functions.set_stream) &&
                        find(library, "cublasSetWorkspace_v2", functions.set_workspace) &&
                        find(library, "cublasSetAtomicsMode", functions.set_atomics_mode) &&
                        find(library, "cublasGemmEx_64", functions.gemm) &&
                        find(library, "cublasGemmStridedBatchedEx_64", functions.gemm_batch) &&
                        find(library, "cublasGetStatusString", functions.describe);
  return complete ? std::optional(functions) : std::nullopt;
}

}  // namespace

const CublasLibrary* cublas_library() {
  static const std::optional<CublasLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace bough::cuda
