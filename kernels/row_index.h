#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bough/core/tensor.h"

namespace bough {

/// TypeError unless the tensor holds int32 or int64.
void require_integers(std::string_view where, std::string_view name, const Tensor& tensor);

/// Calls f(std::span<const I>) with the elements of an int32 or int64 tensor on the CPU.
template <typename F>
void visit_integers(const Tensor& tensor, F&& f) {
  if (tensor.dtype() == DType::int32) {
    f(tensor.span<std::int32_t>());
  } else {
    f(tensor.span<std::int64_t>());
  }
}

/// IndexError naming the first entry outside 0..num_rows-1, where it stands, and num_rows. The index is on the CPU.
void require_rows_in_range(std::string_view where, const Tensor& index, std::int64_t num_rows);

}  // namespace bough
