#pragma once

#include "bough/core/tensor.h"
#include "bough/mp/operators.h"

namespace bough {

/// Options of segment_reduce.
struct SegmentReduceOptions {
  double empty_value = 0;  ///< what a segment without rows gets
};

/// Reduces runs of consecutive rows: segment s holds rows offsets[s] .. offsets[s+1]-1.
///
/// values [N, ...] float32 or float64, offsets int64 [S+1], ascending from 0 to N -> [S, ...]. An empty segment gets
/// empty_value, whatever the reduction. ShapeError names the first offset that is wrong. Sums are added up as in gspmm,
/// with the same bound of the error; max and min pass the gradient to the first row that has the value; the gradient of
/// prod is right also where values are zero. Bitwise equal for any number of threads. O(N x features).
Tensor segment_reduce(const Tensor& values, const Tensor& offsets, ReduceOp reduce,
                      const SegmentReduceOptions& options = {});

/// Softmax over the rows of each segment, for each feature by itself: edge_softmax for segments, with its treatment of
/// infinities and its gradient. values [N, ...] -> [N, ...].
Tensor segment_softmax(const Tensor& values, const Tensor& offsets);

}  // namespace bough
