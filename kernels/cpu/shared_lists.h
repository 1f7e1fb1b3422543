#pragma once

#include <cstdint>

#include "bough/mp/operators.h"
#include "kernels/plan/shared_rows.h"

namespace bough {

/// What gspmm_shared.cpp hands to the part of it that is compiled for every instruction set: lists of a plan, where
/// their parts are, and where the results go.
template <typename T>
struct SharedLists {
  const mp::SharedRows& plan;
  const T* sources = nullptr;
  const T* global = nullptr;
  const T* common = nullptr;  ///< common parts of the group at hand
  std::int64_t width = 1;
  ReduceOp reduce = ReduceOp::sum;
  T empty{};
  T* results = nullptr;                   ///< that of the first list at hand; the others follow
  const std::int64_t* offsets = nullptr;  ///< for a mean: by how many edges to divide each result
  bool stream = false;                    ///< whether results go past the caches

  T* result(std::int64_t number) const { return results + number * width; }
  T divisor(std::int64_t number) const {
    return offsets == nullptr ? T{1} : static_cast<T>(offsets[number + 1] - offsets[number]);
  }

  const T* part(std::int32_t name) const {
    if (name < 0) return common + (-1 - std::int64_t{name}) * width;
    return name < plan.sources ? sources + name * width : global + (name - plan.sources) * width;
  }
  /// The rows of a list; returns how many.
  std::int64_t resolve(std::int64_t list, const T** rows) const {
    const std::int64_t begin = plan.offsets[static_cast<std::size_t>(list)];
    const std::int64_t count = plan.offsets[static_cast<std::size_t>(list) + 1] - begin;
    for (std::int64_t i = 0; i < count; ++i) rows[i] = part(plan.parts[static_cast<std::size_t>(begin + i)]);
    return count;
  }
};

}  // namespace bough
