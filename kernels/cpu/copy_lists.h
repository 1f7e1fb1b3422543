#pragma once

#include <cstdint>

#include "bough/mp/operators.h"

namespace bough {

/// What gspmm_copies.cpp hands to the part of it that is compiled for every instruction set: lists of rows, each to be
/// combined into one, and where the results go.
template <typename T>
struct CopyLists {
  /// Where each list begins, and the end of the last.
  const std::int64_t* offsets = nullptr;
  /// The parts of the lists: i < num_rows is row i; i >= num_rows global row i - num_rows; i < 0 common row -1 - i.
  /// Null: part p is row p.
  const std::int32_t* parts = nullptr;
  const T* rows = nullptr;
  std::int64_t num_rows = 0;
  const T* global = nullptr;
  const T* common = nullptr;

  std::int64_t width = 1;   ///< elements to combine
  std::int64_t stride = 1;  ///< from one row, or one result, to the next
  ReduceOp reduce = ReduceOp::sum;
  T empty{};                             ///< the result of a list without parts
  std::int64_t longest = 0;              ///< longer lists are left out
  T* results = nullptr;                  ///< that of the first list; the others follow
  const std::int64_t* counts = nullptr;  ///< for a mean: result i is divided by counts[i + 1] - counts[i]
  bool stream = false;                   ///< whether results go past the caches
  bool far = false;                      ///< whether the parts lie anywhere in memory

  std::int64_t length(std::int64_t list) const { return offsets[list + 1] - offsets[list]; }
  T* result(std::int64_t list) const { return results + list * stride; }
  T divisor(std::int64_t list) const {
    return counts == nullptr ? T{1} : static_cast<T>(counts[list + 1] - counts[list]);
  }

  const T* part(std::int64_t position) const {
    const std::int64_t name = parts == nullptr ? position : parts[position];
    if (name < 0) return common + (-1 - name) * stride;
    return name < num_rows ? rows + name * stride : global + (name - num_rows) * stride;
  }
  /// The rows of a list; none if it is too long.
  std::int64_t resolve(std::int64_t list, const T** pointers) const {
    const std::int64_t count = length(list) <= longest ? length(list) : 0;
    for (std::int64_t i = 0; i < count; ++i) pointers[i] = part(offsets[list] + i);
    return count;
  }
};

}  // namespace bough
