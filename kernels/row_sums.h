#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bough/autograd/autograd.h"
#include "bough/core/tensor.h"

namespace bough {

/// The gradient of picking rows, shared by the operations that do: values [R, width...] of one device and floating type
/// are added up by index [R], which has been found in range. Entries equal to `skipped` are left out. Nothing is
/// recorded.
Tensor sum_rows_by_index(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                         std::optional<std::int64_t> skipped = {});

/// The same, keeping only the rows that occur. O(R * row width), whatever num_rows is.
RowGradient sum_occurring_rows(std::string_view where, const Tensor& values, const Tensor& index, std::int64_t num_rows,
                               std::optional<std::int64_t> skipped = {});

}  // namespace bough
