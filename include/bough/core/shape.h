#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace bough {

/// The extents of a tensor: up to eight, each >= 0, whose product fits in int64. Rank 0 is a scalar with one element.
class Shape {
 public:
  static constexpr int max_rank = 8;  ///< axes at most

  Shape() = default;
  /// Takes the extents; throws as below.
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  Shape(const std::vector<std::int64_t>& extents) : Shape(std::span(extents)) {}
  /// ShapeError for a negative extent, more than eight of them, or a product beyond int64.
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }                   ///< number of axes
  std::int64_t elements() const { return elements_; }  ///< product of the extents
  /// Extent of an axis; negative axes count from the end. ShapeError if there is no such axis.
  std::int64_t operator[](int axis) const;
  std::span<const std::int64_t> extents() const { return {extents_.data(), static_cast<std::size_t>(rank_)}; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }

  /// The same shape with one axis replaced.
  Shape with(int axis, std::int64_t extent) const;
  /// Product of all extents after the first; 1 for rank 0 and 1.
  std::int64_t row_width() const;

  /// The same rank and extents.
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

/// "[3, 4]"; "[]" for a scalar.
std::string to_string(const Shape& shape);
/// Writes to_string(shape).
std::ostream& operator<<(std::ostream& stream, const Shape& shape);

/// Turns a possibly negative axis into 0..rank-1; ShapeError naming the operation otherwise.
int resolve_axis(const char* where, int axis, int rank);

/// The common shape of two operands under NumPy's rules; ShapeError naming both shapes otherwise.
Shape broadcast_shapes(const char* where, const Shape& a, const Shape& b);

}  // namespace bough
