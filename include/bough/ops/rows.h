#pragma once

#include <cstdint>

#include "bough/core/tensor.h"

namespace bough {

/// Picks rows: result[i] = x[index[i]].
///
/// x [N, ...] of any type, index int32 or int64 [R] -> [R, ...]. Rows may be picked often, or never; R = 0 is fine.
/// IndexError naming the first entry outside 0..N-1 and N. O(R * row width), parallel over the picked rows.
/// Gradient: scatter_add_rows(dy, index, N).
Tensor gather_rows(const Tensor& x, const Tensor& index);

/// Adds rows up where they belong: result[r] = the sum of values[i] over all i with index[i] = r, zeros where none is.
///
/// values float32 or float64 [R, ...], index int32 or int64 [R] -> [num_rows, ...].
/// IndexError naming the first entry outside 0..num_rows-1 and num_rows, before anything is computed.
/// Each row is added up in the order of the input, a long one in chunks; which chunks depends on the shapes only, so
/// the result is bitwise the same for any number of threads. O(R + (R + num_rows) * row width), however uneven the
/// index is. Rows of more than eight elements run in parallel, narrower ones are summed in float64 on the calling
/// thread. Gradient: gather_rows(dy, index).
Tensor scatter_add_rows(const Tensor& values, const Tensor& index, std::int64_t num_rows);

/// x + scatter_add_rows(values, index, N): a copy of x [N, ...] with values [R, ...] added to the rows they belong to.
/// Gradients: dy, and gather_rows(dy, index).
Tensor index_add_rows(const Tensor& x, const Tensor& index, const Tensor& values);

}  // namespace bough
