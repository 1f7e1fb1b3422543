#include "tests/emulator/device/cublas.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/cublas/library.h"
#include "tests/emulator/device/device_memory.h"

/// Stands in for kernels/cuda/cublas/library.cpp.
namespace bough {
namespace emulator {
namespace {

/// What the library holds of the process: there is one for all handles.
struct State {
  bool loaded = false, failing = false;
  int products = 0, tf32_products = 0;
};
State& state() {
  static State state;
  return state;
}

/// A handle is a record of how it was set up, as the real one demands before it promises equal results.
struct HandleRecord {
  bool has_stream = false, has_workspace = false, without_atomics = false;
};
HandleRecord& record_of(cublasHandle_t handle) { return *reinterpret_cast<HandleRecord*>(handle); }

cublasStatus_t create(cublasHandle_t* handle) {
  static HandleRecord record;  // the emulated GPU has one stream
  *handle = reinterpret_cast<cublasHandle_t>(&record);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t) {
  record_of(handle) = {.has_stream = true};  // takes the workspace away
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_workspace(cublasHandle_t handle, void* memory, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(memory) % 256 != 0 || bytes == 0) return CUBLAS_STATUS_INVALID_VALUE;
  record_of(handle).has_workspace = true;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  record_of(handle).without_atomics = mode == CUBLAS_ATOMICS_NOT_ALLOWED;
  return CUBLAS_STATUS_SUCCESS;
}
const char* describe(cublasStatus_t) { return "CUBLAS_STATUS_OF_THE_TEST"; }

/// With 10 bits of mantissa.
float as_tf32(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & 0xFFFFE000u);
}
double as_tf32(double value) { return value; }

struct Sizes {
  std::int64_t m, n, k;
};
struct Operand {
  const void* data;
  bool transposed;
  std::int64_t leading, step;
};

template <typename T>
void multiply(const Sizes& sizes, const Operand& a, const Operand& b, T beta, T* c, std::int64_t leading, bool tf32) {
  const auto element = [&](const Operand& operand, std::int64_t row, std::int64_t column) {
    const T value = static_cast<const T*>(
        operand.data)[operand.transposed ? column + row * operand.leading : row + column * operand.leading];
    return tf32 ? as_tf32(value) : value;
  };
  for (std::int64_t j = 0; j < sizes.n; ++j) {
    for (std::int64_t i = 0; i < sizes.m; ++i) {
      T sum = 0;
      for (std::int64_t p = 0; p < sizes.k; ++p) sum += element(a, i, p) * element(b, p, j);
      T& place = c[i + j * leading];
      place = beta == 0 ? sum : sum + beta * place;
    }
  }
}

bool allowed(const Operand& operand, std::int64_t rows, std::int64_t columns) {
  return operand.leading >= std::max<std::int64_t>(1, operand.transposed ? columns : rows);
}

cublasStatus_t multiply_all(cublasHandle_t handle, const Sizes& sizes, Operand a, Operand b, cudaDataType type,
                            const void* beta, void* c, std::int64_t leading, std::int64_t step, std::int64_t count,
                            cublasComputeType_t compute) {
  const HandleRecord& record = record_of(handle);
  if (!record.has_stream || !record.has_workspace || !record.without_atomics) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (state().failing) {
    state().failing = false;
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (!allowed(a, sizes.m, sizes.k) || !allowed(b, sizes.k, sizes.n) || leading < sizes.m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (type == CUDA_R_64F ? compute != CUBLAS_COMPUTE_64F : compute != CUBLAS_COMPUTE_32F && !tf32) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  ++state().products;
  state().tf32_products += tf32 ? 1 : 0;
  const auto run = [=]<typename T>(T before) {
    run_or_capture([=] {
      const DeviceAccess access(0);  // the tests that ask for this library use the first GPU
      for (std::int64_t i = 0; i < count; ++i) {
        Operand left = a, right = b;
        left.data = static_cast<const T*>(a.data) + i * a.step;
        right.data = static_cast<const T*>(b.data) + i * b.step;
        multiply(sizes, left, right, before, static_cast<T*>(c) + i * step, leading, tf32);
      }
    });
  };
  type == CUDA_R_64F ? run(*static_cast<const double*>(beta)) : run(*static_cast<const float*>(beta));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, std::int64_t m,
                    std::int64_t n, std::int64_t k, const void*, const void* a, cudaDataType type, std::int64_t lda,
                    const void* b, cudaDataType, std::int64_t ldb, const void* beta, void* c, cudaDataType,
                    std::int64_t ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply_all(handle, {m, n, k}, {a, a_operation == CUBLAS_OP_T, lda, 0},
                      {b, b_operation == CUBLAS_OP_T, ldb, 0}, type, beta, c, ldc, 0, 1, compute);
}

cublasStatus_t gemm_batch(cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation,
                          std::int64_t m, std::int64_t n, std::int64_t k, const void*, const void* a, cudaDataType type,
                          std::int64_t lda, long long a_step, const void* b, cudaDataType, std::int64_t ldb,
                          long long b_step, const void* beta, void* c, cudaDataType, std::int64_t ldc, long long c_step,
                          std::int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply_all(handle, {m, n, k}, {a, a_operation == CUBLAS_OP_T, lda, a_step},
                      {b, b_operation == CUBLAS_OP_T, ldb, b_step}, type, beta, c, ldc, c_step, count, compute);
}

}  // namespace

HostCublas::HostCublas() { state() = {.loaded = true}; }
HostCublas::~HostCublas() { state() = {}; }
int HostCublas::products() const { return state().products; }
int HostCublas::tf32_products() const { return state().tf32_products; }
void HostCublas::fail_once() { state().failing = true; }

}  // namespace emulator

namespace cuda {

const CublasLibrary* cublas_library() {
  static constexpr CublasLibrary functions{emulator::create,           emulator::set_stream, emulator::set_workspace,
                                           emulator::set_atomics_mode, emulator::gemm,       emulator::gemm_batch,
                                           emulator::describe};
  return emulator::state().loaded ? &functions : nullptr;
}

}  // namespace cuda
}  // namespace bough
