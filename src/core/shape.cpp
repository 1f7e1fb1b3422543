#include "bough/core/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bough/core/errors.h"

namespace bough {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) {
    throw ShapeError("shape", fmt::format("at most {} axes are supported, {} were given", max_rank, extents.size()));
  }
  bool empty = false;
  for (std::int64_t extent : extents) {
    if (extent < 0) throw ShapeError("shape", fmt::format("extents must not be negative, {} was given", extent));
    extents_[rank_++] = extent;
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(elements_, extent, &elements_)) {
      throw ShapeError("shape",
                       fmt::format("the number of elements of [{}] does not fit in 64 bits", fmt::join(extents, ", ")));
    }
  }
  if (empty) elements_ = 0;
}

std::int64_t Shape::operator[](int axis) const { return extents_[resolve_axis("shape", axis, rank_)]; }

Shape Shape::with(int axis, std::int64_t extent) const {
  std::vector<std::int64_t> extents(begin(), end());
  extents[resolve_axis("shape", axis, rank_)] = extent;
  return Shape(extents);
}

std::int64_t Shape::row_width() const {
  std::int64_t width = 1;
  for (int axis = 1; axis < rank_; ++axis) width *= extents_[axis];
  return width;
}

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(extents(), other.extents()); }

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape.extents(), ", ")); }

int resolve_axis(const char* where, int axis, int rank) {
  const int resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank) {
    throw ShapeError(where, fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank));
  }
  return resolved;
}

Shape broadcast_shapes(const char* where, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> extents(rank);
  for (int axis = 1; axis <= rank; ++axis) {
    const std::int64_t left = axis <= a.rank() ? a[-axis] : 1;
    const std::int64_t right = axis <= b.rank() ? b[-axis] : 1;
    if (left != right && left != 1 && right != 1) {
      throw ShapeError(where,
                       fmt::format("shapes {} and {} do not broadcast: extents {} and {} differ and neither is 1",
                                   to_string(a), to_string(b), left, right));
    }
    extents[rank - axis] = left == 1 ? right : left;
  }
  return Shape(extents);
}

}  // namespace bough
