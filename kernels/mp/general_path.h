#pragma once

#include "bough/mp/batches.h"
#include "kernels/mp/degree_buckets.h"

namespace bough::mp {

/// Calls a reduction of the user's own once for each number of messages that occurs.
///
/// messages have one row for each edge of the buckets, in their order; receivers are the frame's numbers of the
/// destinations, undefined if they are the same. Gives one row for each destination, zeros for those without messages.
Fields reduce_by_degree(const Frame& frame, const DegreeBuckets& buckets, const RowIds& receivers,
                        const Fields& messages, const ReduceFunction& reduce);

}  // namespace bough::mp
