#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/core/shape.h"

namespace bough::mp {

/// How the features of several operands are laid out under broadcasting, flattened to two loops:
///     for outer: for inner: use operand[offsets[outer] + inner * step]
/// Neighbouring axes that all operands have, or that the same ones lack, are merged, so the common cases are one or two
/// loops: equal shapes are outer = 1; [H,D] with [H,1] is outer = H, inner = D with steps 1 and 0.
struct FeatureLayout {
  struct Operand {
    std::vector<std::int64_t> offsets;  ///< one for each outer
    int step = 1;                       ///< 1, or 0 for an operand that lacks the inner axis
    std::int64_t width = 1;             ///< elements in a row of it
    bool distinct = true;               ///< whether no two outers share elements
  };

  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::vector<Operand> operands;
};

/// The layout of row shapes (shapes without the first axis) that all broadcast to `common`.
FeatureLayout broadcast_layout(const Shape& common, std::span<const Shape> shapes);

/// An operand with one value in a row, which all features share, under the loops of a layout.
FeatureLayout::Operand one_value_per_row(const FeatureLayout& layout);

/// A shape without its first axis.
Shape row_shape(const Shape& shape);
/// A row shape behind a number of rows.
Shape with_rows(std::int64_t rows, const Shape& row);

/// A part of the features: ranges of both loops, and of the elements of the result they belong to.
struct FeatureBlock {
  std::int64_t outer_begin = 0, outer_end = 1;
  std::int64_t inner_begin = 0, inner_end = 1;
  std::int64_t result_begin = 0, result_end = 1;
};

/// Cuts the features into at most `blocks` parts that write separate elements of `result`; into one where outers share
/// elements of it. Always at least one, which may be empty.
std::vector<FeatureBlock> cut_features(const FeatureLayout& layout, const FeatureLayout::Operand& result,
                                       std::int64_t blocks);

}  // namespace bough::mp
