#pragma once

#include <cuda_bf16.h>
#include <mma.h>

#include <type_traits>

#include "bough/detail/cuda/context.h"
#include "kernels/simt/matrix_unit.h"

/// For files that nvcc compiles. Products of matrices by tensor cores, which know bfloat16 since architecture 80.
namespace bough::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr bool multiplies_bfloat16 = false;
#else
inline constexpr bool multiplies_bfloat16 = true;
#endif

/// A template, so that architectures without its fragments do not look for them.
template <int Size>
struct TensorCores {
  template <typename Use, typename Layout>
  using Matrix = nvcuda::wmma::fragment<Use, Size, Size, Size, __nv_bfloat16, Layout>;

  static constexpr bool available = true;
  using Left = Matrix<nvcuda::wmma::matrix_a, nvcuda::wmma::row_major>;
  using Right = Matrix<nvcuda::wmma::matrix_b, nvcuda::wmma::row_major>;
  using RightOfRows = Matrix<nvcuda::wmma::matrix_b, nvcuda::wmma::col_major>;
  struct Sums {
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, Size, Size, Size, float> fragment;

    BOUGH_DEVICE Sums() { nvcuda::wmma::fill_fragment(fragment, 0.f); }
  };

  template <typename T>
  BOUGH_DEVICE static Left left(Context&, const SharedArray<T>& array, int first, int stride) {
    return loaded<Left>(array, first, stride);
  }
  template <typename T>
  BOUGH_DEVICE static Right right(Context&, const SharedArray<T>& array, int first, int stride) {
    return loaded<Right>(array, first, stride);
  }
  template <typename T>
  BOUGH_DEVICE static RightOfRows right_of_rows(Context&, const SharedArray<T>& array, int first, int stride) {
    return loaded<RightOfRows>(array, first, stride);
  }
  template <typename SomeRight>
  BOUGH_DEVICE static void add_product(Context&, Sums& sums, const Left& left, const SomeRight& right) {
    nvcuda::wmma::mma_sync(sums.fragment, left, right, sums.fragment);
  }
  template <typename T>
  BOUGH_DEVICE static void store(Context&, const Sums& sums, const SharedArray<T>& array, int first, int stride) {
    nvcuda::wmma::store_matrix_sync(reinterpret_cast<float*>(array.data() + first), sums.fragment,
                                    stride * static_cast<int>(sizeof(T) / sizeof(float)), nvcuda::wmma::mem_row_major);
  }

 private:
  template <typename Fragment, typename T>
  BOUGH_DEVICE static Fragment loaded(const SharedArray<T>& array, int first, int stride) {
    Fragment fragment;
    nvcuda::wmma::load_matrix_sync(fragment, reinterpret_cast<const __nv_bfloat16*>(array.data() + first),
                                   stride * static_cast<int>(sizeof(T) / sizeof(bfloat16)));
    return fragment;
  }
};

struct NoTensorCores {
  static constexpr bool available = false;
};

}  // namespace bough::cuda

template <>
struct bough::simt::MatrixUnit<bough::cuda::Context>
    : std::conditional_t<bough::cuda::multiplies_bfloat16, bough::cuda::TensorCores<bough::simt::matrix_size>,
                         bough::cuda::NoTensorCores> {};
