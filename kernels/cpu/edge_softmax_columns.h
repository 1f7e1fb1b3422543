#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "bough/detail/mp/adjacency.h"
#include "kernels/views.h"

/// What edge_softmax.cpp hands to the part of it that is compiled for every instruction set.
namespace bough {

/// Buffers of one task, grown as needed.
template <typename T>
class SoftmaxScratch {
 public:
  T* period(std::int64_t size) { return sized(period_, size); }
  T* shifts(std::int64_t size) { return sized(shifts_, size); }
  T* first(std::int64_t size) { return sized(first_, size); }
  T* second(std::int64_t size) { return sized(second_, size); }
  T* third(std::int64_t size) { return sized(third_, size); }

 private:
  static T* sized(std::vector<T>& buffer, std::int64_t size) {
    if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
    return buffer.data();
  }
  std::vector<T> period_, shifts_, first_, second_, third_;
};

/// One softmax, forward (values are scores, results weights) or backward (values are weights and there is a gradient).
template <typename T>
struct SoftmaxTask {
  mp::Adjacency edges;
  Rows<const T> values;
  Rows<const T> gradient;  ///< no data: forward
  Rows<T> results;

  bool forward() const { return gradient.data == nullptr; }
};

/// What is known of each column of a row, or of one split of it.
/// Forward: the largest score, and the sum of exp(score - largest). Backward: unused, and the sum of weight * gradient.
template <typename T>
struct ColumnState {
  T* row_max = nullptr;
  T* row_sum = nullptr;
};

/// Some edges of a row: positions begin .. end-1.
struct SoftmaxEdges {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What to subtract before exp: nothing if all scores are -inf, so that their terms become 0 and not NaN.
template <typename T>
T finite_row_max(T row_max) {
  return row_max == -std::numeric_limits<T>::infinity() ? T{0} : row_max;
}

/// The factor that makes terms with this sum add up to 1; 0 if there is nothing to share out.
template <typename T>
T share(T sum) {
  return sum == T{0} ? T{0} : T{1} / sum;
}

enum class SoftmaxStep {
  whole,    ///< state and results of a row that is one split
  measure,  ///< the state of a split
  write,    ///< the results of a split, from the state of its whole row
};

}  // namespace bough
