#pragma once

#include <cstdint>

#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// The gradient of a maximum or minimum of copies: each element of `gradient` is added to the same feature of the row
/// that its arg_index, an edge, was copied from; -1 is no edge. `origins` has that row for each edge, null if it is the
/// edge's own. Work of the size of the gradient, whatever the number of edges. Terms are added in the order of the rows
/// of `gradient`, for any number of threads. `result` is overwritten. float and double.
template <typename T>
void scatter_arg_indices(Cpu, Rows<const T> gradient, Rows<const std::int32_t> arg_indices, const std::int32_t* origins,
                         Rows<T> result);

}  // namespace bough
