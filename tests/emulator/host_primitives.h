#pragma once

#include <thrust/copy.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system/tbb/execution_policy.h>

#include <cstdint>
#include <vector>

#include "kernels/thrust/primitives.h"

namespace bough::parallel {

/// See kernels/thrust/primitives.h: on the host, through TBB.
class HostPrimitives {
 public:
  /// Memory that holds something else than zeros.
  template <typename T>
  class Room {
   public:
    explicit Room(std::int64_t count) : values_(static_cast<std::size_t>(count), T{77}) {}
    T* data() const { return const_cast<T*>(values_.data()); }

   private:
    std::vector<T> values_;
  };

  const auto& policy() const { return thrust::tbb::par; }

  template <typename T>
  Room<T> scratch(std::int64_t count) {
    return Room<T>(count);
  }

  /// Looks at the bits alone that it is told of, as a radix sort does.
  void sort_pairs(const std::int64_t* keys, std::int64_t* sorted_keys, const std::int32_t* values,
                  std::int32_t* sorted_values, std::int64_t count, int bits) {
    thrust::copy(policy(), keys, keys + count, sorted_keys);
    thrust::copy(policy(), values, values + count, sorted_values);
    const std::int64_t mask = (std::int64_t{1} << bits) - 1;
    thrust::stable_sort_by_key(policy(), sorted_keys, sorted_keys + count, sorted_values,
                               [mask](std::int64_t a, std::int64_t b) { return (a & mask) < (b & mask); });
  }

  void exclusive_sum(const std::int64_t* values, std::int64_t* sums, std::int64_t count) {
    thrust::exclusive_scan(policy(), values, values + count, sums, std::int64_t{0});
  }
};

static_assert(Primitives<HostPrimitives>);

}  // namespace bough::parallel
