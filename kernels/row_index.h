#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bough/core/tensor.h"
#include "kernels/device_data.h"

namespace bough {

/// TypeError unless the tensor holds int32 or int64.
void require_integers(std::string_view where, std::string_view name, const Tensor& tensor);

/// Calls f(std::span<const I>) with the elements of an int32 or int64 tensor, wherever they are.
template <typename F>
void visit_integers(const Tensor& tensor, F&& f) {
  if (tensor.dtype() == DType::int32) {
    f(device_span<std::int32_t>(tensor));
  } else {
    f(device_span<std::int64_t>(tensor));
  }
}

/// IndexError naming the first entry outside 0..num_rows-1, where it stands, and num_rows. Looks at a copy of an index
/// that is on a GPU, and so waits for the GPU.
void require_rows_in_range(std::string_view where, const Tensor& index, std::int64_t num_rows);
/// The same for an index that was in range before and whose version has not changed since. Checks again on the CPU
/// only, where it costs little and finds writes through data(), which do not change the version.
void require_rows_still_in_range(std::string_view where, const Tensor& index, std::int64_t num_rows);

}  // namespace bough
