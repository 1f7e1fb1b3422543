#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bough::reference {

/// The position of element `index` of an array, axis by axis.
inline std::vector<std::int64_t> position_of(std::int64_t index, std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> position(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    position[axis] = index % extents[axis];
    index /= extents[axis];
  }
  return position;
}

/// The reverse of position_of.
inline std::int64_t index_of(const std::vector<std::int64_t>& position, std::span<const std::int64_t> extents) {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) index = index * extents[axis] + position[axis];
  return index;
}

/// An array whose element at a position is x[source(position)].
template <typename Source>
std::vector<double> rearranged(const std::vector<double>& x, std::span<const std::int64_t> x_extents,
                               std::span<const std::int64_t> extents, Source source) {
  std::int64_t count = 1;
  for (std::int64_t extent : extents) count *= extent;
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(x[index_of(source(position_of(i, extents)), x_extents)]);
  return result;
}

}  // namespace bough::reference
