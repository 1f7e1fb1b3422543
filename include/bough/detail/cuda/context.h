#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bough/detail/simt/context.h"

/// For files that nvcc compiles.
namespace bough::cuda {

/// An array in the shared memory of a block.
template <typename T>
class SharedArray {
 public:
  explicit BOUGH_DEVICE SharedArray(T* data) : data_(data) {}

  BOUGH_DEVICE T get(std::int64_t index) const { return data_[index]; }
  BOUGH_DEVICE void set(std::int64_t index, T value) const { data_[index] = value; }
  BOUGH_DEVICE T* data() const { return data_; }

 private:
  T* data_;
};

/// The execution context on a GPU. See bough/detail/simt/context.h for what its functions mean.
class Context {
 public:
  BOUGH_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  BOUGH_DEVICE int block_size() const { return static_cast<int>(blockDim.x); }
  BOUGH_DEVICE int lane() const { return thread() % simt::warp_size; }
  BOUGH_DEVICE int warp() const { return thread() / simt::warp_size; }
  BOUGH_DEVICE std::int64_t block() const { return blockIdx.x; }
  BOUGH_DEVICE std::int64_t num_blocks() const { return gridDim.x; }

  BOUGH_DEVICE void sync() { __syncthreads(); }
  BOUGH_DEVICE void sync_warp() { __syncwarp(); }

  template <typename T>
  BOUGH_DEVICE T shuffle(T value, int from_lane) {
    return __shfl_sync(all_lanes, value, from_lane);
  }
  template <typename T>
  BOUGH_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(all_lanes, value, mask);
  }
  BOUGH_DEVICE std::uint32_t ballot(bool vote) { return __ballot_sync(all_lanes, vote); }

  template <typename T>
  BOUGH_DEVICE T load(const T* address) {
    return *address;
  }
  template <typename T>
  BOUGH_DEVICE void store(T* address, std::type_identity_t<T> value) {
    *address = value;
  }
  template <typename T>
  BOUGH_DEVICE void atomic_add(T* address, std::type_identity_t<T> value) {
    atomicAdd(address, value);
  }

  template <typename T>
  BOUGH_DEVICE SharedArray<T> shared(std::int64_t count) {
    extern __shared__ __align__(32) unsigned char memory[];
    T* array = reinterpret_cast<T*>(memory + shared_used_);
    shared_used_ += simt::shared_bytes<T>(count);
    return SharedArray<T>(array);
  }

 private:
  static constexpr unsigned all_lanes = 0xFFFFFFFFu;
  std::size_t shared_used_ = 0;
};

static_assert(simt::ExecutionContext<Context>);

}  // namespace bough::cuda
