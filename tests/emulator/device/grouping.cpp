#include "kernels/cuda/grouping.h"

#include <algorithm>
#include <numeric>

#include "tests/emulator/device/device_memory.h"

/// Stands in for kernels/cuda/grouping.cu, which sorts with Thrust. What is asked of Thrust is tested in thrust_test.
namespace bough {

template <typename Index>
void group_rows(Cuda, const Index* index, std::int64_t count, std::int64_t num_rows, std::int32_t* order,
                std::int64_t* offsets) {
  const emulator::DeviceAccess access;
  std::iota(order, order + count, 0);
  std::stable_sort(order, order + count, [&](std::int32_t a, std::int32_t b) { return index[a] < index[b]; });
  for (std::int64_t row = 0; row <= num_rows; ++row) {
    const auto before = [&](std::int32_t position, std::int64_t limit) { return index[position] < limit; };
    offsets[row] = std::lower_bound(order, order + count, row, before) - order;
  }
}

template void group_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);
template void group_rows(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);

}  // namespace bough
