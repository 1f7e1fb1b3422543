#include <atomic>

#include "bough/ops/matmul.h"
#include "kernels/cuda/cublas_gemm.h"

namespace bough {
namespace {

std::atomic<bool>& tf32_allowed() {
  static std::atomic<bool> allowed = false;
  return allowed;
}

}  // namespace

bool uses_cublas() { return cuda::cublas_loads(); }

bool tf32_products() { return tf32_allowed().load(std::memory_order_relaxed); }
void set_tf32_products(bool allowed) { tf32_allowed().store(allowed, std::memory_order_relaxed); }

}  // namespace bough
