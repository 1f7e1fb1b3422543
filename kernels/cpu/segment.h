#pragma once

#include "bough/detail/mp/adjacency.h"
#include "kernels/on_device.h"
#include "kernels/views.h"

namespace bough {

/// What each row of a segment gets back from the segment's gradient.
template <typename T>
struct SegmentGradient {
  mp::Adjacency segments;
  Rows<const T> gradient;
  const std::int32_t* arg_indices = nullptr;  ///< if given, only the row that a feature was selected from gets it
  bool mean = false;                          ///< divided by the number of rows
};

/// float and double.
template <typename T>
void segment_reduce_backward(Cpu, const SegmentGradient<T>& gradient, Rows<T> values);

}  // namespace bough
