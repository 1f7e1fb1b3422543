#include <fmt/format.h>

#include <map>
#include <mutex>

#include "bough/core/dtype.h"
#include "bough/core/errors.h"
#include "kernels/cuda/cublas/column_major.h"
#include "kernels/cuda/cublas/library.h"
#include "kernels/cuda/cublas_gemm.h"
#include "kernels/scratch.h"

namespace bough::cuda {
namespace {

/// What NVIDIA recommends for its newest cards.
constexpr std::int64_t workspace_bytes = 32 << 20, workspace_alignment = 256;

/// what() says for what, if it failed.
template <typename What>
void check(const CublasLibrary& cublas, cublasStatus_t status, const char* call, const What& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("cuda", fmt::format("{} failed: {} ({})", call, cublas.describe(status), what()));
}

/// A handle for one stream. With memory of its own, which no other stream uses, and without atomics, results are the
/// same from run to run.
class Handle {
 public:
  Handle(const CublasLibrary& cublas, int device, void* stream)
      : workspace_(workspace_bytes + workspace_alignment, Device::cuda(device)) {
    const auto require = [&](cublasStatus_t status, const char* call) {
      check(cublas, status, call, [&] { return fmt::format("on device {}", device); });
    };
    require(cublas.create(&handle_), "cublasCreate");
    require(cublas.set_stream(handle_, static_cast<cudaStream_t>(stream)), "cublasSetStream");
    // After the stream, which would take it away again.
    const auto address = reinterpret_cast<std::uintptr_t>(workspace_.data());
    const std::uintptr_t skipped = (workspace_alignment - address % workspace_alignment) % workspace_alignment;
    require(cublas.set_workspace(handle_, workspace_.data() + skipped, workspace_bytes), "cublasSetWorkspace");
    require(cublas.set_atomics_mode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED), "cublasSetAtomicsMode");
  }

  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
  Scratch<std::byte> workspace_;
};

/// The handles of the process, made on first use. A call has them to itself: a handle is for one thread at a time.
class Handles {
 public:
  template <typename F>
  void use(const CublasLibrary& cublas, int device, void* stream, F&& f) {
    const std::scoped_lock lock(mutex_);
    auto found = handles_.find({device, stream});
    if (found == handles_.end()) {
      found = handles_.emplace(std::pair(device, stream), Handle(cublas, device, stream)).first;
    }
    f(found->second.get());
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, void*>, Handle> handles_;
};

Handles& handles() {
  static Handles& instance = *new Handles;  // never destroyed: the driver may be gone before it at the end of a process
  return instance;
}

cublasOperation_t operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

template <typename T>
std::string describe(const simt::Gemm<T>& product) {
  return fmt::format("{} of [{}, {}] by [{}, {}] in {}",
                     product.batch.count == 1 ? "product" : fmt::format("{} products", product.batch.count),
                     product.a.rows, product.a.columns, product.b.rows, product.b.columns, name_of(dtype_of<T>()));
}

}  // namespace

bool cublas_loads() { return cublas_library() != nullptr; }

template <typename T>
bool cublas_gemm(int device, void* stream, const simt::Gemm<T>& product, bool tf32) {
  const CublasLibrary* cublas = cublas_library();
  if (cublas == nullptr || product.a.columns == 0) return false;
  if (product.batch.count == 0 || product.c.rows == 0 || product.c.columns == 0) return true;

  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr cudaDataType type = is_float ? CUDA_R_32F : CUDA_R_64F;
  constexpr cublasComputeType_t plain = is_float ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
  const cublasComputeType_t compute = is_float && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : plain;
  const T one = 1, before = product.finish.accumulate ? 1 : 0;
  const ColumnMajorProduct<T> call = column_major(product);
  const ColumnMajorFactor<T>&left = call.left, &right = call.right;
  const auto what = [&] { return describe(product); };
  handles().use(*cublas, device, stream, [&](cublasHandle_t handle) {
    if (product.batch.count == 1) {
      check(*cublas,
            cublas->gemm(handle, operation(left.transposed), operation(right.transposed), call.rows, call.columns,
                         call.depth, &one, left.data, type, left.leading, right.data, type, right.leading, &before,
                         call.result, type, call.leading, compute, CUBLAS_GEMM_DEFAULT),
            "cublasGemmEx", what);
    } else {
      check(*cublas,
            cublas->gemm_batch(handle, operation(left.transposed), operation(right.transposed), call.rows, call.columns,
                               call.depth, &one, left.data, type, left.leading, left.step, right.data, type,
                               right.leading, right.step, &before, call.result, type, call.leading, call.step,
                               product.batch.count, compute, CUBLAS_GEMM_DEFAULT),
            "cublasGemmStridedBatchedEx", what);
    }
  });
  return true;
}

template bool cublas_gemm(int, void*, const simt::Gemm<float>&, bool);
template bool cublas_gemm(int, void*, const simt::Gemm<double>&, bool);

}  // namespace bough::cuda
