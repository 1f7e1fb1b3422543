#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/backend.h"
#include "kernels/simt/rows.h"

/// Rows picked, put and added up by an index. Pointers are into the memory of the GPU.
namespace bough {

/// target[i] = source[index[i]] for rows of `width` bytes. Index: int32_t, int64_t.
template <typename Index>
void gather_rows(Cuda, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width);

/// Rows of `width` elements of `size` bytes (1, 2, 4 or 8) go to the places that `rows` names, each at most once; zeros
/// without values.
void put_rows(Cuda, const std::int32_t* rows, std::int64_t count, std::int64_t width, std::size_t size,
              const void* values, void* target);

/// Writes every row of sums [num_rows, width]; width >= 1. T: float, double.
template <typename T>
void sum_rows(Cuda, const simt::GroupedIndex& index, std::int64_t width, const T* values, T* sums);

}  // namespace bough
